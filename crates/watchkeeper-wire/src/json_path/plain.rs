//! Simple paths to one value, such as `status.podIPs.0.ip`.

use serde_json::Value;

/// Returns the value at a path; `None` if it is absent or null. Segments are field names or list indexes. Names with
/// a dot are not supported.
///
/// ```
/// use serde_json::json;
/// use watchkeeper_wire::json_path::at;
///
/// let pod = json!({"status": {"podIPs": [{"ip": "10.0.0.1"}]}});
/// assert_eq!(at(&pod, "status.podIPs.0.ip"), Some(&json!("10.0.0.1")));
/// ```
pub fn at<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    let found = path.split('.').try_fold(object, |value, part| match value {
        Value::Object(fields) => fields.get(part),
        Value::Array(items) => items.get(part.parse::<usize>().ok()?),
        _ => None,
    })?;
    (!found.is_null()).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_go_through_objects_and_lists() {
        let object = json!({"a": {"b": [{"c": 1}, null]}, "n": null});
        assert_eq!(at(&object, "a.b.0.c"), Some(&json!(1)));
        for nowhere in ["", "a.c", "a.b.2", "a.b.x", "a.b.1", "a.b.0.c.d", "n", "n.x", "a..b"] {
            assert_eq!(at(&object, nowhere), None, "{nowhere:?}");
        }
    }
}
