//! Resource amounts, added and compared as in kube-apiserver.

use watchkeeper_wire::quantity;

/// An amount of a resource, exact to a billionth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Amount {
    nanos: i128,
    /// Whether it is formatted with `Ki`, `Mi`, ...
    is_binary: bool,
}

impl Amount {
    /// Parses an amount; `None` if it is invalid or out of range.
    pub(super) fn read(text: &str) -> Option<Self> {
        let canonical = quantity::canonical(text)?;
        let digits = canonical.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(canonical.len());
        let (number, suffix) = canonical.split_at(digits);
        let number: i128 = number.parse().ok()?;
        let decimal = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
        let binary = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
        let place = |names: &[&str]| names.iter().position(|name| *name == suffix);
        let thousands = place(&decimal);
        let (unit, is_binary) = match (thousands, place(&binary)) {
            (Some(power), _) => (1000_i128.checked_pow(u32::try_from(power).ok()?)?, false),
            (_, Some(power)) => {
                (1024_i128.checked_pow(u32::try_from(power).ok()? + 1)? * 1_000_000_000, true)
            }
            _ => {
                let power: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
                (10_i128.checked_pow(u32::try_from(power + 9).ok()?)?, false)
            }
        };
        Some(Self { nanos: number.checked_mul(unit)?, is_binary })
    }

    /// Returns the sum, in the format of the first that is not zero.
    pub(super) fn plus(self, other: Self) -> Self {
        let is_binary = if self.nanos == 0 { other.is_binary } else { self.is_binary };
        Self { nanos: self.nanos.saturating_add(other.nanos), is_binary }
    }

    /// Returns the greater of both; this one if they are equal.
    pub(super) fn or_greater(self, other: Self) -> Self {
        if other.nanos > self.nanos { other } else { self }
    }

    /// Formats it as Go does.
    pub(super) fn text(self) -> String {
        let whole = self.nanos / 1_000_000_000;
        let is_whole = self.nanos % 1_000_000_000 == 0;
        let text = match self.is_binary && is_whole {
            true if whole % 1024 == 0 && whole != 0 => format!("{}Ki", whole / 1024),
            true => return whole.to_string(),
            false if is_whole => whole.to_string(),
            false => format!("{}n", self.nanos),
        };
        quantity::canonical(&text).map_or(text.clone(), std::borrow::Cow::into_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_added_in_the_notation_of_the_first() {
        for (a, b, sum) in [
            ("100m", "200m", "300m"),
            ("500m", "1.5", "2"),
            ("1Gi", "512Mi", "1536Mi"),
            ("1Gi", "1", "1073741825"),
            ("0", "1Gi", "1Gi"),
            ("1M", "1Ki", "1001024"),
            ("1e3", "1", "1001"),
        ] {
            assert_eq!(Amount::read(a).unwrap().plus(Amount::read(b).unwrap()).text(), sum, "{a} {b}");
        }
        assert_eq!(Amount::read("lots"), None);
        let (small, great) = (Amount::read("1000m").unwrap(), Amount::read("1Ki").unwrap());
        assert_eq!(small.or_greater(great), great);
    }
}
