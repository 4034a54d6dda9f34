//! Sample objects with every field of a kind.

use serde_json::{Map, Value, json};
use watchkeeper_wire::schema::{self, Field, Form, Message, Shape};

/// Nesting depth of schemas in samples, which are recursive.
const DEEPEST_SCHEMA: usize = 1;

/// Fields that cannot be applied.
const NOT_APPLIED: [(&str, &str); 2] =
    [("meta.v1.ObjectMeta", "managedFields"), ("meta.v1.ObjectMeta", "selfLink")];

/// The fields of a sample.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Fields {
    /// The fields that can be applied, and the types of the object and of those inside of it.
    #[allow(dead_code, reason = "of apply types")]
    Applied,
    /// All fields, without a type.
    #[allow(dead_code, reason = "of types of objects")]
    All,
}

pub(crate) fn of(group: &str, version: &str, kind: &str, fields: Fields) -> Value {
    let message = schema::builtin().message(group, version, kind).unwrap();
    Value::Object(members(message, fields, 0))
}

/// Removes the types of the claims in a stateful set, which Go does not keep in protobuf.
pub(crate) fn remove_types_of_claims(object: &mut Value) {
    let claims = object.pointer_mut("/spec/volumeClaimTemplates").and_then(Value::as_array_mut);
    for claim in claims.into_iter().flatten().filter_map(Value::as_object_mut) {
        claim.retain(|name, _| name != "apiVersion" && name != "kind");
    }
}

fn members(message: &Message, fields: Fields, schemas: usize) -> Map<String, Value> {
    let mut members = Map::new();
    if fields == Fields::Applied
        && let Some((api_version, kind)) = type_meta(message)
    {
        members.insert("apiVersion".to_owned(), api_version.into());
        members.insert("kind".to_owned(), kind.into());
    }
    for field in message.fields() {
        match (field.shape(), field.form()) {
            (Shape::Inline, Form::Message(inner)) => {
                members.append(&mut self::members(schema::builtin().get(inner), fields, schemas));
            }
            _ if fields == Fields::Applied && NOT_APPLIED.contains(&(message.name(), field.name())) => {}
            _ => {
                if let Some(value) = value(message, field, fields, schemas) {
                    members.insert(field.name().to_owned(), value);
                }
            }
        }
    }
    members
}

/// Returns the type of a message, if it is a kind.
fn type_meta(message: &Message) -> Option<(String, &'static str)> {
    let ((group, version, kind), _) =
        schema::builtin().kinds().find(|(_, other)| other.name() == message.name())?;
    Some((if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }, kind))
}

fn value(message: &Message, field: &Field, fields: Fields, schemas: usize) -> Option<Value> {
    let one = match field.form() {
        Form::Bool => json!(true),
        Form::Int32 => json!(32),
        Form::Int64 => json!(1_u64 << 40),
        Form::Double => json!(0.5),
        Form::String => json!(format!("a {}", field.name())),
        Form::Bytes => json!("Ynl0ZXM="),
        Form::Time => json!("2024-01-02T03:04:05Z"),
        Form::MicroTime => json!("2024-01-02T03:04:05.000006Z"),
        Form::Quantity => json!("500m"),
        Form::IntOrString => json!("50%"),
        Form::RawExtension | Form::Json => json!({"any": ["thing"]}),
        Form::Strings => json!(["a", "b"]),
        Form::Message(inner) => {
            let inner = schema::builtin().get(inner);
            let schemas = schemas + usize::from(inner.name() == message.name());
            if schemas > DEEPEST_SCHEMA {
                return None;
            }
            Value::Object(members(inner, fields, schemas))
        }
        Form::SchemaOrBool(_) => json!(true),
        Form::SchemaOrArray(_) | Form::SchemaOrStrings(_) => json!({"type": "string"}),
        Form::FieldsV1 => json!({"f:spec": {"f:replicas": {}}}),
    };
    Some(match field.shape() {
        Shape::List => json!([one, one]),
        Shape::Map => json!({"key": one}),
        _ => one,
    })
}
