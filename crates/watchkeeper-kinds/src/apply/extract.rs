//! Extracts the fields that a manager has applied.
//!
//! Input: an object with `managedFields`.
//! Output: an apply configuration to modify and apply again.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use watchkeeper_core::ObjectKey;

/// An error from extracting the fields of a manager.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExtractError {
    /// The object has no `managedFields`.
    #[error(
        "{object} has no managedFields, which caches prune by default; get the object from the server, or keep \
         them in the cache"
    )]
    NoManagedFields {
        /// The key of the object.
        object: String,
    },
    /// The `fieldsV1` of the manager are invalid.
    #[error("invalid field name {0:?} in managedFields")]
    Field(String),
    /// The object or the extracted fields do not match their type.
    #[error("object does not match its type")]
    Type(#[from] serde_json::Error),
}

pub(super) fn extract<A: DeserializeOwned>(
    object: &impl Serialize,
    manager: &str,
    subresource: &str,
) -> Result<A, ExtractError> {
    let mut object = serde_json::to_value(object)?;
    if object["metadata"]["managedFields"].as_array().is_none_or(Vec::is_empty) {
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
        let key = ObjectKey::namespaced(text("namespace"), text("name"));
        return Err(ExtractError::NoManagedFields { object: key.to_string() });
    }
    let owned = match fields_of(&object, manager, subresource) {
        Some(fields) => owned(&object, &Owned::read(fields)?),
        None => None,
    };
    let mut extracted = match owned {
        Some(Value::Object(extracted)) => extracted,
        _ => Map::new(),
    };
    for key in ["apiVersion", "kind"] {
        if let Some(value) = object.get_mut(key) {
            extracted.insert(key.to_owned(), value.take());
        }
    }
    let metadata = extracted.entry("metadata").or_insert_with(|| Map::new().into());
    for key in ["name", "namespace"] {
        if let Some(value) = object["metadata"].get_mut(key) {
            metadata[key] = value.take();
        }
    }
    Ok(serde_json::from_value(extracted.into())?)
}

/// Returns the `fieldsV1` of a manager's apply operation.
fn fields_of<'a>(object: &'a Value, manager: &str, subresource: &str) -> Option<&'a Map<String, Value>> {
    let entries = object["metadata"]["managedFields"].as_array()?;
    let entry = entries.iter().find(|entry| {
        entry["manager"] == manager
            && entry["operation"] == "Apply"
            && entry["subresource"].as_str().unwrap_or_default() == subresource
    })?;
    entry["fieldsV1"].as_object().filter(|fields| !fields.is_empty())
}

/// The fields of a struct, map or list that a manager owns.
#[derive(Debug, Default)]
struct Owned<'a> {
    parts: Vec<(Part<'a>, Owned<'a>)>,
}

/// A field or element.
#[derive(Debug)]
enum Part<'a> {
    /// The field of this name.
    Field(&'a str),
    /// The element with these key fields.
    Keyed(Map<String, Value>),
    /// The element with this value.
    Value(Value),
    /// The element at this index.
    Index(usize),
}

impl<'a> Owned<'a> {
    fn read(fields: &'a Map<String, Value>) -> Result<Self, ExtractError> {
        let mut parts = Vec::new();
        for (name, inner) in fields.iter().filter(|(name, _)| *name != ".") {
            let unknown = || ExtractError::Field(name.clone());
            let part = match name.split_once(':').ok_or_else(unknown)? {
                ("f", field) => Part::Field(field),
                ("k", key) => Part::Keyed(serde_json::from_str(key).map_err(|_| unknown())?),
                ("v", value) => Part::Value(serde_json::from_str(value).map_err(|_| unknown())?),
                ("i", index) => Part::Index(index.parse().map_err(|_| unknown())?),
                _ => return Err(unknown()),
            };
            parts.push((part, Self::read(inner.as_object().ok_or_else(unknown)?)?));
        }
        Ok(Self { parts })
    }

    fn field(&self, name: &str) -> Option<&Self> {
        let is_it = |part: &Part<'_>| matches!(part, Part::Field(field) if *field == name);
        self.parts.iter().find(|(part, _)| is_it(part)).map(|(_, inner)| inner)
    }

    fn element(&self, position: usize, element: &Value) -> Option<&Self> {
        let is_it = |part: &Part<'_>| match part {
            Part::Field(_) => false,
            Part::Keyed(key) => key.iter().all(|(name, value)| element.get(name) == Some(value)),
            Part::Value(value) => value == element,
            Part::Index(index) => *index == position,
        };
        self.parts.iter().find(|(part, _)| is_it(part)).map(|(_, inner)| inner)
    }
}

/// Returns the owned parts of a value, or the whole value if no parts are listed.
fn owned(value: &Value, fields: &Owned<'_>) -> Option<Value> {
    if fields.parts.is_empty() {
        return Some(value.clone());
    }
    match value {
        Value::Object(members) if !members.is_empty() => {
            let of =
                |(name, member): (&String, &Value)| Some((name.clone(), owned(member, fields.field(name)?)?));
            let members: Map<String, Value> = members.iter().filter_map(of).collect();
            (!members.is_empty()).then_some(Value::Object(members))
        }
        Value::Array(elements) if !elements.is_empty() => {
            let of = |(place, element)| owned(element, fields.element(place, element)?);
            let elements: Vec<Value> = elements.iter().enumerate().filter_map(of).collect();
            (!elements.is_empty()).then_some(Value::Array(elements))
        }
        _ => Some(value.clone()),
    }
}
