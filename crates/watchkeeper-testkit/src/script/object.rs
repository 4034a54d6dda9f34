//! Objects for scripts.

use serde_json::json;
use watchkeeper_core::{Encoded, Object, ObjectMetaBuilder};

/// Creates an object with a key, `default/a` or `a`, and a resource version. Its UID is its key, so that all versions
/// are the same object.
pub fn object(key: &str, version: u64) -> Object {
    let (namespace, name) = key.split_once('/').unwrap_or(("", key));
    let version = version.to_string();
    let mut head = ObjectMetaBuilder::default();
    head.namespace(namespace).name(name).uid(key).version(&version);
    let mut metadata = json!({"name": name, "uid": key, "resourceVersion": version});
    if !namespace.is_empty() {
        metadata["namespace"] = namespace.into();
    }
    let body = json!({ "metadata": metadata }).to_string();
    Object { metadata: head.finish(), encoded: Encoded::json(body.into_bytes()) }
}
