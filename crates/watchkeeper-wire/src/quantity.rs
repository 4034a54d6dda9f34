//! Quantities such as `500m`, `1.5` or `2Gi`, in the canonical form of Go.
//!
//! Go normalizes a quantity when it writes it, except for some texts that it keeps for speed. Both
//! affect what a server stores, so both are implemented here.

use std::borrow::Cow;

/// Maximum digits of Go's fast path, which uses 64-bit arithmetic.
const FAST_DIGITS: usize = 18;
/// Exponent of the smallest unit: quantities are rounded up to 10^-9.
const FINEST: i64 = -9;

/// The notation of a quantity's suffix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Notation {
    /// `m`, `k`, `M`: powers of ten.
    Decimal,
    /// `e3`: powers of ten, spelled out.
    Exponent,
    /// `Ki`, `Mi`: powers of two.
    Binary,
}

/// Returns the quantity as Go writes it after parsing `text`, or `None` if it is not a quantity.
///
/// ```
/// use watchkeeper_wire::quantity;
///
/// assert_eq!(quantity::canonical("1000m").as_deref(), Some("1"));
/// assert_eq!(quantity::canonical("1024Ki").as_deref(), Some("1Mi"));
/// assert_eq!(quantity::canonical("0.5").as_deref(), Some("500m"));
/// assert_eq!(quantity::canonical("lots"), None);
/// ```
pub fn canonical(text: &str) -> Option<Cow<'_, str>> {
    if text == "0" {
        return Some(Cow::Borrowed(text));
    }
    let parts = Parts::of(text)?;
    let (exponent, notation) = suffix(parts.suffix)?;
    if let Some(fast) = fast(text, &parts, exponent, notation) {
        return fast;
    }
    exact(&parts, exponent, notation).map(Cow::Owned)
}

/// Returns a quantity times 10^`places`, rounded away from zero to an integer; the ends of the range if it is exceeded,
/// and 0 for a text that is not a quantity.
pub(crate) fn scaled(text: &str, places: i64) -> i64 {
    let Some(parts) = Parts::of(text) else { return 0 };
    let Some((exponent, notation)) = suffix(parts.suffix) else { return 0 };
    let digits = [parts.whole, parts.fraction].concat().into_bytes();
    let mut amount = Decimal { digits, exponent: places - parts.fraction.len() as i64 };
    match notation {
        Notation::Binary => (0..exponent / 10).for_each(|_| amount.multiply(1024)),
        _ => amount.exponent += exponent,
    }
    amount.round_up_to(0);
    if amount.is_zero() {
        return 0;
    }
    let magnitude = match amount.exceeds(i64::MAX as u64) {
        true => i64::MAX,
        false => amount.whole().and_then(|whole| i64::try_from(whole).ok()).unwrap_or(i64::MAX),
    };
    if parts.negative { -magnitude } else { magnitude }
}

/// The parts of a quantity: sign, integer and fractional digits, suffix.
struct Parts<'a> {
    negative: bool,
    /// Integer digits without leading zeros, or `0`.
    whole: &'a str,
    fraction: &'a str,
    suffix: &'a str,
    /// Whether there is any digit. A lone sign, point or suffix is not a number.
    has_digit: bool,
}

impl<'a> Parts<'a> {
    fn of(text: &'a str) -> Option<Self> {
        let (negative, rest) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let (whole, rest) = rest.split_at(digits(rest));
        let (fraction, suffix) = match rest.strip_prefix('.') {
            Some(rest) => rest.split_at(digits(rest)),
            None => ("", rest),
        };
        // A suffix is letters, then perhaps a sign and digits.
        let letters = suffix.bytes().take_while(|byte| b"eEinumkKMGTP".contains(byte)).count();
        let tail = &suffix[letters..];
        let tail = tail.strip_prefix(['-', '+']).unwrap_or(tail);
        if !tail.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let stripped = whole.trim_start_matches('0');
        let has_digit = !whole.is_empty() || !fraction.is_empty();
        Some(Self {
            negative,
            whole: if stripped.is_empty() { "0" } else { stripped },
            fraction,
            suffix,
            has_digit,
        })
    }
}

/// Returns the exponent of a suffix, to base ten or two.
fn suffix(text: &str) -> Option<(i64, Notation)> {
    let decimal = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
    if let Some(place) = decimal.iter().position(|suffix| *suffix == text) {
        return Some((place as i64 * 3 + FINEST, Notation::Decimal));
    }
    let binary = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    if let Some(place) = binary.iter().position(|suffix| *suffix == text) {
        return Some((place as i64 * 10 + 10, Notation::Binary));
    }
    let exponent: i64 = text.strip_prefix(['e', 'E'])?.parse().ok()?;
    // Go truncates the exponent to 32 bits.
    Some((i64::from(exponent as i32), Notation::Exponent))
}

/// Go's fast path for numbers of 64 bits; `None` if it does not apply.
fn fast<'a>(
    text: &'a str,
    parts: &Parts<'_>,
    exponent: i64,
    notation: Notation,
) -> Option<Option<Cow<'a, str>>> {
    let count = parts.whole.len() + parts.fraction.len();
    let applies = match notation {
        Notation::Decimal | Notation::Exponent => count <= FAST_DIGITS,
        Notation::Binary => {
            let digits_of_factor = (exponent as f32 * 3.0 / 10.0) as i64;
            parts.fraction.is_empty() && 15 - parts.whole.len() as i64 - digits_of_factor > 0
        }
    };
    let scale = match notation {
        Notation::Binary => 0,
        _ => exponent - parts.fraction.len() as i64,
    };
    if !applies || scale < FINEST || i32::try_from(scale).is_err() {
        return None;
    }
    let digits = [parts.whole, parts.fraction].concat();
    let value: i64 = digits.parse().ok()?;
    let keep = match notation {
        Notation::Binary => exponent % 10 == 0 && value & 7 != 0,
        _ => scale % 3 == 0 && !digits.ends_with("000") && !digits.starts_with('0'),
    };
    if keep {
        return Some(Some(Cow::Borrowed(text)));
    }
    let value = match notation {
        Notation::Binary => value.checked_mul(1 << exponent)?,
        _ => value,
    };
    let magnitude = Decimal { digits: value.to_string().into_bytes(), exponent: scale };
    Some(Some(Cow::Owned(print(magnitude, parts.negative, notation))))
}

/// Arbitrary-precision arithmetic. Zeros of large exponents are never materialized.
fn exact(parts: &Parts<'_>, exponent: i64, notation: Notation) -> Option<String> {
    if !parts.has_digit {
        return None;
    }
    let digits = [parts.whole, parts.fraction].concat().into_bytes();
    let mut amount = Decimal { digits, exponent: -(parts.fraction.len() as i64) };
    match notation {
        Notation::Binary => (0..exponent / 10).for_each(|_| amount.multiply(1024)),
        _ => amount.exponent += exponent,
    }
    amount.round_up_to(FINEST);
    let mut notation = notation;
    if notation == Notation::Binary {
        if amount.exceeds(i64::MAX as u64) {
            amount = Decimal { digits: i64::MAX.to_string().into_bytes(), exponent: 0 };
        }
        if !amount.is_zero() && amount.whole().is_none_or(|whole| whole == 0) && amount.below_one() {
            notation = Notation::Decimal;
        }
    }
    Some(print(amount, parts.negative, notation))
}

/// Formats an amount in canonical form.
fn print(mut amount: Decimal, negative: bool, notation: Notation) -> String {
    amount.strip();
    if amount.is_zero() {
        return "0".to_owned();
    }
    let sign = if negative { "-" } else { "" };
    if notation == Notation::Binary
        && let Some(mut whole) = amount.whole()
        && whole >= 1024
    {
        let mut power = 0;
        while whole % 1024 == 0 {
            whole /= 1024;
            power += 1;
        }
        let suffix = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"][power];
        return format!("{sign}{whole}{suffix}");
    }
    // The exponent is rounded down to a multiple of three. It has 32 bits in Go, and wraps.
    let exponent = amount.exponent as i32;
    let zeros = exponent.rem_euclid(3);
    let exponent = exponent.wrapping_sub(zeros);
    amount.digits.extend((0..zeros).map(|_| b'0'));
    let digits = String::from_utf8(amount.digits).expect("digits are ASCII");
    match notation {
        Notation::Exponent if exponent == 0 => format!("{sign}{digits}"),
        Notation::Exponent => format!("{sign}{digits}e{exponent}"),
        _ => {
            let suffixes = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
            let suffix = usize::try_from(exponent / 3 + 3).ok().and_then(|place| suffixes.get(place));
            format!("{sign}{digits}{}", suffix.unwrap_or(&""))
        }
    }
}

/// An arbitrary-precision number: decimal digits times a power of ten.
struct Decimal {
    digits: Vec<u8>,
    exponent: i64,
}

impl Decimal {
    fn is_zero(&self) -> bool {
        self.digits.iter().all(|digit| *digit == b'0')
    }

    fn multiply(&mut self, factor: u32) {
        let mut carry = 0;
        for digit in self.digits.iter_mut().rev() {
            let product = u32::from(*digit - b'0') * factor + carry;
            *digit = b'0' + (product % 10) as u8;
            carry = product / 10;
        }
        let front = if carry > 0 { carry.to_string() } else { String::new() };
        self.digits.splice(..0, front.into_bytes());
    }

    /// Rounds up to a multiple of 10^`exponent`.
    fn round_up_to(&mut self, exponent: i64) {
        let Ok(surplus @ 1..) = usize::try_from(exponent - self.exponent) else { return };
        if self.is_zero() {
            (self.digits, self.exponent) = (vec![b'0'], 0);
            return;
        }
        let kept = self.digits.len().saturating_sub(surplus);
        let finer = self.digits.split_off(kept);
        self.exponent = exponent;
        let mut carry = finer.iter().any(|digit| *digit != b'0');
        for digit in self.digits.iter_mut().rev() {
            if !carry {
                break;
            }
            carry = *digit == b'9';
            *digit = if carry { b'0' } else { *digit + 1 };
        }
        if carry {
            self.digits.insert(0, b'1');
        }
    }

    /// Strips leading and trailing zeros.
    fn strip(&mut self) {
        while self.digits.len() > 1 && self.digits.last() == Some(&b'0') {
            self.digits.pop();
            self.exponent += 1;
        }
        let leading = self.digits.iter().take_while(|digit| **digit == b'0').count();
        self.digits.drain(..leading.min(self.digits.len() - 1));
    }

    /// Returns the amount as an integer, if it is one of 64 bits.
    fn whole(&self) -> Option<u64> {
        let zeros = usize::try_from(self.exponent).ok()?;
        if zeros > 20 {
            return None;
        }
        let digits: Vec<u8> = self.digits.iter().copied().chain(std::iter::repeat_n(b'0', zeros)).collect();
        std::str::from_utf8(&digits).ok()?.parse().ok()
    }

    fn exceeds(&self, limit: u64) -> bool {
        let places = self.digits.iter().skip_while(|digit| **digit == b'0').count() as i64 + self.exponent;
        if places > 20 {
            return true;
        }
        let whole: u128 = self
            .digits
            .iter()
            .take((self.digits.len() as i64 + self.exponent.min(0)).max(0) as usize)
            .fold(0, |number, digit| number * 10 + u128::from(digit - b'0'));
        let whole = whole * 10_u128.pow(self.exponent.max(0) as u32);
        let fraction = self.exponent < 0
            && self
                .digits
                .iter()
                .rev()
                .take(self.exponent.unsigned_abs() as usize)
                .any(|digit| *digit != b'0');
        whole > u128::from(limit) || (whole == u128::from(limit) && fraction)
    }

    fn below_one(&self) -> bool {
        let places = self.digits.iter().skip_while(|digit| **digit == b'0').count() as i64 + self.exponent;
        places <= 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Quantities, and how Go 1.26 with apimachinery 0.37.1 writes them.
    const TABLE: &[(&str, Option<&str>)] = &[
        // Digits only.
        ("0", Some("0")),
        ("1", Some("1")),
        ("1000", Some("1k")),
        ("1500", Some("1500")),
        ("999999999999999999", Some("999999999999999999")),
        ("1000000000000000000", Some("1E")),
        ("1000000000000000000000", Some("1")), // Go drops 10^21, which has no suffix
        ("123456789012345678901234567890", Some("123456789012345678901234567890")),
        // Kept by Go although not canonical.
        ("+5", Some("+5")),
        ("05", Some("05")),
        ("-007", Some("-007")),
        ("1.500", Some("1.500")),
        ("1.", Some("1.")),
        ("1e3", Some("1e3")),
        ("12E6", Some("12E6")),
        ("1023Ki", Some("1023Ki")),
        ("1025Ki", Some("1025Ki")),
        // Normalized by Go.
        ("0.5", Some("500m")),
        (".5", Some("500m")),
        ("1.5", Some("1500m")),
        ("-0.25", Some("-250m")),
        ("1000m", Some("1")),
        ("1000001u", Some("1000001u")),
        ("1.5k", Some("1500")),
        ("100e-1", Some("10")),
        ("1000e3", Some("1e6")),
        ("15e2", Some("1500")),
        ("1024Ki", Some("1Mi")),
        ("2048", Some("2048")),
        ("8Ki", Some("8Ki")),
        ("0.5Ki", Some("512")),
        ("0.1Ki", Some("102400m")),
        ("1.5Gi", Some("1536Mi")),
        ("0.0001Ki", Some("102400u")),
        // Zeros, and what Go parses as zero.
        ("-0", Some("0")),
        ("0m", Some("0")),
        ("0Ki", Some("0")),
        ("0e5", Some("0")),
        ("0.0000000000000000000000", Some("0")),
        ("-", Some("0")),
        ("+", Some("0")),
        (".", Some("0")),
        ("m", Some("0")),
        ("Ki", Some("0")),
        ("e5", Some("0")),
        // Rounded up to a billionth.
        ("1n", Some("1n")),
        ("0.1n", Some("1n")),
        ("1e-9", Some("1e-9")),
        ("1e-10", Some("1e-9")),
        ("-1e-10", Some("-1e-9")),
        ("1.0000000001", Some("1000000001n")),
        ("0.9999999999", Some("1")),
        ("1e-2147483648", Some("1e-9")), // Go runs out of memory
        // Binary quantities saturate at 2^63 - 1, others do not.
        ("7Ei", Some("7Ei")),
        ("8Ei", Some("9223372036854775807")),
        ("9Ei", Some("9223372036854775807")),
        ("-9Ei", Some("-9223372036854775807")),
        ("9223372036854775807Ki", Some("9223372036854775807")),
        ("9E", Some("9E")),
        ("10E", Some("10E")),
        ("1234567890123456789012e20000", Some("123456789012345678901200e19998")),
        ("1e2147483646", Some("1e2147483646")),
        ("1e2147483647", Some("10e2147483646")),
        ("5500e2147483647", Some("5500e2147483647")),
        // Exponents are truncated to 32 bits.
        ("1e4294967299", Some("1e4294967299")),
        ("10e4294967298", Some("1e3")),
        // Invalid quantities.
        ("", None),
        (" 1", None),
        ("1 ", None),
        ("Ei", None), // not on the fast path, and the slow path requires a digit
        (".Ei", None),
        ("1.2.3", None),
        ("--1", None),
        ("1-", None),
        ("1e", None),
        ("1e+", None),
        ("1e1.5", None),
        ("1e99999999999999999999", None),
        ("1K", None),
        ("1ki", None),
        ("1KiB", None),
        ("1Zi", None),
        ("0x10", None),
        ("1_000", None),
        ("lots", None),
        ("\u{661}", None),
    ];

    #[test]
    fn values_are_rounded_away_from_zero_and_saturate() {
        for (text, value, milli_value) in [
            ("0", 0, 0),
            ("500m", 1, 500),
            ("-500m", -1, -500),
            ("1.5", 2, 1_500),
            ("2Gi", 2 << 30, (2 << 30) * 1_000),
            ("1n", 1, 1),
            ("12E6", 12_000_000, 12_000_000_000),
            ("7Ei", 7 << 60, i64::MAX),
            ("-10E", -i64::MAX, -i64::MAX),
            ("1e2147483646", i64::MAX, i64::MAX),
            ("1e-2147483648", 1, 1),
        ] {
            assert_eq!((scaled(text, 0), scaled(text, 3)), (value, milli_value), "{text}");
        }
    }

    #[test]
    fn quantities_are_written_as_in_go() {
        for &(text, expected) in TABLE {
            assert_eq!(canonical(text).as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn large_exponents_do_not_materialize_zeros() {
        let digits = "123".repeat(400_000);
        for suffix in ["", "n", "E", "Ei", "e2147483647", "e-2147483648"] {
            let text = canonical(&format!("{digits}{suffix}")).unwrap().into_owned();
            assert!(text.len() <= digits.len() + suffix.len() + 2, "{suffix}");
        }
    }

    proptest! {
        #[test]
        fn parsing_never_panics(text in "\\PC{0,24}|[-+]?[0-9]{0,24}([.][0-9]{0,24})?[eEinumkKMGTP]{0,2}[-+]?[0-9]{0,11}") {
            let _ = canonical(&text);
        }
    }
}
