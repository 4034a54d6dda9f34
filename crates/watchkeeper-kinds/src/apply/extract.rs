//! Extract: what of an object a manager has applied.
//!
//! From: an object with the `managedFields` that the server keeps.
//! To:   whoever changes what it applied and applies it again.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use watchkeeper_core::ObjectKey;

/// Why the fields that a manager has applied cannot be extracted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExtractError {
    /// The object has no `managedFields`, so that nobody knows who owns which fields.
    #[error(
        "{object} has no managedFields: caches cut them out by default; get the object from the server, or keep \
         them in the cache"
    )]
    NoManagedFields {
        /// The key of the object.
        object: String,
    },
    /// The fields of the manager are not what a server writes.
    #[error("no field is named {0:?}")]
    Field(String),
    /// The object, or what was extracted, cannot be written or read as its type.
    #[error("the object does not fit its type")]
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

/// What the server keeps of a manager that applies.
fn fields_of<'a>(object: &'a Value, manager: &str, subresource: &str) -> Option<&'a Map<String, Value>> {
    let entries = object["metadata"]["managedFields"].as_array()?;
    let entry = entries.iter().find(|entry| {
        entry["manager"] == manager
            && entry["operation"] == "Apply"
            && entry["subresource"].as_str().unwrap_or_default() == subresource
    })?;
    entry["fieldsV1"].as_object().filter(|fields| !fields.is_empty())
}

/// The fields of a struct, a map or a list that are a manager's.
#[derive(Debug, Default)]
struct Owned<'a> {
    parts: Vec<(Part<'a>, Owned<'a>)>,
}

/// Which field or element.
#[derive(Debug)]
enum Part<'a> {
    /// That of this name.
    Field(&'a str),
    /// The element that has these fields.
    Keyed(Map<String, Value>),
    /// The element that is this one.
    Value(Value),
    /// The element at this place.
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

    fn element(&self, place: usize, element: &Value) -> Option<&Self> {
        let is_it = |part: &Part<'_>| match part {
            Part::Field(_) => false,
            Part::Keyed(key) => key.iter().all(|(name, value)| element.get(name) == Some(value)),
            Part::Value(value) => value == element,
            Part::Index(index) => *index == place,
        };
        self.parts.iter().find(|(part, _)| is_it(part)).map(|(_, inner)| inner)
    }
}

/// The owned parts of a value; all of it if none are named.
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
