//! Quantities in the canonical form in which the server stores them.

/// Returns the quantity in thousandths, rounded up, or `None` if it is invalid.
pub(super) fn thousandths(text: &str) -> Option<i128> {
    let end = text.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | '-')).unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let places = u32::try_from(fraction.len()).ok()?;
    let (factor, divisor): (i128, i128) = match suffix {
        "n" => (1, 1_000_000),
        "u" => (1, 1_000),
        "m" => (1, 1),
        "" => (1_000, 1),
        "k" => (10_i128.pow(6), 1),
        "M" => (10_i128.pow(9), 1),
        "G" => (10_i128.pow(12), 1),
        "T" => (10_i128.pow(15), 1),
        "P" => (10_i128.pow(18), 1),
        "E" => (10_i128.pow(21), 1),
        "Ki" => (1_000 << 10, 1),
        "Mi" => (1_000 << 20, 1),
        "Gi" => (1_000 << 30, 1),
        "Ti" => (1_000 << 40, 1),
        "Pi" => (1_000 << 50, 1),
        "Ei" => (1_000 << 60, 1),
        _ => {
            let exponent: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
            match exponent {
                0..=20 => (1_000 * 10_i128.pow(exponent.unsigned_abs()), 1),
                -20..0 => (1_000, 10_i128.pow(exponent.unsigned_abs())),
                _ => return None,
            }
        }
    };
    let divisor = divisor.checked_mul(10_i128.checked_pow(places)?)?;
    let all = digits.checked_mul(factor)?;
    Some(all.div_euclid(divisor) + i128::from(all.rem_euclid(divisor) != 0))
}

#[cfg(test)]
mod tests {
    use super::thousandths;

    #[test]
    fn quantities_are_parsed_in_thousandths() {
        for (text, expected) in [
            ("100m", Some(100)),
            ("1", Some(1_000)),
            ("1.5", Some(1_500)),
            ("1k", Some(1_000_000)),
            ("1Ki", Some(1_024_000)),
            ("1Ti", Some(1_099_511_627_776_000)),
            ("1u", Some(1)),
            ("-1", Some(-1_000)),
            ("2e3", Some(2_000_000)),
            ("", None),
            ("many", None),
        ] {
            assert_eq!(thousandths(text), expected, "{text}");
        }
    }
}
