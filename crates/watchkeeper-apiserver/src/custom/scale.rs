//! Scale: the `scale` subresource of a custom kind.

use serde_json::{Map, Value, json};
use watchkeeper_core::{CauseType, StatusCause};

use super::definition::Scale;
use crate::patch::{go_text, go_type};

/// The paths of the replicas of a custom kind.
#[derive(Debug)]
pub(crate) struct ReplicaPaths {
    /// `.spec.replicas`.
    wanted: String,
    there: String,
    /// Empty if the definition has no selector path.
    selector: String,
}

impl ReplicaPaths {
    pub(super) fn new(scale: &Scale) -> Self {
        Self {
            wanted: scale.spec_replicas_path.clone(),
            there: scale.status_replicas_path.clone(),
            selector: scale.label_selector_path.clone(),
        }
    }

    /// Returns the path of `spec.replicas`, as written in the definition.
    pub(crate) fn wanted_path(&self) -> &str {
        &self.wanted
    }

    /// Returns the field names on the path of `spec.replicas`.
    pub(crate) fn wanted_names(&self) -> Vec<&str> {
        names(&self.wanted).collect()
    }

    /// Returns the desired replicas if the object sets them, or kube-apiserver's message if they are not a number.
    pub(crate) fn wanted(&self, object: &Value) -> Result<Option<i64>, String> {
        number(object, &self.wanted)
    }

    /// Returns the status of the scale.
    pub(crate) fn status(&self, object: &Value) -> Result<Value, String> {
        let mut status = json!({"replicas": number(object, &self.there)?.unwrap_or_default()});
        let selector = text(object, &self.selector)?.unwrap_or_default();
        if !selector.is_empty() {
            status["selector"] = selector.into();
        }
        Ok(status)
    }

    /// Sets the desired replicas.
    pub(crate) fn set_wanted(&self, fields: &mut Map<String, Value>, replicas: i64) {
        let names: Vec<&str> = names(&self.wanted).collect();
        let Some((last, parents)) = names.split_last() else { return };
        let mut at = fields;
        for name in parents {
            let slot = at.entry(*name).or_insert_with(|| json!({}));
            if !slot.is_object() {
                *slot = json!({});
            }
            let Value::Object(inner) = slot else { return };
            at = inner;
        }
        at.insert((*last).to_owned(), replicas.into());
    }

    /// Returns what is wrong with the replicas of an object.
    pub(super) fn faults(&self, object: &Value) -> Vec<StatusCause> {
        let mut causes: Vec<StatusCause> = amount_fault(object, &self.wanted).into_iter().collect();
        causes.extend(self.status_faults(object));
        causes
    }

    /// Returns what is wrong with the replicas in its status.
    pub(super) fn status_faults(&self, object: &Value) -> Vec<StatusCause> {
        let mut causes: Vec<StatusCause> = amount_fault(object, &self.there).into_iter().collect();
        if let Err(why) = text(object, &self.selector) {
            causes.push(invalid(&self.selector, "\"\"", &why));
        }
        causes
    }
}

fn amount_fault(object: &Value, path: &str) -> Option<StatusCause> {
    let (shown, why) = match number(object, path) {
        Err(why) => (0, why),
        Ok(Some(number)) if number < 0 => (number, "should be a non-negative integer".to_owned()),
        Ok(Some(number)) if number > i64::from(i32::MAX) => {
            (number, format!("should be less than or equal to {}", i32::MAX))
        }
        Ok(_) => return None,
    };
    Some(invalid(path, &shown.to_string(), &why))
}

fn invalid(path: &str, value: &str, why: &str) -> StatusCause {
    StatusCause {
        cause: CauseType::FieldValueInvalid,
        field: path.to_owned(),
        message: format!("Invalid value: {value}: {why}"),
    }
}

fn names(path: &str) -> impl Iterator<Item = &str> {
    path.strip_prefix('.').unwrap_or(path).split('.')
}

/// Returns the value at a path, or kube-apiserver's message if something on the path is not an object.
fn at<'a>(object: &'a Value, path: &str) -> Result<Option<&'a Value>, String> {
    let mut value = object;
    let mut passed = String::new();
    for name in names(path) {
        let Value::Object(fields) = value else {
            return Err(unlike(&passed, value, "map[string]interface {}"));
        };
        passed = format!("{passed}.{name}");
        match fields.get(name) {
            Some(inner) => value = inner,
            None => return Ok(None),
        }
    }
    Ok(Some(value))
}

fn number(object: &Value, path: &str) -> Result<Option<i64>, String> {
    match at(object, path)? {
        None => Ok(None),
        Some(value) => value.as_i64().map(Some).ok_or_else(|| unlike(&dotted(path), value, "int64")),
    }
}

fn text<'a>(object: &'a Value, path: &str) -> Result<Option<&'a str>, String> {
    if path.is_empty() {
        return Ok(None);
    }
    match at(object, path)? {
        None => Ok(None),
        Some(value) => value.as_str().map(Some).ok_or_else(|| unlike(&dotted(path), value, "string")),
    }
}

fn dotted(path: &str) -> String {
    names(path).map(|name| format!(".{name}")).collect()
}

fn unlike(path: &str, value: &Value, expected: &str) -> String {
    let (shown, found) = (go_text(value), go_type(value));
    format!("{path} accessor error: {shown} is of the type {found}, expected {expected}")
}
