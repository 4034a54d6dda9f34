//! Elapsed time as kubectl prints it: `5m7s`, `3h`, `2d4h`.

use crate::Timestamp;

const NANOS: i128 = 1_000_000_000;

/// Formats the time between two timestamps as kubectl formats ages. Tolerates a clock that is ahead by less than two
/// seconds.
pub fn elapsed(from: Timestamp, to: Timestamp) -> String {
    let nanos = |time: Timestamp| i128::from(time.seconds) * NANOS + i128::from(time.nanos);
    // Go's `time.Duration` saturates at 64 bits of nanoseconds.
    let span = (nanos(to) - nanos(from)).clamp(i128::from(i64::MIN), i128::from(i64::MAX));
    human(span / NANOS)
}

fn human(seconds: i128) -> String {
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let (days, years) = (hours / 24, hours / 24 / 365);
    match () {
        () if seconds < -1 => "<invalid>".to_owned(),
        () if seconds < 0 => "0s".to_owned(),
        () if seconds < 120 => format!("{seconds}s"),
        () if minutes < 10 => with_rest(minutes, "m", seconds % 60, "s"),
        () if minutes < 180 => format!("{minutes}m"),
        () if hours < 8 => with_rest(hours, "h", minutes % 60, "m"),
        () if hours < 48 => format!("{hours}h"),
        () if hours < 192 => with_rest(days, "d", hours % 24, "h"),
        () if days < 730 => format!("{days}d"),
        () if days < 2920 => with_rest(years, "y", days % 365, "d"),
        () => format!("{years}y"),
    }
}

fn with_rest(count: i128, unit: &str, rest: i128, finer: &str) -> String {
    if rest == 0 { format!("{count}{unit}") } else { format!("{count}{unit}{rest}{finer}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_times_are_printed_more_coarsely() {
        const M: i128 = 60;
        const H: i128 = 60 * M;
        const D: i128 = 24 * H;
        const Y: i128 = 365 * D;
        let cases = [
            (-2, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (2 * M, "2m"),
            (2 * M + 1, "2m1s"),
            (10 * M - 1, "9m59s"),
            (10 * M + 59, "10m"),
            (3 * H - 1, "179m"),
            (3 * H, "3h"),
            (3 * H + M, "3h1m"),
            (8 * H - 1, "7h59m"),
            (8 * H, "8h"),
            (48 * H - 1, "47h"),
            (2 * D, "2d"),
            (2 * D + H, "2d1h"),
            (8 * D - 1, "7d23h"),
            (8 * D, "8d"),
            (2 * Y - 1, "729d"),
            (2 * Y, "2y"),
            (2 * Y + D, "2y1d"),
            (8 * Y - 1, "7y364d"),
            (8 * Y, "8y"),
            (300 * Y, "300y"),
        ];
        for (seconds, expected) in cases {
            assert_eq!(human(seconds), expected, "{seconds}");
        }
    }

    #[test]
    fn fractions_of_a_second_are_truncated() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        assert_eq!(elapsed(at("2026-11-15T10:00:00.9Z"), at("2026-11-15T10:00:02.8Z")), "1s");
        assert_eq!(elapsed(at("2026-11-15T10:00:01.9Z"), at("2026-11-15T10:00:00Z")), "0s");
        assert_eq!(elapsed(at("2026-11-15T10:00:02Z"), at("2026-11-15T10:00:00Z")), "<invalid>");
    }

    #[test]
    fn no_pair_of_timestamps_overflows() {
        let far = Timestamp { seconds: i64::MAX, nanos: 999_999_999 };
        let past = Timestamp { seconds: i64::MIN, nanos: 0 };
        assert_eq!(elapsed(past, far), "292y");
        assert_eq!(elapsed(far, past), "<invalid>");
    }
}
