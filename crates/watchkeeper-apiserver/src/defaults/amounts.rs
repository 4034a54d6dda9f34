//! Resource amounts: rounded up to thousandths.

use serde_json::Value;
use watchkeeper_wire::quantity;

use super::Fields;

/// Rounds the amounts of a list of resources up to thousandths.
pub(super) fn round_up(amounts: &mut Fields) {
    for amount in amounts.values_mut() {
        if let Some(rounded) = amount.as_str().and_then(rounded) {
            *amount = Value::from(rounded);
        }
    }
}

/// Returns the amount rounded up to thousandths, if it is finer: canonical quantities end in the unit of their last digit.
fn rounded(text: &str) -> Option<String> {
    let (digits, per_thousandth, unit) =
        [("u", 1_000, "m"), ("n", 1_000_000, "m"), ("e-6", 1_000, "e-3"), ("e-9", 1_000_000, "e-3")]
            .into_iter()
            .find_map(|(suffix, per, unit)| Some((text.strip_suffix(suffix)?, per, unit)))?;
    let count: i128 = digits.parse().ok()?;
    let up = count.div_euclid(per_thousandth) + i128::from(count.rem_euclid(per_thousandth) != 0);
    quantity::canonical(&format!("{up}{unit}")).map(std::borrow::Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_finer_than_a_thousandth_are_rounded_up() {
        assert_eq!(rounded("1500u").as_deref(), Some("2m"));
        assert_eq!(rounded("999999001n").as_deref(), Some("1"));
        assert_eq!(rounded("1e-9").as_deref(), Some("1e-3"));
        assert_eq!(rounded("1m"), None);
        assert_eq!(rounded("2Gi"), None);
    }
}
