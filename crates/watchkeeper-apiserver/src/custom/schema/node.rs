//! Nodes: compiled schemas.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::format::Format;
use super::pattern::Pattern;

/// The maximum nesting of schemas; the JSON decoder limits them further.
pub const MAX_SCHEMA_DEPTH: usize = 128;

/// `x-kubernetes-list-type`: how a list is merged, and what is unique in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListType {
    /// Replaced as a whole.
    Atomic,
    /// Items are unique.
    Set,
    /// Keys of items are unique.
    Map,
}

/// `additionalProperties`.
#[derive(Debug, Clone)]
pub(super) enum Additional {
    /// Anything.
    Any,
    /// Nothing.
    None,
    /// Values of one schema.
    Of(Box<Node>),
}

/// The format of a number, which limits its range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    Int32,
    Int64,
    Float,
    Double,
}

/// A compiled schema.
#[derive(Debug, Clone, Default)]
pub(super) struct Node {
    /// `object`, `string`, ...; empty for any type.
    pub(super) kind: String,
    pub(super) is_int_or_string: bool,
    pub(super) is_nullable: bool,
    pub(super) default: Option<Value>,
    pub(super) properties: BTreeMap<String, Node>,
    pub(super) additional: Option<Additional>,
    pub(super) items: Option<Box<Node>>,
    pub(super) required: Vec<String>,
    pub(super) choices: Vec<Value>,
    pub(super) least: Option<f64>,
    pub(super) is_above_least: bool,
    pub(super) most: Option<f64>,
    pub(super) is_below_most: bool,
    pub(super) multiple_of: Option<f64>,
    pub(super) min_length: Option<i64>,
    pub(super) max_length: Option<i64>,
    pub(super) pattern: Option<Pattern>,
    pub(super) format: Option<Format>,
    pub(super) width: Option<Width>,
    pub(super) min_items: Option<i64>,
    pub(super) max_items: Option<i64>,
    pub(super) is_unique: bool,
    pub(super) min_properties: Option<i64>,
    pub(super) max_properties: Option<i64>,
    pub(super) all_of: Vec<Node>,
    pub(super) any_of: Vec<Node>,
    pub(super) one_of: Vec<Node>,
    pub(super) not: Option<Box<Node>>,
    pub(super) keeps_unknown: bool,
    pub(super) is_embedded: bool,
    pub(super) list_type: Option<ListType>,
    pub(super) list_keys: Vec<String>,
    /// Whether it has CEL rules of its own.
    is_ruled: bool,
}

/// The purpose of a compiled schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// Validating custom objects.
    Objects,
    /// Validating the defaults in the schema itself. kube-apiserver does not check whether these are numbers or strings,
    /// and checks the format of strings even where the schema has none.
    Defaults,
}

/// Schemas are nested more than [`MAX_SCHEMA_DEPTH`] deep.
#[derive(Debug)]
pub(super) struct TooDeep;

impl Node {
    /// Compiles a structural schema. Keywords with a value of the wrong type are ignored.
    pub(super) fn compile(schema: &Value, reading: Reading) -> Result<Self, TooDeep> {
        let empty = Map::new();
        compile(schema.as_object().unwrap_or(&empty), reading, MAX_SCHEMA_DEPTH)
    }

    /// Returns the types that a value may have; empty for any.
    pub(super) fn kinds(&self) -> &[&'static str] {
        if self.is_int_or_string {
            return &["integer", "string"];
        }
        match self.kind.as_str() {
            "object" => &["object"],
            "array" => &["array"],
            "string" => &["string"],
            "integer" => &["integer"],
            "number" => &["number"],
            "boolean" => &["boolean"],
            "null" => &["null"],
            _ => &[],
        }
    }

    /// Returns whether there are CEL rules, here or below.
    pub(super) fn has_rules(&self) -> bool {
        let additional = match &self.additional {
            Some(Additional::Of(node)) => Some(&**node),
            _ => None,
        };
        let below = self.items.as_deref().into_iter().chain(additional).chain(self.properties.values());
        self.is_ruled || below.into_iter().any(Self::has_rules)
    }

    /// Returns the schema of the values under a key.
    pub(super) fn child(&self, key: &str) -> Option<&Self> {
        match (self.properties.get(key), &self.additional) {
            (Some(child), _) => Some(child),
            (None, Some(Additional::Of(child))) => Some(child),
            _ => None,
        }
    }
}

fn compile(schema: &Map<String, Value>, reading: Reading, depth: usize) -> Result<Node, TooDeep> {
    let depth = depth.checked_sub(1).ok_or(TooDeep)?;
    let text = |name: &str| schema.get(name).and_then(Value::as_str).unwrap_or_default();
    let is_true = |name: &str| schema.get(name) == Some(&Value::Bool(true));
    let count = |name: &str| schema.get(name).and_then(Value::as_i64);
    let number = |name: &str| schema.get(name).and_then(Value::as_f64);
    let texts = |name: &str| -> Vec<String> {
        let items = schema.get(name).and_then(Value::as_array).into_iter().flatten();
        items.filter_map(Value::as_str).map(ToOwned::to_owned).collect()
    };
    let one = |name: &str| {
        schema.get(name).and_then(Value::as_object).map(|it| compile(it, reading, depth)).transpose()
    };
    let all = |name: &str| -> Result<Vec<Node>, TooDeep> {
        let items = schema.get(name).and_then(Value::as_array).into_iter().flatten();
        items.filter_map(Value::as_object).map(|it| compile(it, reading, depth)).collect()
    };
    let mut properties = BTreeMap::new();
    for (key, value) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let empty = Map::new();
        properties.insert(key.clone(), compile(value.as_object().unwrap_or(&empty), reading, depth)?);
    }
    let additional = match schema.get("additionalProperties") {
        Some(Value::Bool(true)) => Some(Additional::Any),
        Some(Value::Bool(false)) => Some(Additional::None),
        Some(Value::Object(inner)) => Some(Additional::Of(Box::new(compile(inner, reading, depth)?))),
        _ => None,
    };
    let (kind, format) = (text("type"), text("format"));
    let is_int_or_string = reading == Reading::Objects && is_true("x-kubernetes-int-or-string");
    let takes_text = is_int_or_string || matches!(kind, "" | "string");
    let width = match (kind, format) {
        _ if is_int_or_string => None,
        ("integer", "int32") => Some(Width::Int32),
        ("integer", "int64") => Some(Width::Int64),
        ("number", "float") => Some(Width::Float),
        ("number", "double") => Some(Width::Double),
        _ => None,
    };
    Ok(Node {
        kind: kind.to_owned(),
        is_int_or_string,
        is_nullable: is_true("nullable"),
        default: schema.get("default").filter(|default| !default.is_null()).cloned(),
        properties,
        additional,
        items: one("items")?.map(Box::new),
        required: texts("required"),
        choices: schema.get("enum").and_then(Value::as_array).cloned().unwrap_or_default(),
        least: number("minimum"),
        is_above_least: is_true("exclusiveMinimum"),
        most: number("maximum"),
        is_below_most: is_true("exclusiveMaximum"),
        multiple_of: number("multipleOf"),
        min_length: count("minLength"),
        max_length: count("maxLength"),
        pattern: Some(text("pattern"))
            .filter(|text| !text.is_empty())
            .and_then(|text| Pattern::compile(text).ok()),
        format: match reading {
            Reading::Objects => takes_text.then(|| Format::named(format)).flatten(),
            Reading::Defaults => Some(format).filter(|name| !name.is_empty()).map(Format::any_named),
        },
        width,
        min_items: count("minItems"),
        max_items: count("maxItems"),
        is_unique: is_true("uniqueItems"),
        min_properties: count("minProperties"),
        max_properties: count("maxProperties"),
        all_of: all("allOf")?,
        any_of: all("anyOf")?,
        one_of: all("oneOf")?,
        not: one("not")?.map(Box::new),
        keeps_unknown: is_true("x-kubernetes-preserve-unknown-fields"),
        is_embedded: is_true("x-kubernetes-embedded-resource"),
        list_type: match text("x-kubernetes-list-type") {
            "atomic" => Some(ListType::Atomic),
            "set" => Some(ListType::Set),
            "map" => Some(ListType::Map),
            _ => None,
        },
        list_keys: texts("x-kubernetes-list-map-keys"),
        is_ruled: schema
            .get("x-kubernetes-validations")
            .and_then(Value::as_array)
            .is_some_and(|rules| !rules.is_empty()),
    })
}
