//! Objects for scripts.

use serde_json::json;
use watchkeeper_core::{Encoded, Object, ObjectMetaBuilder};

/// An object of which nothing is known but its key, `default/a` or `a`, and its version. Its uid is its key, so
/// that all versions of it are one incarnation.
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
