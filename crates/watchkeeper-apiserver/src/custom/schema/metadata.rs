//! Metadata of embedded objects: pruning and validation.

use std::sync::LazyLock;

use serde_json::{Map, Value};
use watchkeeper_core::{Quoted, StatusCause};
use watchkeeper_wire::schema::{Form, Message, Omit, Shape, builtin};

use super::dropped::Dropped;
use super::list::printed;
use super::node::Node;
use crate::http::FINDING_PATH_BYTES;
use crate::http::go_text::beginning;
use crate::validate::faults::Faults;
use crate::validate::field::Field;
use crate::validate::metadata;
use crate::validate::syntax::label_1035;

/// The schema of `ObjectMeta`.
static OBJECT_META: LazyLock<Option<&'static Message>> = LazyLock::new(|| {
    let field = builtin().message("", "v1", "Pod")?.field("metadata")?;
    match field.form() {
        Form::Message(id) => Some(builtin().get(id)),
        _ => None,
    }
});

/// Drops unknown fields from the metadata of an object, and returns their paths.
pub(super) fn prune(object: &mut Value) -> Vec<String> {
    let mut dropped = Dropped::default();
    prune_into(object, "", &mut dropped);
    dropped.into_sorted()
}

/// Drops unknown fields from the metadata of the object at a path.
pub(super) fn prune_into(object: &mut Value, path: &str, dropped: &mut Dropped) {
    let path = match beginning(path, FINDING_PATH_BYTES) {
        "" => "metadata".to_owned(),
        path => format!("{path}.metadata"),
    };
    if let (Some(message), Some(Value::Object(fields))) = (*OBJECT_META, object.get_mut("metadata")) {
        prune_message(message, &path, fields, dropped);
    }
}

fn prune_message(message: &Message, path: &str, fields: &mut Map<String, Value>, dropped: &mut Dropped) {
    fields.retain(|key, value| {
        let Some(field) = message.field(key) else {
            dropped.add_field(path, key);
            return false;
        };
        if let (Form::Message(id), Shape::List, Value::Array(items)) =
            (field.form(), field.shape(), &mut *value)
        {
            for (at, item) in items.iter_mut().enumerate() {
                if let Value::Object(item) = item {
                    prune_message(builtin().get(id), &format!("{path}.{key}[{at}]"), item, dropped);
                }
            }
        }
        field.omit() == Omit::Never || !is_zero(value)
    });
}

/// Returns whether Go omits the value in an `omitempty` field.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(true) => false,
    }
}

/// Returns what is wrong with the objects embedded in an object, and with the object itself if it is embedded.
pub(super) fn embedded(node: &Node, is_embedded: bool, path: &str, object: &Value) -> Vec<StatusCause> {
    let mut faults = Faults::default();
    walk(node, is_embedded, &Field::at(path, object), &mut faults);
    faults.into_causes()
}

fn walk(node: &Node, is_embedded: bool, at: &Field<'_>, faults: &mut Faults) {
    match at.value() {
        Value::Object(fields) => {
            if is_embedded {
                check(at, faults);
            }
            for key in fields.keys() {
                let Some(child) = node.child(key) else { continue };
                let place = if node.properties.contains_key(key) { at.child(key) } else { at.key(key) };
                walk(child, child.is_embedded, &place, faults);
            }
        }
        Value::Array(items) => {
            let Some(child) = &node.items else { return };
            for index in 0..items.len() {
                walk(child, child.is_embedded, &at.index(index), faults);
            }
        }
        _ => {}
    }
}

fn check(at: &Field<'_>, faults: &mut Faults) {
    let has = |name: &str| at.value().get(name).is_some();
    for name in ["apiVersion", "kind"] {
        if !has(name) {
            faults.required(&at.child(name), "");
        }
    }
    for name in ["apiVersion", "kind"] {
        let field = at.child(name);
        match field.value() {
            _ if !has(name) => {}
            Value::String(text) if text.is_empty() => faults.invalid(&field, "must not be empty"),
            Value::String(text) => match name {
                "apiVersion" if text.matches('/').count() > 1 => {
                    faults.invalid(&field, &format!("unexpected GroupVersion string: {text}"));
                }
                "kind" => {
                    let why = label_1035(&text.to_lowercase()).join(",");
                    if !why.is_empty() {
                        let why = format!("may have mixed case, but should otherwise match: {why}");
                        faults.invalid_value(&field, Quoted(text), &why);
                    }
                }
                _ => {}
            },
            value => faults.invalid_value(&field, printed(value), "must be a string"),
        }
    }
    if has("metadata") {
        metadata::embedded(&at.child("metadata"), faults);
    }
}
