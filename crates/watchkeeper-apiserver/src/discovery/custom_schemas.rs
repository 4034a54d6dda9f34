//! Schemas of custom kinds, for `kubectl explain`.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::custom::CustomKind;
use crate::registry::Resource;

const OBJECT_META: &str = "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

const API_VERSION: &str = "APIVersion defines the versioned schema of this representation of an object. Servers \
    should convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: \
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources";
const KIND: &str = "Kind is a string value representing the REST resource this object represents. Servers may infer \
    this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: \
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds";
const METADATA: &str = "Standard object's metadata. More info: \
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";

/// Adds the schema of a custom kind under kube-apiserver's name for it.
pub(super) fn add(schemas: &mut BTreeMap<String, Value>, row: &Resource, custom: &CustomKind) {
    let kind = row.group_version_kind();
    let gvk = json!([{"group": kind.group, "kind": kind.kind, "version": kind.version}]);
    schemas.insert(name_of(row), described(custom.open_api(), gvk));
}

/// Returns `com.example.v1.Widget`.
fn name_of(row: &Resource) -> String {
    let group: Vec<&str> = row.group.rsplit('.').collect();
    format!("{}.{}.{}", group.join("."), row.version, row.kind)
}

fn described(open_api: &Value, kind: Value) -> Value {
    let mut schema = open_api.as_object().cloned().unwrap_or_default();
    if schema.is_empty() {
        schema.insert("type".to_owned(), "object".into());
    }
    schema.insert("x-kubernetes-group-version-kind".to_owned(), kind);
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    if let Value::Object(properties) = properties {
        complete(properties);
    }
    Value::Object(schema)
}

/// Adds the properties that all kinds have.
fn complete(properties: &mut Map<String, Value>) {
    properties.insert("apiVersion".to_owned(), json!({"type": "string", "description": API_VERSION}));
    properties.insert("kind".to_owned(), json!({"type": "string", "description": KIND}));
    let metadata = json!({"description": METADATA, "allOf": [{"$ref": OBJECT_META}]});
    properties.insert("metadata".to_owned(), metadata);
}
