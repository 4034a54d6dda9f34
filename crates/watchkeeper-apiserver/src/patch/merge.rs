//! JSON merge patch (RFC 7396): objects are merged, everything else is replaced, null deletes.

use serde_json::{Map, Value};

use super::{PatchError, check_depth};

/// Applies a merge patch.
///
/// As in Go, and unlike the RFC, nulls are dropped from objects inside a list that is new or replaces something other
/// than an object. A patch that is a list replaces the document; any other patch that is not an object is refused.
///
/// ```
/// # use watchkeeper_apiserver::patch;
/// use serde_json::json;
///
/// let patched = patch::merge(json!({"a": {"b": 1, "c": 2}}), json!({"a": {"b": null, "d": 3}}))?;
/// assert_eq!(patched, json!({"a": {"c": 2, "d": 3}}));
/// # Ok::<(), patch::PatchError>(())
/// ```
pub fn apply(document: Value, patch: Value) -> Result<Value, PatchError> {
    check_depth(&document)?;
    check_depth(&patch)?;
    match (document, patch) {
        (Value::Object(mut document), Value::Object(patch)) => {
            merge(&mut document, patch);
            Ok(Value::Object(document))
        }
        (_, patch @ (Value::Object(_) | Value::Array(_))) => Ok(without_nulls(patch)),
        _ => Err(PatchError::BadRequest("Invalid JSON Patch".to_owned())),
    }
}

fn merge(document: &mut Map<String, Value>, patch: Map<String, Value>) {
    for (name, patch) in patch {
        match (document.get_mut(&name), patch) {
            (_, Value::Null) => {
                document.remove(&name);
            }
            (Some(Value::Object(current)), Value::Object(patch)) => merge(current, patch),
            (Some(current @ Value::Object(_)), patch) => *current = patch,
            (_, patch) => {
                document.insert(name, without_nulls(patch));
            }
        }
    }
}

/// Returns the value without null fields, at any depth; null elements stay.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => Value::Object(
            fields
                .into_iter()
                .filter(|(_, field)| !field.is_null())
                .map(|(name, field)| (name, without_nulls(field)))
                .collect(),
        ),
        Value::Array(items) => Value::Array(items.into_iter().map(without_nulls).collect()),
        scalar => scalar,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_null_deletes_and_is_never_stored_as_a_field() {
        let patched = apply(json!({"a": 1, "b": 2}), json!({"a": null, "c": {"d": null, "e": 1}}));
        assert_eq!(patched, Ok(json!({"b": 2, "c": {"e": 1}})));
    }

    #[test]
    fn a_list_is_replaced_as_a_whole() {
        let patched = apply(json!({"a": [1, 2, 3]}), json!({"a": [4]}));
        assert_eq!(patched, Ok(json!({"a": [4]})));
    }

    #[test]
    fn a_scalar_gives_way_to_an_object_and_an_object_to_a_scalar() {
        let patched = apply(json!({"a": 1, "b": {"c": 1}}), json!({"a": {"x": 1, "y": null}, "b": 2}));
        assert_eq!(patched, Ok(json!({"a": {"x": 1}, "b": 2})));
    }

    #[test]
    fn nulls_within_a_new_list_are_dropped_from_its_objects_only() {
        let patched = apply(json!({}), json!({"a": [null, {"b": null}]}));
        assert_eq!(patched, Ok(json!({"a": [null, {}]})));
    }

    #[test]
    fn a_patch_other_than_an_object_is_a_bad_request() {
        let refused = PatchError::BadRequest("Invalid JSON Patch".to_owned());
        assert_eq!(apply(json!({}), json!(null)), Err(refused.clone()));
        assert_eq!(apply(json!({}), json!("text")), Err(refused));
    }

    #[test]
    fn patches_nested_too_deep_are_refused() {
        let deep = (0..200).fold(json!({}), |inner, _| json!({"a": inner}));
        assert_eq!(apply(json!({}), deep).map_err(|error| error.code()), Err(422));
    }
}
