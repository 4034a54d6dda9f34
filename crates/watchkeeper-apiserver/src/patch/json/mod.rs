//! JSON patch (RFC 6902): a list of operations.
//!
//! kube-apiserver's library is more lenient than the RFC, and clients rely on it: a negative index counts from the end,
//! `replace` of a missing field adds it, `copy` of a missing field copies a null, and `test` of a missing field passes if
//! its value is null or absent.

mod pointer;
#[cfg(test)]
mod tests;

use std::mem;

use serde_json::{Map, Value};

use self::pointer::parent;
use super::gofmt::json_noun;
use super::{MAX_DEPTH, PatchError, depth};
use crate::size::json_bytes;

/// The maximum number of operations.
pub const MAX_OPERATIONS: usize = 10_000;

/// The maximum number of JSON bytes that the `copy` operations of one patch may add.
pub const MAX_COPY_BYTES: u64 = 3 << 20;

/// The maximum number of times that a patch may cause the depth of the document to be measured.
const MAX_MEASURES: usize = 64;

/// Applies a JSON patch, given as the body of the request.
///
/// ```
/// # use watchkeeper_apiserver::patch;
/// use serde_json::json;
///
/// let document = json!({"finalizers": ["a", "b"]});
/// let body = br#"[{"op": "test", "path": "/finalizers/0", "value": "a"}, {"op": "remove", "path": "/finalizers/0"}]"#;
/// assert_eq!(patch::json(document, body)?, json!({"finalizers": ["b"]}));
/// # Ok::<(), patch::PatchError>(())
/// ```
pub fn apply(document: Value, patch: &[u8]) -> Result<Value, PatchError> {
    let operations = decode(patch)?;
    if operations.len() > MAX_OPERATIONS {
        return Err(PatchError::TooLarge(format!(
            "The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {}",
            operations.len()
        )));
    }
    let deepest = depth(&document);
    if deepest > MAX_DEPTH {
        return Err(PatchError::too_deep());
    }
    let mut patched = Patched { document, deepest, measures: 0, copied: 0 };
    for operation in operations {
        patched.apply(operation)?;
    }
    Ok(patched.document)
}

/// Decodes the operations. `null` is a patch without operations, or an operation without fields.
fn decode(patch: &[u8]) -> Result<Vec<Map<String, Value>>, PatchError> {
    let wrong = |value: &Value, expected: &str| {
        PatchError::BadRequest(format!(
            "json: cannot unmarshal {} into Go value of type jsonpatch.{expected}",
            json_noun(value)
        ))
    };
    let items = match serde_json::from_slice(patch) {
        Ok(Value::Array(items)) => items,
        Ok(Value::Null) => Vec::new(),
        Ok(other) => return Err(wrong(&other, "Patch")),
        Err(_) => return Err(PatchError::BadRequest("invalid JSON patch".to_owned())),
    };
    items
        .into_iter()
        .map(|item| match item {
            Value::Object(fields) => Ok(fields),
            Value::Null => Ok(Map::new()),
            other => Err(wrong(&other, "Operation")),
        })
        .collect()
}

/// A document between two operations.
struct Patched {
    document: Value,
    /// An upper bound of the depth of the document.
    deepest: usize,
    /// The number of times that `deepest` exceeded the limit and was measured.
    measures: usize,
    /// Bytes copied so far.
    copied: u64,
}

/// Why an operation failed.
type Failure = String;

impl Patched {
    fn apply(&mut self, mut operation: Map<String, Value>) -> Result<(), PatchError> {
        let kind = match operation.get("op") {
            Some(Value::String(kind)) => kind.as_str(),
            _ => "unknown",
        };
        match kind {
            "add" => {
                let value = operation.get_mut("value").map(mem::take).unwrap_or_default();
                text(&operation, "add", "path").and_then(|path| self.add(&path, value))
            }
            "remove" => text(&operation, "remove", "path").and_then(|path| self.remove(&path)),
            "replace" => {
                let value = operation.get_mut("value").map(mem::take).unwrap_or_default();
                text(&operation, "replace", "path").and_then(|path| self.replace(&path, value))
            }
            "move" => self.relocate(&operation),
            "test" => {
                text(&operation, "test", "path").and_then(|path| self.test(&path, operation.get("value")))
            }
            "copy" => self.copy(&operation),
            other => Err(format!("Unexpected kind: {other}")),
        }
        .map_err(PatchError::Unprocessable)?;
        self.check_depth()
    }

    fn add(&mut self, path: &str, value: Value) -> Result<(), Failure> {
        let lands = levels(path) + depth(&value);
        let place = parent(&mut self.document, path).ok_or_else(|| {
            format!("add operation does not apply: doc is missing path: \"{path}\": missing value")
        })?;
        place.add(value).map_err(|why| format!("error in add for path: '{path}': {why}"))?;
        self.deepest = self.deepest.max(lands);
        Ok(())
    }

    fn remove(&mut self, path: &str) -> Result<(), Failure> {
        let place = parent(&mut self.document, path).ok_or_else(|| {
            format!("remove operation does not apply: doc is missing path: \"{path}\": missing value")
        })?;
        place.remove().map_err(|why| format!("error in remove for path: '{path}': {why}"))?;
        Ok(())
    }

    fn replace(&mut self, path: &str, value: Value) -> Result<(), Failure> {
        let lands = levels(path) + depth(&value);
        if path.is_empty() {
            if !matches!(value, Value::Object(_) | Value::Array(_)) {
                return Err("replace operation value must be object or array: %!w(<nil>)".to_owned());
            }
            self.document = value;
        } else {
            let place = parent(&mut self.document, path).ok_or_else(|| {
                format!("replace operation does not apply: doc is missing path: {path}: missing value")
            })?;
            place.set(value).map_err(|_| {
                format!("replace operation does not apply: doc is missing key: {path}: missing value")
            })?;
        }
        self.deepest = self.deepest.max(lands);
        Ok(())
    }

    /// `move`.
    fn relocate(&mut self, operation: &Map<String, Value>) -> Result<(), Failure> {
        let from = text(operation, "move", "from")?;
        let place = parent(&mut self.document, &from).ok_or_else(|| {
            format!("move operation does not apply: doc is missing from path: {from}: missing value")
        })?;
        let key = place.key().to_owned();
        let value = place.remove().map_err(|why| format!("error in move for path: '{key}': {why}"))?;

        let path = text(operation, "move", "path")?;
        let place = parent(&mut self.document, &path).ok_or_else(|| {
            format!("move operation does not apply: doc is missing destination path: {path}: missing value")
        })?;
        place.add(value).map_err(|why| format!("error in move for path: '{path}': {why}"))?;
        self.deepens(&from, &path);
        Ok(())
    }

    fn test(&mut self, path: &str, expected: Option<&Value>) -> Result<(), Failure> {
        let failed = || format!("testing value {path} failed: test failed");
        if path.is_empty() {
            return if expected == Some(&self.document) { Ok(()) } else { Err(failed()) };
        }
        let place = parent(&mut self.document, path).ok_or_else(|| {
            format!("test operation does not apply: is missing path: {path}: missing value")
        })?;
        let found = place.get().map_err(|why| format!("error in test for path: '{path}': {why}"))?;
        let absent = Value::Null;
        if found.unwrap_or(&absent) == expected.unwrap_or(&absent) { Ok(()) } else { Err(failed()) }
    }

    fn copy(&mut self, operation: &Map<String, Value>) -> Result<(), Failure> {
        let from = text(operation, "copy", "from")?;
        let place = parent(&mut self.document, &from).ok_or_else(|| {
            format!("copy operation does not apply: doc is missing from path: {from}: missing value")
        })?;
        let found = place.get().map_err(|why| format!("error in copy for from: '{from}': {why}"))?;
        let size = match found {
            None | Some(Value::Null) => 0,
            Some(value) => json_bytes(value),
        };
        // Check the limit before copying.
        let within = self.copied.saturating_add(size) <= MAX_COPY_BYTES;
        let value = if within { found.cloned().unwrap_or_default() } else { Value::Null };

        let path = text(operation, "copy", "path")?;
        let place = parent(&mut self.document, &path).ok_or_else(|| {
            format!("copy operation does not apply: doc is missing destination path: {path}: missing value")
        })?;
        self.copied = self.copied.saturating_add(size);
        if !within {
            return Err(format!(
                "Unable to complete the copy, the accumulated size increase of copy is {}, exceeding the limit {MAX_COPY_BYTES}",
                self.copied
            ));
        }
        place.add(value).map_err(|why| format!("error while adding value during copy: {why}"))?;
        self.deepens(&from, &path);
        Ok(())
    }

    /// Updates `deepest` after the value at `from` was put at `path`.
    fn deepens(&mut self, from: &str, path: &str) {
        self.deepest += levels(path).saturating_sub(levels(from));
    }

    /// Enforces `patch.P2`. `deepest` is an upper bound: the depth is measured when it exceeds the limit, and a patch that
    /// causes too many measurements is refused.
    fn check_depth(&mut self) -> Result<(), PatchError> {
        if self.deepest <= MAX_DEPTH {
            return Ok(());
        }
        self.measures += 1;
        self.deepest = depth(&self.document);
        if self.deepest > MAX_DEPTH || self.measures > MAX_MEASURES {
            return Err(PatchError::too_deep());
        }
        Ok(())
    }
}

/// Returns a string field of an operation.
fn text(operation: &Map<String, Value>, kind: &str, field: &str) -> Result<String, Failure> {
    let why = match operation.get(field) {
        Some(Value::String(text)) => return Ok(text.clone()),
        _ if field == "path" && matches!(kind, "add" | "remove" | "copy") => "missing value".to_owned(),
        None | Some(Value::Null) if field == "from" => {
            "operation, missing from field: missing value".to_owned()
        }
        None | Some(Value::Null) => "operation missing path field: missing value".to_owned(),
        Some(other) => format!("json: cannot unmarshal {} into Go value of type string", json_noun(other)),
    };
    Err(format!("{kind} operation failed to decode {field}: {why}"))
}

/// Returns the number of objects and lists around the value at a path.
fn levels(path: &str) -> usize {
    path.matches('/').count()
}
