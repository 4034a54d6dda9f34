//! Structural schemas: the type of every field is set outside of `allOf`, `anyOf`, `oneOf` and `not`.

use serde_json::{Map, Value, json};

use super::super::pattern::Pattern;
use crate::validate::faults::Faults;
use crate::validate::field::Field;

/// Returns the keyword that makes a schema unsupported.
pub(super) fn unsupported(schema: &Value) -> Option<String> {
    let fields = schema.as_object()?;
    for name in
        ["id", "$schema", "$ref", "patternProperties", "dependencies", "additionalItems", "definitions"]
    {
        let is_set = match fields.get(name) {
            None | Some(Value::Null) => false,
            Some(Value::String(text)) => !text.is_empty(),
            Some(Value::Object(inner)) => !inner.is_empty() || name == "additionalItems",
            Some(_) => true,
        };
        if is_set {
            let name = if name == "$schema" { "schema" } else { name };
            return Some(format!("OpenAPIV3Schema '{name}' is not supported"));
        }
    }
    if fields.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) {
        return Some(
            "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined".to_owned(),
        );
    }
    if fields.get("items").is_some_and(Value::is_array) {
        return Some("OpenAPIV3Schema 'items' must be a schema, but is an array".to_owned());
    }
    let one = ["not", "items", "additionalProperties"].into_iter().filter_map(|name| fields.get(name));
    let many =
        ["allOf", "anyOf", "oneOf"].into_iter().filter_map(|name| fields.get(name)?.as_array()).flatten();
    let named = fields.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::values);
    one.chain(many).chain(named).find_map(unsupported)
}

/// The position of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

/// Adds what keeps a schema from being structural, in kube-apiserver's order.
pub(super) fn check(schema: &Field<'_>, faults: &mut Faults) {
    let mut found = Faults::default();
    invariants(schema, Level::Root, &mut found);
    // kube-apiserver checks this at the root only.
    complete_rules(schema, Some(schema), schema.path(), &mut found);
    let mut causes = found.into_causes();
    causes.sort_by_key(|cause| format!("{}: {}", cause.field, cause.message));
    faults.extend(causes);
}

fn is_empty_type(schema: &Field<'_>) -> bool {
    schema.child("type").text().is_empty()
}

fn entries<'a>(schema: &Field<'a>, name: &str) -> Vec<(&'a str, Field<'a>)> {
    schema.child(name).entries().collect()
}

fn invariants(schema: &Field<'_>, level: Level, faults: &mut Faults) {
    let kind = schema.child("type");
    let is_true = |name: &str| schema.child(name).is_true();
    let (items, properties) = (schema.child("items"), entries(schema, "properties"));
    if kind.text() == "array" && !items.is_set() {
        faults.required(&items, "must be specified");
    }
    if items.is_set() {
        invariants(&items, Level::Item, faults);
    }
    for (_, property) in &properties {
        invariants(property, Level::Field, faults);
    }
    let additional = schema.child("additionalProperties");
    if additional.is_set() {
        if level == Level::Root {
            faults.forbidden(&additional, "must not be used at the root");
        }
        if additional.value().is_object() {
            invariants(&additional, Level::Field, faults);
        }
    }
    let is_embedded = is_true("x-kubernetes-embedded-resource");
    let keeps_unknown = is_true("x-kubernetes-preserve-unknown-fields");
    if is_true("x-kubernetes-int-or-string") {
        for name in ["x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"] {
            if is_true(name) {
                faults.invalid(&schema.child(name), "must be false if x-kubernetes-int-or-string is true");
            }
        }
    }
    rules(schema, is_int_or_string(&schema.child("anyOf")), has_int_or_string_first(schema), faults);
    typed(schema, level, faults);
    if is_embedded && additional.is_set() {
        faults.forbidden(&additional, "must not be used if x-kubernetes-embedded-resource is set");
    }
    if level == Level::Root && !kind.is_empty() && kind.text() != "object" {
        faults.invalid(&kind, "must be object at the root");
    }
    let has_metadata = level == Level::Root || is_embedded;
    for (name, property) in &properties {
        let kind = property.child("type");
        if has_metadata && matches!(*name, "kind" | "apiVersion") && kind.text() != "string" {
            faults.invalid_value(&kind, watchkeeper_core::Quoted(kind.text()), "must be string");
        }
        if *name == "metadata" {
            metadata(property, has_metadata, level, faults);
        }
    }
    if is_embedded && !keeps_unknown && properties.is_empty() {
        let why = "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields";
        faults.required(&schema.child("properties"), why);
    }
}

/// Checks that a schema has a type where it must.
fn typed(schema: &Field<'_>, level: Level, faults: &mut Faults) {
    let kind = schema.child("type");
    let is_true = |name: &str| schema.child(name).is_true();
    if is_true("x-kubernetes-embedded-resource") && kind.text() != "object" {
        let why = "must be object if x-kubernetes-embedded-resource is true";
        if kind.is_empty() { faults.required(&kind, why) } else { faults.invalid(&kind, why) }
    } else if is_empty_type(schema)
        && !is_true("x-kubernetes-int-or-string")
        && !is_true("x-kubernetes-preserve-unknown-fields")
    {
        let why = match level {
            Level::Root => "must not be empty at the root",
            Level::Item => "must not be empty for specified array items",
            Level::Field => "must not be empty for specified object fields",
        };
        faults.required(&kind, why);
    }
}

fn metadata(schema: &Field<'_>, is_metadata: bool, level: Level, faults: &mut Faults) {
    let kind = schema.child("type");
    if is_metadata && kind.text() != "object" {
        faults.invalid_value(&kind, watchkeeper_core::Quoted(kind.text()), "must be object");
    }
    if level != Level::Root {
        return;
    }
    let has_only_names =
        entries(schema, "properties").iter().all(|(name, _)| matches!(*name, "name" | "generateName"));
    let has_more = schema.entries().any(|(name, value)| match name {
        "type" | "default" => false,
        "properties" => !has_only_names,
        _ => !value.is_empty() && *value.value() != Value::Bool(false),
    });
    if has_more {
        let why = "must not specify anything other than name and generateName, but metadata is implicitly specified";
        faults.forbidden(schema, why);
    }
}

fn is_int_or_string(any_of: &Field<'_>) -> bool {
    *any_of.value() == json!([{"type": "integer"}, {"type": "string"}])
}

fn has_int_or_string_first(schema: &Field<'_>) -> bool {
    schema.child("allOf").items().next().is_some_and(|first| is_int_or_string(&first.child("anyOf")))
}

/// Checks `allOf`, `anyOf`, `oneOf` and `not`.
fn rules(schema: &Field<'_>, skips_any_of: bool, skips_first: bool, faults: &mut Faults) {
    if !skips_any_of {
        schema.child("anyOf").items().for_each(|it| nested(&it, false, faults));
    }
    for (at, it) in schema.child("allOf").items().enumerate() {
        nested(&it, skips_first && at == 0, faults);
    }
    schema.child("oneOf").items().for_each(|it| nested(&it, false, faults));
    if schema.child("not").is_set() {
        nested(&schema.child("not"), false, faults);
    }
    let pattern = schema.child("pattern");
    if let Err(why) = Pattern::compile(pattern.text()) {
        faults.invalid(&pattern, &format!("must be a valid regular expression, but isn't: {why}"));
    }
}

/// Checks a schema within `allOf` and the like, which must not add to the structure.
fn nested(schema: &Field<'_>, skips_any_of: bool, faults: &mut Faults) {
    rules(schema, skips_any_of, false, faults);
    if schema.child("items").is_set() {
        nested(&schema.child("items"), false, faults);
    }
    for (_, property) in entries(schema, "properties") {
        nested(&property, false, faults);
    }
    let additional = schema.child("additionalProperties");
    if additional.is_set() && *additional.value() != Value::Bool(false) {
        faults.forbidden(&additional, "must be undefined to be structural");
    }
    let forbidden = [
        ("type", "empty"),
        ("title", "empty"),
        ("description", "empty"),
        ("nullable", "false"),
        ("x-kubernetes-preserve-unknown-fields", "false"),
        ("x-kubernetes-embedded-resource", "false"),
        ("x-kubernetes-int-or-string", "false"),
        ("x-kubernetes-list-map-keys", "empty"),
        ("x-kubernetes-validations", "empty"),
    ];
    for (name, must) in forbidden {
        let field = schema.child(name);
        if !field.is_empty() && *field.value() != Value::Bool(false) {
            faults.forbidden(&field, &format!("must be {must} to be structural"));
        }
    }
    for name in ["default", "x-kubernetes-list-type", "x-kubernetes-map-type"] {
        if schema.child(name).is_set() {
            faults.forbidden(&schema.child(name), "must be undefined to be structural");
        }
    }
    let metadata = schema.child("properties").key("metadata");
    if schema.child("properties").value().get("metadata").is_some() {
        faults.forbidden(&metadata, "must not be specified in a nested context");
    }
}

/// Checks that fields constrained within `allOf` and the like are specified outside.
fn complete_rules(rules: &Field<'_>, schema: Option<&Field<'_>>, path: &str, faults: &mut Faults) {
    if rules.child("not").is_set() {
        complete(&rules.child("not"), schema, path, faults);
    }
    for name in ["allOf", "anyOf", "oneOf"] {
        rules.child(name).items().for_each(|it| complete(&it, schema, path, faults));
    }
}

fn complete(rules: &Field<'_>, schema: Option<&Field<'_>>, path: &str, faults: &mut Faults) {
    let Some(schema) = schema else {
        let why = format!("because it is defined in {}", rules.path());
        faults.required(&Field::at(path, &Value::Null), &why);
        return;
    };
    complete_rules(rules, Some(schema), path, faults);
    if rules.child("items").is_set() {
        let items = Some(schema.child("items")).filter(Field::is_set);
        complete(&rules.child("items"), items.as_ref(), &format!("{path}.items"), faults);
    }
    for (name, property) in entries(rules, "properties") {
        let path = format!("{path}.properties[{name}]");
        let found = Some(schema.child("properties").key(name)).filter(Field::is_set);
        complete(&property, found.as_ref(), &path, faults);
    }
}
