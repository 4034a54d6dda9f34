//! Sorting by a field: `--sort-by`.

use std::cmp::Ordering;

use serde_json::Value;
use watchkeeper_wire::quantity;

use super::path::RelaxedPath;
use crate::failure::Failure;

/// Sorts by the first value at a path. Objects without a value come first; the sort is stable.
///
/// # Errors
/// If no object has the field, or its values cannot be ordered.
pub(crate) fn sort_by<T>(
    items: &mut Vec<T>,
    path: &RelaxedPath,
    object: impl Fn(&T) -> &Value,
) -> Result<(), Failure> {
    let mut keyed = Vec::with_capacity(items.len());
    for item in items.drain(..) {
        let key = path.find(object(&item))?.into_iter().next();
        keyed.push((key, item));
    }
    let outcome = check(&keyed, path);
    if outcome.is_ok() {
        keyed.sort_by(|(one, _), (other, _)| compare(one.as_ref(), other.as_ref()));
    }
    items.extend(keyed.into_iter().map(|(_, item)| item));
    outcome
}

fn check<T>(keyed: &[(Option<Value>, T)], path: &RelaxedPath) -> Result<(), Failure> {
    let mut found = keyed.iter().filter_map(|(key, _)| key.as_ref()).peekable();
    if !keyed.is_empty() && found.peek().is_none() {
        let path = path.as_str();
        return Err(Failure::error(format!(
            "couldn't find any field with path {path:?} in the list of objects"
        )));
    }
    if keyed.len() > 1 && found.any(|key| key.is_object() || key.is_array() || key.is_boolean()) {
        return Err(Failure::error(format!("field {} cannot be sorted by", path.as_str())));
    }
    Ok(())
}

fn compare(one: Option<&Value>, other: Option<&Value>) -> Ordering {
    match (one, other) {
        (Some(one), Some(other)) => compare_values(one, other),
        (one, other) => one.is_some().cmp(&other.is_some()),
    }
}

/// Orders values: null, numbers, quantities, other strings.
fn compare_values(one: &Value, other: &Value) -> Ordering {
    match (Key::of(one), Key::of(other)) {
        (Key::Whole(a), Key::Whole(b)) => a.cmp(&b),
        (Key::Number(a), Key::Number(b)) | (Key::Amount(a), Key::Amount(b)) => a.total_cmp(&b),
        (Key::Text(a), Key::Text(b)) => a.cmp(b),
        (Key::Whole(a), Key::Number(b)) => (a as f64).total_cmp(&b),
        (Key::Number(a), Key::Whole(b)) => a.total_cmp(&(b as f64)),
        (a, b) => a.rank().cmp(&b.rank()),
    }
}

/// The sort key of a value.
enum Key<'a> {
    Nothing,
    Whole(i64),
    Number(f64),
    /// A quantity: `500m` sorts before `2`, and `900Mi` before `1Gi`.
    Amount(f64),
    Text(&'a str),
}

impl<'a> Key<'a> {
    fn of(value: &'a Value) -> Self {
        match value {
            Value::Number(number) => match number.as_i64() {
                Some(whole) => Self::Whole(whole),
                None => Self::Number(number.as_f64().unwrap_or_default()),
            },
            Value::String(text) => amount(text).map_or(Self::Text(text), Self::Amount),
            _ => Self::Nothing,
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Nothing => 0,
            Self::Whole(_) | Self::Number(_) => 1,
            Self::Amount(_) => 2,
            Self::Text(_) => 3,
        }
    }
}

/// Returns the numeric value of a quantity.
fn amount(text: &str) -> Option<f64> {
    let canonical = quantity::canonical(text)?;
    let end = canonical.rfind(|c: char| c.is_ascii_digit())? + 1;
    let (number, suffix) = canonical.split_at(end);
    let factor = match suffix {
        "" => 1.0,
        "n" => 1e-9,
        "u" => 1e-6,
        "m" => 1e-3,
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "P" => 1e15,
        "E" => 1e18,
        "Ki" => 1024.0,
        "Mi" => 1024f64.powi(2),
        "Gi" => 1024f64.powi(3),
        "Ti" => 1024f64.powi(4),
        "Pi" => 1024f64.powi(5),
        "Ei" => 1024f64.powi(6),
        _ => return None,
    };
    number.parse::<f64>().ok().map(|number| number * factor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn sorted(values: &[Value]) -> Result<Vec<Value>, String> {
        let mut objects: Vec<Value> = values
            .iter()
            .map(|value| if value.is_null() { json!({}) } else { json!({ "a": value }) })
            .collect();
        let path = RelaxedPath::parse(".a").unwrap();
        sort_by(&mut objects, &path, |object| object).map_err(|failure| failure.to_string())?;
        Ok(objects.into_iter().map(|object| object["a"].clone()).collect())
    }

    #[test]
    fn objects_without_the_field_come_first() {
        let sorted = sorted(&[json!("b"), Value::Null, json!("a")]).unwrap();
        assert_eq!(sorted, [Value::Null, json!("a"), json!("b")]);
    }

    #[test]
    fn numbers_and_quantities_are_sorted_by_value() {
        assert_eq!(sorted(&[json!(10), json!(9), json!(9.5)]).unwrap(), [json!(9), json!(9.5), json!(10)]);
        let amounts = ["1Gi", "900Mi", "1e3", "2", "500m", "10"].map(Value::from);
        assert_eq!(sorted(&amounts).unwrap(), ["500m", "2", "10", "1e3", "900Mi", "1Gi"].map(Value::from));
    }

    #[test]
    fn missing_and_unorderable_fields_are_rejected() {
        assert_eq!(
            sorted(&[Value::Null]).unwrap_err(),
            "error: couldn't find any field with path \"{.a}\" in the list of objects"
        );
        assert!(sorted(&[json!({}), json!("a")]).unwrap_err().contains("cannot be sorted by"));
        assert_eq!(sorted(&[]).unwrap(), [Value::Null; 0]);
    }
}
