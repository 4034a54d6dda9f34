//! Timestamps as Kubernetes encodes them: RFC 3339 in JSON, seconds and nanoseconds in protobuf.
//!
//! Hand-written to accept exactly what Go accepts: a four-digit year, a one- or two-digit hour, two
//! digits elsewhere, any fraction, an offset or `Z`, no leap seconds.

use std::fmt;
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

/// A point in time, relative to 1970-01-01T00:00:00Z.
///
/// ```
/// use watchkeeper_core::Timestamp;
///
/// let time: Timestamp = "2026-11-15T10:00:00+01:00".parse()?;
/// assert_eq!(time.to_string(), "2026-11-15T09:00:00Z");
/// assert_eq!(time.seconds, 1_794_733_200);
/// # Ok::<(), watchkeeper_core::TimestampError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp {
    /// Whole seconds; negative before 1970.
    pub seconds: i64,
    /// Nanoseconds past `seconds`, below 1,000,000,000.
    pub nanos: u32,
}

/// An error from parsing a [`Timestamp`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid time {text:?}: expected {form}")]
pub struct TimestampError {
    text: String,
    form: &'static str,
}

const SECONDS_FORM: &str = "2006-01-02T15:04:05Z or 2006-01-02T15:04:05+07:00";
const MICRO_FORM: &str = "2006-01-02T15:04:05.000000Z";
const SECONDS_PER_DAY: i64 = 86_400;

impl Timestamp {
    /// Go's zero time, the start of year 1, which stands for an unset time.
    pub const GO_ZERO: Self = Self { seconds: -62_135_596_800, nanos: 0 };

    /// Returns the current system time.
    pub fn now() -> Self {
        SystemTime::now().into()
    }

    /// Truncates to whole seconds.
    #[must_use]
    pub fn truncate_to_second(self) -> Self {
        Self { nanos: 0, ..self }
    }

    /// Parses a `MicroTime`, with exactly six fractional digits.
    ///
    /// # Errors
    /// If the text has another form.
    pub fn parse_micro(text: &str) -> Result<Self, TimestampError> {
        match parse(text.as_bytes()) {
            Some((moment, 6)) => Ok(moment),
            _ => Err(TimestampError { text: text.to_owned(), form: MICRO_FORM }),
        }
    }

    /// Displays as a `MicroTime`, with six fractional digits.
    pub fn display_micro(self) -> impl fmt::Display {
        struct Micro(Timestamp);
        impl fmt::Display for Micro {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.write_date_and_time(f)?;
                write!(f, ".{:06}Z", self.0.nanos / 1_000)
            }
        }
        Micro(self)
    }

    fn write_date_and_time(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = date_of(self.seconds.div_euclid(SECONDS_PER_DAY));
        let second = self.seconds.rem_euclid(SECONDS_PER_DAY);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        if let 0..=9999 = year {
            // Every pod has a dozen timestamps: `write!` would take a tenth of the time of a decode.
            let mut text = *b"0000-00-00T00:00:00";
            let places = [
                (0, year / 100),
                (2, year % 100),
                (5, month),
                (8, day),
                (11, hour),
                (14, minute),
                (17, second),
            ];
            for (at, number) in places {
                text[at] += (number / 10) as u8;
                text[at + 1] += (number % 10) as u8;
            }
            return f.write_str(std::str::from_utf8(&text).expect("digits and separators are ASCII"));
        }
        let sign = if year < 0 { "-" } else { "" };
        write!(f, "{sign}{:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}", year.abs())
    }
}

/// Times before 1970 become 1970.
impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { seconds: i64::try_from(since.as_secs()).unwrap_or(i64::MAX), nanos: since.subsec_nanos() }
    }
}

/// Displays as RFC 3339 in UTC with whole seconds, as `metav1.Time` does.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_date_and_time(f)?;
        f.write_str("Z")
    }
}

/// Parses RFC 3339 with or without a fraction.
impl FromStr for Timestamp {
    type Err = TimestampError;

    fn from_str(text: &str) -> Result<Self, TimestampError> {
        match parse(text.as_bytes()) {
            Some((moment, _)) => Ok(moment),
            None => Err(TimestampError { text: text.to_owned(), form: SECONDS_FORM }),
        }
    }
}

/// Returns the time and the number of its fractional digits.
fn parse(text: &[u8]) -> Option<(Timestamp, usize)> {
    let (date, rest) = text.split_at_checked(11)?;
    let hour_digits = if rest.get(1) == Some(&b':') { 1 } else { 2 };
    let (hour, rest) = rest.split_at_checked(hour_digits)?;
    let (time, rest) = rest.split_at_checked(6)?;
    let has = |text: &[u8], marks: &[(usize, u8)]| marks.iter().all(|&(at, mark)| text[at] == mark);
    if !has(date, &[(4, b'-'), (7, b'-'), (10, b'T')]) || !has(time, &[(0, b':'), (3, b':')]) {
        return None;
    }
    let (year, month, day) = (digits(&date[..4])?, digits(&date[5..7])?, digits(&date[8..10])?);
    let (hour, minute, second) = (digits(hour)?, digits(&time[1..3])?, digits(&time[4..])?);
    let in_range = (1..=12).contains(&month)
        && (1..=days_in(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    if !in_range {
        return None;
    }

    let fraction = match rest {
        [b'.' | b',', digits @ ..] => digits.iter().take_while(|byte| byte.is_ascii_digit()).count(),
        _ => 0,
    };
    let (nanos, zone) = match fraction {
        0 => (0, rest),
        length => (nanos_of(&rest[1..=length]), &rest[length + 1..]),
    };
    let offset = match zone {
        b"Z" => 0,
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            let (hours, minutes) = (digits(&[*h1, *h2])?, digits(&[*m1, *m2])?);
            if hours > 24 || minutes > 60 {
                return None;
            }
            let seconds = hours * 3600 + minutes * 60;
            if *sign == b'+' { seconds } else { -seconds }
        }
        _ => return None,
    };
    let time_of_day = hour * 3600 + minute * 60 + second;
    let seconds = days_until(year, month, day) * SECONDS_PER_DAY + time_of_day - offset;
    Some((Timestamp { seconds, nanos }, fraction))
}

fn digits(text: &[u8]) -> Option<i64> {
    text.iter()
        .try_fold(0, |number, byte| byte.is_ascii_digit().then(|| number * 10 + i64::from(byte - b'0')))
}

/// Converts fractional digits to nanoseconds; ignores digits after the ninth.
fn nanos_of(fraction: &[u8]) -> u32 {
    let padded = fraction.iter().copied().chain(std::iter::repeat(b'0'));
    padded.take(9).fold(0, |nanos, byte| nanos * 10 + u32::from(byte - b'0'))
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Returns the days from 1970-01-01 to a date. Years start in March, so that the leap day comes last.
fn days_until(year: i64, month: i64, day: i64) -> i64 {
    let year = if month > 2 { year } else { year - 1 };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// Returns the date `days` after 1970-01-01: the inverse of [`days_until`].
fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn moment(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn known_times_have_known_unix_seconds() {
        assert_eq!(moment("1970-01-01T00:00:00Z").seconds, 0);
        assert_eq!(moment("0001-01-01T00:00:00Z"), Timestamp::GO_ZERO);
        assert_eq!(moment("2000-02-29T23:59:59Z").seconds, 951_868_799);
        assert_eq!(moment("1969-12-31T23:59:59.5Z"), Timestamp { seconds: -1, nanos: 500_000_000 });
        assert_eq!(moment("2026-11-15T00:00:00-05:30").to_string(), "2026-11-15T05:30:00Z");
    }

    #[test]
    fn system_time_converts_to_the_nanosecond() {
        let read = Timestamp::from(UNIX_EPOCH + std::time::Duration::new(1_794_733_200, 5));
        assert_eq!(read, Timestamp { seconds: 1_794_733_200, nanos: 5 });
        assert_eq!(read.truncate_to_second(), moment("2026-11-15T09:00:00Z"));
        assert_eq!(
            Timestamp::from(UNIX_EPOCH - std::time::Duration::from_secs(1)),
            moment("1970-01-01T00:00:00Z")
        );
    }

    #[test]
    fn an_hour_may_have_one_digit_as_in_go() {
        assert_eq!(moment("2026-11-15T1:00:00Z").to_string(), "2026-11-15T01:00:00Z");
        assert_eq!(moment("2026-11-15T1:00:00,5-23:59"), moment("2026-11-16T00:59:00.5Z"));
        for text in
            ["2026-11-15T1:0:00Z", "2026-11-15T:00:00Z", "2026-11-15T001:00:00Z", "2026-11-5T1:00:00Z"]
        {
            assert!(text.parse::<Timestamp>().is_err(), "{text:?} was accepted");
        }
    }

    #[test]
    fn what_go_rejects_is_rejected() {
        let bad = [
            "",
            "2026-11-15",
            "2026-11-15T10:00:00",
            "2026-11-15 10:00:00Z",
            "2026-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-01-00T00:00:00Z",
            "2026-11-15T24:00:00Z",
            "2026-11-15T10:00:60Z",
            "2026-11-15T10:00:00.Z",
            "2026-11-15T10:00:00z",
            "2026-11-15T10:00:00+0100",
            "2026-11-15T10:00:00+25:00",
            "26-11-15T10:00:00Z",
            "+026-11-15T10:00:00Z",
            "2026-11-15T10:00:00Zx",
        ];
        for text in bad {
            assert!(text.parse::<Timestamp>().is_err(), "{text:?} was accepted");
        }
    }

    #[test]
    fn a_micro_time_has_exactly_six_fractional_digits() {
        let micro = Timestamp::parse_micro("2026-11-15T10:00:00.123456Z").unwrap();
        assert_eq!(micro.nanos, 123_456_000);
        assert_eq!(micro.display_micro().to_string(), "2026-11-15T10:00:00.123456Z");
        for text in ["2026-11-15T10:00:00Z", "2026-11-15T10:00:00.12345Z", "2026-11-15T10:00:00.1234567Z"] {
            assert!(Timestamp::parse_micro(text).is_err(), "{text:?} was accepted");
        }
    }

    proptest! {
        #[test]
        fn every_second_of_ten_thousand_years_round_trips(
            seconds in -62_167_219_200_i64..253_402_300_800
        ) {
            let moment = Timestamp { seconds, nanos: 0 };
            prop_assert_eq!(moment.to_string().parse::<Timestamp>().unwrap(), moment);
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in "\\PC{0,40}|[0-9TZ:.+-]{0,40}") {
            let _ = text.parse::<Timestamp>();
        }

        #[test]
        fn no_count_of_seconds_makes_the_printer_panic(seconds: i64) {
            let _ = Timestamp { seconds, nanos: 0 }.to_string();
        }
    }
}
