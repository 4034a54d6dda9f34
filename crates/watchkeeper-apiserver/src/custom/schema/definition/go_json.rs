//! Go's JSON of kube-apiserver's internal types, as some messages contain it: all fields, with their Go names.

use serde_json::{Map, Value};

use crate::validate::faults::json;

/// The JSON form of a schema field.
#[derive(Clone, Copy)]
enum Form {
    Text,
    Flag,
    /// A number, a string, any JSON or null.
    Any,
    Texts,
    Schema,
    Schemas,
    SchemaMap,
    SchemaOrList,
    SchemaOrBool,
    Dependencies,
    Docs,
    Rules,
}

/// The fields of a schema in Go's order: Go name, JSON name and form.
const SCHEMA: [(&str, &str, Form); 43] = [
    ("ID", "id", Form::Text),
    ("Schema", "$schema", Form::Text),
    ("Ref", "$ref", Form::Any),
    ("Description", "description", Form::Text),
    ("Type", "type", Form::Text),
    ("Nullable", "nullable", Form::Flag),
    ("Format", "format", Form::Text),
    ("Title", "title", Form::Text),
    ("Default", "default", Form::Any),
    ("Maximum", "maximum", Form::Any),
    ("ExclusiveMaximum", "exclusiveMaximum", Form::Flag),
    ("Minimum", "minimum", Form::Any),
    ("ExclusiveMinimum", "exclusiveMinimum", Form::Flag),
    ("MaxLength", "maxLength", Form::Any),
    ("MinLength", "minLength", Form::Any),
    ("Pattern", "pattern", Form::Text),
    ("MaxItems", "maxItems", Form::Any),
    ("MinItems", "minItems", Form::Any),
    ("UniqueItems", "uniqueItems", Form::Flag),
    ("MultipleOf", "multipleOf", Form::Any),
    ("Enum", "enum", Form::Any),
    ("MaxProperties", "maxProperties", Form::Any),
    ("MinProperties", "minProperties", Form::Any),
    ("Required", "required", Form::Texts),
    ("Items", "items", Form::SchemaOrList),
    ("AllOf", "allOf", Form::Schemas),
    ("OneOf", "oneOf", Form::Schemas),
    ("AnyOf", "anyOf", Form::Schemas),
    ("Not", "not", Form::Schema),
    ("Properties", "properties", Form::SchemaMap),
    ("AdditionalProperties", "additionalProperties", Form::SchemaOrBool),
    ("PatternProperties", "patternProperties", Form::SchemaMap),
    ("Dependencies", "dependencies", Form::Dependencies),
    ("AdditionalItems", "additionalItems", Form::SchemaOrBool),
    ("Definitions", "definitions", Form::SchemaMap),
    ("ExternalDocs", "externalDocs", Form::Docs),
    ("Example", "example", Form::Any),
    ("XPreserveUnknownFields", "x-kubernetes-preserve-unknown-fields", Form::Any),
    ("XEmbeddedResource", "x-kubernetes-embedded-resource", Form::Flag),
    ("XIntOrString", "x-kubernetes-int-or-string", Form::Flag),
    ("XListMapKeys", "x-kubernetes-list-map-keys", Form::Texts),
    ("XListType", "x-kubernetes-list-type", Form::Any),
    ("XMapType", "x-kubernetes-map-type", Form::Any),
];

/// Returns the Go names of the fields that a schema sets, in Go's order.
pub(super) fn set_fields(schema: &Map<String, Value>) -> Vec<&'static str> {
    let is_set = |name: &str, form: Form| match schema.get(name) {
        None | Some(Value::Null) => false,
        Some(Value::Bool(value)) => *value || !matches!(form, Form::Flag),
        Some(Value::String(text)) => !text.is_empty() || !matches!(form, Form::Text),
        Some(_) => true,
    };
    let mut set: Vec<&str> =
        SCHEMA.iter().filter(|(_, name, form)| is_set(name, *form)).map(|(go, ..)| *go).collect();
    if schema.get("x-kubernetes-validations").is_some_and(|rules| !rules.is_null()) {
        set.push("XValidations");
    }
    set
}

/// Formats a schema.
pub(super) fn schema(schema: &Value) -> String {
    let Some(fields) = schema.as_object() else { return "null".to_owned() };
    let mut out = String::from("{");
    for (go, name, form) in SCHEMA {
        out.push_str(&format!("\"{go}\":{},", field(fields.get(name), form)));
    }
    let rules = field(fields.get("x-kubernetes-validations"), Form::Rules);
    out.push_str(&format!("\"XValidations\":{rules}}}"));
    out
}

fn field(value: Option<&Value>, form: Form) -> String {
    let list = |value: &Value, item: fn(&Value) -> String| {
        let items: Vec<String> = value.as_array().into_iter().flatten().map(item).collect();
        format!("[{}]", items.join(","))
    };
    match (form, value.filter(|value| !value.is_null())) {
        (Form::Text, value) => value.map_or("\"\"".to_owned(), json),
        (Form::Flag, value) => value.map_or("false".to_owned(), json),
        (_, None) => "null".to_owned(),
        (Form::Any | Form::Texts, Some(value)) => json(value),
        (Form::Schema, Some(value)) => schema(value),
        (Form::Schemas, Some(value)) => list(value, schema),
        (Form::SchemaMap, Some(value)) => {
            let entries = value.as_object().into_iter().flatten();
            let entries: Vec<String> = entries
                .map(|(key, value)| format!("{}:{}", json(&Value::from(key.as_str())), schema(value)))
                .collect();
            format!("{{{}}}", entries.join(","))
        }
        (Form::SchemaOrList, Some(value)) => match value {
            Value::Array(_) => format!("{{\"Schema\":null,\"JSONSchemas\":{}}}", list(value, schema)),
            value => format!("{{\"Schema\":{},\"JSONSchemas\":null}}", schema(value)),
        },
        (Form::SchemaOrBool, Some(value)) => match value {
            Value::Bool(allows) => format!("{{\"Allows\":{allows},\"Schema\":null}}"),
            value => format!("{{\"Allows\":true,\"Schema\":{}}}", schema(value)),
        },
        (Form::Dependencies, Some(value)) => {
            let entries = value.as_object().into_iter().flatten();
            let entries: Vec<String> = entries.map(|(key, value)| dependency(key, value)).collect();
            format!("{{{}}}", entries.join(","))
        }
        (Form::Docs, Some(value)) => {
            let text = |name: &str| field(value.get(name), Form::Text);
            format!("{{\"Description\":{},\"URL\":{}}}", text("description"), text("url"))
        }
        (Form::Rules, Some(value)) => list(value, rule),
    }
}

fn dependency(key: &str, value: &Value) -> String {
    let (schema, property) = match value {
        Value::Array(_) => ("null".to_owned(), json(value)),
        value => (schema(value), "null".to_owned()),
    };
    format!("{}:{{\"Schema\":{schema},\"Property\":{property}}}", json(&Value::from(key)))
}

/// Formats `items`.
pub(super) fn items(items: &Value) -> String {
    field(Some(items), Form::SchemaOrList)
}

fn rule(rule: &Value) -> String {
    let text = |name: &str| field(rule.get(name), Form::Text);
    let any = |name: &str| field(rule.get(name), Form::Any);
    format!(
        "{{\"Rule\":{},\"Message\":{},\"MessageExpression\":{},\"Reason\":{},\"FieldPath\":{},\"OptionalOldSelf\":{}}}",
        text("rule"),
        text("message"),
        text("messageExpression"),
        any("reason"),
        text("fieldPath"),
        any("optionalOldSelf"),
    )
}

/// Fields of a version that kube-apiserver's internal type holds once for all versions, and so omits here.
#[derive(Clone, Copy, Default)]
pub(super) struct Hidden {
    pub(super) schema: bool,
    pub(super) subresources: bool,
    pub(super) columns: bool,
    pub(super) selectable: bool,
}

/// Formats a version of a definition.
pub(super) fn version(version: &Value, hidden: Hidden) -> String {
    let text = |name: &str| field(version.get(name), Form::Text);
    let flag = |name: &str| field(version.get(name), Form::Flag);
    let shown =
        |is_hidden: bool, name: &str| version.get(name).filter(|value| !is_hidden && !value.is_null());
    let or_null = |value: Option<String>| value.unwrap_or_else(|| "null".to_owned());
    let list = |value: &Value, item: fn(&Value) -> String| {
        let items: Vec<String> = value.as_array().into_iter().flatten().map(item).collect();
        format!("[{}]", items.join(","))
    };
    let schema = shown(hidden.schema, "schema").map(|value| {
        format!("{{\"OpenAPIV3Schema\":{}}}", field(value.get("openAPIV3Schema"), Form::Schema))
    });
    let subresources = shown(hidden.subresources, "subresources").map(subresources);
    let columns = shown(hidden.columns, "additionalPrinterColumns").map(|value| list(value, column));
    let selectable = shown(hidden.selectable, "selectableFields").map(|value| {
        list(value, |item| format!("{{\"JSONPath\":{}}}", field(item.get("jsonPath"), Form::Text)))
    });
    format!(
        "{{\"Name\":{},\"Served\":{},\"Storage\":{},\"Deprecated\":{},\"DeprecationWarning\":{},\"Schema\":{},\"Subresources\":{},\"AdditionalPrinterColumns\":{},\"SelectableFields\":{}}}",
        text("name"),
        flag("served"),
        flag("storage"),
        flag("deprecated"),
        field(version.get("deprecationWarning"), Form::Any),
        or_null(schema),
        or_null(subresources),
        or_null(columns),
        or_null(selectable),
    )
}

fn subresources(value: &Value) -> String {
    let status = value.get("status").filter(|status| !status.is_null()).map_or("null", |_| "{}");
    let scale = value.get("scale").filter(|scale| !scale.is_null()).map(|scale| {
        format!(
            "{{\"SpecReplicasPath\":{},\"StatusReplicasPath\":{},\"LabelSelectorPath\":{}}}",
            field(scale.get("specReplicasPath"), Form::Text),
            field(scale.get("statusReplicasPath"), Form::Text),
            field(scale.get("labelSelectorPath"), Form::Any),
        )
    });
    format!("{{\"Status\":{status},\"Scale\":{}}}", scale.unwrap_or_else(|| "null".to_owned()))
}

fn column(value: &Value) -> String {
    let text = |name: &str| field(value.get(name), Form::Text);
    let priority = value.get("priority").and_then(Value::as_i64).unwrap_or_default();
    format!(
        "{{\"Name\":{},\"Type\":{},\"Format\":{},\"Description\":{},\"Priority\":{priority},\"JSONPath\":{}}}",
        text("name"),
        text("type"),
        text("format"),
        text("description"),
        text("jsonPath"),
    )
}
