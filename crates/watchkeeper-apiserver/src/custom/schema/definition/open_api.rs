//! OpenAPI keywords of a schema, and the requirements of its extensions.

use serde_json::Value;
use watchkeeper_core::Quoted;

use super::{field_path, go_json};
use crate::validate::faults::Faults;
use crate::validate::field::Field;

/// The context of a nested schema.
#[derive(Debug, Clone, Copy, Default)]
struct Place<'a> {
    /// Why it must not have a default.
    forbids_defaults: Option<&'a str>,
    /// Whether it is the schema of an object's metadata.
    is_metadata: bool,
}

/// Checks the schema of a version.
pub(super) fn check(schema: &Field<'_>, faults: &mut Faults) {
    walk(schema, true, Place::default(), faults);
}

fn walk(schema: &Field<'_>, is_root: bool, place: Place<'_>, faults: &mut Faults) {
    supported(schema, place, faults);
    if schema.child("uniqueItems").is_true() {
        let why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        faults.forbidden(&schema.child("uniqueItems"), why);
    }
    let (additional, properties) = (schema.child("additionalProperties"), schema.child("properties"));
    if additional.is_set() {
        if !properties.is_empty() && !additional.is_true() {
            faults.forbidden(&additional, "additionalProperties and properties are mutual exclusive");
        }
        if additional.value().is_object() {
            let place = if place.is_metadata {
                let why = "inside additionalProperties applying to object metadata";
                Place { forbids_defaults: Some(why), ..place }
            } else {
                place
            };
            walk(&additional, false, place, faults);
        }
    }
    let has_metadata = is_root || schema.child("x-kubernetes-embedded-resource").is_true();
    for (name, property) in properties.entries() {
        let why = format!("in top-level {name}");
        let mut place = place;
        if has_metadata && matches!(name, "apiVersion" | "kind" | "metadata") {
            place.is_metadata = true;
            if is_root {
                place.forbids_defaults = Some(&why);
            }
        }
        walk(&property, false, place, faults);
    }
    for name in ["not", "items"] {
        let inner = schema.child(name);
        if inner.value().is_object() {
            walk(&inner, false, place, faults);
        }
    }
    for name in ["allOf", "oneOf", "anyOf", "items"] {
        schema.child(name).items().for_each(|inner| walk(&inner, false, place, faults));
    }
    for name in ["definitions", "dependencies"] {
        let inner = schema.child(name);
        inner
            .entries()
            .filter(|(_, it)| it.value().is_object())
            .for_each(|(_, it)| walk(&it, false, place, faults));
    }
    extensions(schema, faults);
    map_list_keys(schema, faults);
    schema.child("x-kubernetes-validations").items().for_each(|it| rule(schema, &it, faults));
}

fn supported(schema: &Field<'_>, place: Place<'_>, faults: &mut Faults) {
    let kind = schema.child("type");
    let types = ["array", "boolean", "integer", "number", "object", "string"];
    if !kind.is_empty() && !types.contains(&kind.text()) {
        faults.not_supported_value(&kind, Quoted(kind.text()), &types);
    }
    if let (Some(why), true) = (place.forbids_defaults, schema.child("default").is_set()) {
        faults.forbidden(&schema.child("default"), &format!("must not be set {why}"));
    }
    for name in ["id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"] {
        let field = schema.child(name);
        let is_set = match name {
            "id" | "patternProperties" | "definitions" => !field.is_empty(),
            _ => field.is_set(),
        };
        if is_set {
            faults.forbidden(&field, &format!("{name} is not supported"));
        }
    }
    if kind.text() == "null" {
        faults.forbidden(&kind, "type cannot be set to null, use nullable as an alternative");
    }
    if schema.child("items").value().is_array() && !schema.child("items").is_empty() {
        faults.forbidden(&schema.child("items"), "items must be a schema object and not an array");
    }
    let embedded = schema.child("x-kubernetes-embedded-resource");
    if place.is_metadata && embedded.is_true() {
        faults.forbidden(&embedded, "must not be used inside of resource meta");
    }
}

fn extensions(schema: &Field<'_>, faults: &mut Faults) {
    let keeps = schema.child("x-kubernetes-preserve-unknown-fields");
    if *keeps.value() == Value::Bool(false) {
        faults.invalid(&keeps, "must be true or undefined");
    }
    let (map_type, list_type) =
        (schema.child("x-kubernetes-map-type"), schema.child("x-kubernetes-list-type"));
    if map_type.is_set() {
        of_kind(schema, "object", "x-kubernetes-map-type", faults);
        if !matches!(map_type.text(), "atomic" | "granular") {
            faults.not_supported_value(&map_type, Quoted(map_type.text()), &["atomic", "granular"]);
        }
    }
    if list_type.is_set() {
        let is_list = of_kind(schema, "array", "x-kubernetes-list-type", faults);
        if is_list && list_type.text() == "set" {
            atomic_items(&schema.child("items"), faults);
        }
        if !matches!(list_type.text(), "atomic" | "set" | "map") {
            faults.not_supported_value(&list_type, Quoted(list_type.text()), &["atomic", "set", "map"]);
        }
    }
    let keys = schema.child("x-kubernetes-list-map-keys");
    if !keys.is_empty() && list_type.text() != "map" {
        let why = "must be map if x-kubernetes-list-map-keys is non-empty";
        if list_type.is_set() { faults.invalid(&list_type, why) } else { faults.required(&list_type, why) }
    }
    if list_type.text() == "map" {
        map_items(schema, &keys, faults);
    }
}

fn of_kind(schema: &Field<'_>, wanted: &str, extension: &str, faults: &mut Faults) -> bool {
    let kind = schema.child("type");
    let why = format!("must be {wanted} if {extension} is specified");
    match kind.text() {
        "" => faults.required(&kind, &why),
        text if text != wanted => faults.invalid(&kind, &why),
        _ => return true,
    }
    false
}

/// Items of a set must be scalar or atomic.
fn atomic_items(items: &Field<'_>, faults: &mut Faults) {
    let why = "must be atomic as item of a list with x-kubernetes-list-type=set";
    let (list_type, map_type) = (items.child("x-kubernetes-list-type"), items.child("x-kubernetes-map-type"));
    match items.child("type").text() {
        "array" if list_type.is_set() && list_type.text() != "atomic" => faults.invalid(&list_type, why),
        // kube-apiserver shows the list type as the map type.
        "object" if map_type.text() != "atomic" => {
            faults.invalid_value(&map_type, crate::validate::faults::shown(list_type.value()), why);
        }
        _ => {}
    }
}

fn map_items(schema: &Field<'_>, keys: &Field<'_>, faults: &mut Faults) {
    if keys.is_empty() {
        faults.required(keys, "must not be empty if x-kubernetes-list-type is map");
    }
    let items = schema.child("items");
    if !items.is_set() {
        faults.required(&items, "must have a schema if x-kubernetes-list-type is map");
        return;
    }
    if items.value().is_array() {
        let why = "must only have a single schema if x-kubernetes-list-type is map";
        faults.invalid_value(&items, go_json::items(items.value()), why);
        return;
    }
    let kind = items.child("type");
    if kind.text() != "object" {
        let why = "must be object if parent array's x-kubernetes-list-type is map";
        faults.invalid_value(&kind, Quoted(kind.text()), why);
        return;
    }
    let mut seen = Vec::new();
    for key in keys.texts() {
        let property = items.child("properties").key(key);
        if !property.is_set() {
            faults.invalid(keys, "entries must all be names of item properties");
        } else if matches!(property.child("type").text(), "array" | "object") {
            let why = "must be a scalar type if parent array's x-kubernetes-list-type is map";
            faults.invalid_value(&property.child("type"), Quoted(kind.text()), why);
        }
        if seen.contains(&key) {
            faults.invalid(keys, "must not contain duplicate entries");
        }
        seen.push(key);
    }
}

/// Key fields of a map must be required or have a default.
fn map_list_keys(schema: &Field<'_>, faults: &mut Faults) {
    let (list_type, items) = (schema.child("x-kubernetes-list-type"), schema.child("items"));
    if !items.value().is_object() || !matches!(list_type.text(), "set" | "map") {
        return;
    }
    if items.child("nullable").is_true() {
        let why = format!("cannot be nullable when x-kubernetes-list-type is {}", list_type.text());
        faults.forbidden(&items.child("nullable"), &why);
    }
    if list_type.text() != "map" {
        return;
    }
    let is_required = |key: &str| items.child("required").texts().any(|name| name == key);
    for key in schema.child("x-kubernetes-list-map-keys").texts() {
        let property = items.child("properties").key(key);
        if !property.is_set() {
            continue;
        }
        if !is_required(key) && !property.child("default").is_set() {
            let why = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
            faults.required(&property.child("default"), why);
        }
        if property.child("nullable").is_true() {
            let why = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            faults.forbidden(&property.child("nullable"), why);
        }
    }
}

/// Checks a CEL rule, except for its expressions.
fn rule(schema: &Field<'_>, rule: &Field<'_>, faults: &mut Faults) {
    const REASONS: [&str; 4] =
        ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];
    let has_lines = |text: &str| text.contains(['\n', '\r']);
    let (text, message) = (rule.child("rule"), rule.child("message"));
    if text.text().trim().is_empty() {
        faults.required(&text, "rule is not specified");
    } else if !message.is_empty() && message.text().trim().is_empty() {
        faults.invalid(&message, "must be non-empty if specified");
    } else if has_lines(message.text().trim()) {
        faults.invalid(&message, "must not contain line breaks");
    } else if has_lines(text.text().trim()) && message.text().trim().is_empty() {
        faults.required(&message, "message must be specified if rule contains line breaks");
    }
    let expression = rule.child("messageExpression");
    if !expression.is_empty() && expression.text().trim().is_empty() {
        faults.required(&expression, "messageExpression must be non-empty if specified");
    }
    faults.one_of_set(&rule.child("reason"), &REASONS);
    let path = rule.child("fieldPath");
    if path.is_empty() {
        return;
    }
    if path.text().trim().is_empty() {
        faults.invalid(&path, "must be non-empty if specified");
    }
    if has_lines(path.text()) {
        faults.invalid(&path, "must not contain line breaks");
    }
    if field_path::find(path.text(), schema, true).is_err() {
        faults.invalid(&path, "must be a valid path");
    }
}
