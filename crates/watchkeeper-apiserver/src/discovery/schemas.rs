//! Schemas: the fields and types of the kinds of a group version, for `kubectl explain`.
//!
//! Input: the tables of [`watchkeeper_wire::schema`], which have neither descriptions nor required fields.
//! Output: the `components` of the [OpenAPI documents](super::openapi()).

use std::collections::BTreeMap;

use serde_json::{Value, json};
use watchkeeper_core::GroupVersionKind;
use watchkeeper_wire::schema::{self, Field, Form, Message, Schema, Shape};

use super::custom_schemas;
use crate::registry::Registry;

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";

/// Types that are not messages, with their JSON type and format; an empty type stands for several. kubectl calls
/// those, and objects, by the last part of their name.
const SIMPLE: [(&str, &str, &str); 6] = [
    ("io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1", "object", ""),
    ("io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime", "string", "date-time"),
    ("io.k8s.apimachinery.pkg.apis.meta.v1.Time", "string", "date-time"),
    ("io.k8s.apimachinery.pkg.api.resource.Quantity", "", ""),
    ("io.k8s.apimachinery.pkg.runtime.RawExtension", "object", ""),
    ("io.k8s.apimachinery.pkg.util.intstr.IntOrString", "", "int-or-string"),
];

/// Returns the schemas of the kinds of a group version, and of everything they refer to.
pub(super) fn schemas(registry: &Registry, group: &str, version: &str) -> BTreeMap<String, Value> {
    let schema = schema::builtin();
    let mut schemas = BTreeMap::new();
    for row in registry.resources(group, version) {
        let kind = row.group_version_kind();
        if let Some(custom) = &row.custom {
            custom_schemas::add(&mut schemas, row, custom);
            let metadata = GroupVersionKind::new("meta.k8s.io", "v1", "PartialObjectMetadata");
            let field = schema.message_of(&metadata).and_then(|message| message.fields().first());
            if let Some(field) = field {
                value_of(&mut schemas, schema, field);
            }
            continue;
        }
        let Some(message) = schema.message_of(&kind) else { continue };
        add(&mut schemas, schema, message);
        if let Some(described) = schemas.get_mut(&name_of(message)) {
            let kind = json!({"group": kind.group, "kind": kind.kind, "version": kind.version});
            described["x-kubernetes-group-version-kind"] = json!([kind]);
            for field in ["apiVersion", "kind"] {
                described["properties"][field] = json!({"type": "string"});
            }
        }
    }
    for (name, form, format) in SIMPLE {
        let mut described = match form {
            "" => json!({"oneOf": [{"type": "string"}, {"type": "number"}]}),
            form => json!({"type": form}),
        };
        if !format.is_empty() {
            described["format"] = format.into();
        }
        schemas.insert(name.to_owned(), described);
    }
    schemas
}

fn add(schemas: &mut BTreeMap<String, Value>, schema: &Schema, message: &Message) {
    let name = name_of(message);
    if schemas.contains_key(&name) {
        return;
    }
    schemas.insert(name.clone(), Value::Null); // a message can contain itself
    let mut properties = BTreeMap::new();
    describe(schemas, schema, message, &mut properties);
    schemas.insert(name, json!({"type": "object", "properties": properties}));
}

fn describe(
    schemas: &mut BTreeMap<String, Value>,
    schema: &Schema,
    message: &Message,
    properties: &mut BTreeMap<&'static str, Value>,
) {
    for field in message.fields() {
        if let (Shape::Inline, Form::Message(id)) = (field.shape(), field.form()) {
            describe(schemas, schema, schema.get(id), properties);
            continue;
        }
        let one = value_of(schemas, schema, field);
        let described = match field.shape() {
            Shape::List => json!({"type": "array", "items": one}),
            Shape::Map => json!({"type": "object", "additionalProperties": one}),
            Shape::One | Shape::Optional | Shape::Inline => one,
        };
        properties.insert(field.name(), described);
    }
}

/// Returns the schema of a single value of a field.
fn value_of(schemas: &mut BTreeMap<String, Value>, schema: &Schema, field: &Field) -> Value {
    let refer = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
    let simple =
        |last: &str| SIMPLE.iter().find(|(name, ..)| name.ends_with(last)).map(|(name, ..)| refer(name));
    let known = match field.form() {
        Form::Bool => Some(json!({"type": "boolean"})),
        Form::Int32 => Some(json!({"type": "integer", "format": "int32"})),
        Form::Int64 => Some(json!({"type": "integer", "format": "int64"})),
        Form::Double => Some(json!({"type": "number", "format": "double"})),
        Form::String => Some(json!({"type": "string"})),
        Form::Bytes => Some(json!({"type": "string", "format": "byte"})),
        Form::Strings => Some(json!({"type": "array", "items": {"type": "string"}})),
        Form::Message(id) => {
            let message = schema.get(id);
            add(schemas, schema, message);
            Some(refer(&name_of(message)))
        }
        Form::Time => simple(".Time"),
        Form::MicroTime => simple(".MicroTime"),
        Form::Quantity => simple(".Quantity"),
        Form::IntOrString => simple(".IntOrString"),
        Form::RawExtension => simple(".RawExtension"),
        Form::FieldsV1 => simple(".FieldsV1"),
        Form::Json | Form::SchemaOrBool(_) | Form::SchemaOrArray(_) | Form::SchemaOrStrings(_) => None,
    };
    known.unwrap_or_else(|| json!({})) // any value
}

/// Returns kube-apiserver's name of a message, such as `core.v1.Pod`.
fn name_of(message: &Message) -> String {
    let name = message.name();
    match name.strip_prefix("meta.v1.") {
        Some(name) => format!("{META}.{name}"),
        None if name.starts_with("apiregistration.") => format!("io.k8s.kube-aggregator.pkg.apis.{name}"),
        None => format!("io.k8s.api.{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::builtin;

    #[test]
    fn a_kind_is_described_with_everything_it_refers_to() {
        let schemas = schemas(builtin(), "apps", "v1");
        let deployment = &schemas["io.k8s.api.apps.v1.Deployment"];
        assert_eq!(
            deployment["x-kubernetes-group-version-kind"],
            json!([{"group": "apps", "kind": "Deployment", "version": "v1"}])
        );
        assert_eq!(deployment["properties"]["kind"]["type"], "string");
        let spec = "io.k8s.api.apps.v1.DeploymentSpec";
        assert_eq!(deployment["properties"]["spec"]["$ref"], format!("#/components/schemas/{spec}"));
        assert_eq!(schemas[spec]["properties"]["replicas"]["type"], "integer");
        let container = &schemas["io.k8s.api.core.v1.Container"]["properties"];
        assert_eq!(container["env"]["items"]["$ref"], "#/components/schemas/io.k8s.api.core.v1.EnvVar");
        assert_eq!(
            schemas["io.k8s.api.core.v1.Volume"]["properties"]["emptyDir"]["$ref"],
            "#/components/schemas/io.k8s.api.core.v1.EmptyDirVolumeSource"
        );
    }

    #[test]
    fn every_reference_resolves() {
        for group in builtin().groups() {
            for version in builtin().versions(group) {
                let schemas = schemas(builtin(), group, version);
                let text = serde_json::to_string(&schemas).unwrap();
                for reference in text.split("#/components/schemas/").skip(1) {
                    let name = reference.split('"').next().unwrap();
                    assert!(
                        schemas.get(name).is_some_and(|found| !found.is_null()),
                        "{group}/{version}: {name}"
                    );
                }
            }
        }
    }
}
