//! Draft: an object that is being written.

use std::borrow::Cow;

use crate::defaults;
use crate::registry::{self, Resource};
use crate::size;
use crate::store::{Stored, Unversioned};
use serde_json::{Map, Value};
use watchkeeper_core::{Encoded, GroupVersionKind, Quoted, Status};
use watchkeeper_wire::transcode::{self, Types};
use watchkeeper_wire::{DecodeError, Kind};

/// An object that is being written: JSON without `apiVersion` and `kind`, in canonical form (`write.W4`).
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    fields: Map<String, Value>,
}

impl Draft {
    /// Decodes an object that a client has sent, and sets its defaults: 400 if it is not an object of the resource, 413 if
    /// it becomes too large.
    pub(crate) fn read(body: Value, resource: &Resource) -> Result<Self, Status> {
        let unfit = |why: &dyn std::fmt::Display| {
            Status::bad_request(format!(
                "{} in version {} cannot be handled as a {}: {why}",
                resource.kind,
                Quoted(&resource.version),
                resource.kind
            ))
        };
        let kind = Kind::new(&resource.group, &resource.version, &resource.kind);
        let value = match kind.message() {
            Some(_) => {
                let message = as_message(&body, &kind).map_err(|error| unfit(&error))?;
                size::check_request(message.body.len())?;
                let mut written = of_message(&message, &kind).map_err(|error| unfit(&error))?;
                resource.rules().restore_empty(&body, &mut written);
                written
            }
            None => with_normalized_metadata(body).map_err(|error| unfit(&error))?,
        };
        let Value::Object(fields) = value else { return Err(unfit(&"it is not an object")) };
        let mut draft = Self { fields };
        resource.rules().rename_to_storage(&mut draft.fields);
        draft.fields.remove("apiVersion");
        draft.fields.remove("kind");
        match draft.fields.get("metadata") {
            None | Some(Value::Null | Value::Object(_)) => {}
            Some(_) => return Err(unfit(&"its metadata is not an object")),
        }
        let metadata = draft.metadata_mut();
        metadata.retain(|name, value| {
            let is_empty = match value {
                Value::Null => true,
                Value::String(text) => text.is_empty(),
                Value::Array(items) => items.is_empty(),
                Value::Object(fields) => fields.is_empty(),
                Value::Bool(_) | Value::Number(_) => false,
            };
            !is_empty && name != "managedFields" && name != "selfLink"
        });
        defaults::apply(resource, &mut draft.fields);
        if let Some(custom) = &resource.custom {
            custom.complete(&mut draft.fields).map_err(|_| size::too_large())?;
        }
        resource.rules().convert_to_storage(&mut draft.fields);
        match storage_row(resource) {
            Some(row) => Self::read(draft.fields.into(), row),
            None => Ok(draft),
        }
    }

    /// Reads a stored object in the version of a resource.
    pub(crate) fn shown(stored: &Stored, resource: &Resource) -> Result<Self, Status> {
        let draft = Self::of(stored)?;
        let Some(custom) = &resource.custom else { return Ok(draft) };
        let mut value = Value::Object(draft.fields);
        custom.show(&mut value).map_err(Status::internal_error)?;
        match value {
            Value::Object(fields) => Ok(Self { fields }),
            _ => Err(Status::internal_error("the stored value is not an object")),
        }
    }

    /// Reads a stored object in its stored form.
    pub(crate) fn of(stored: &Stored) -> Result<Self, Status> {
        let fields = serde_json::from_slice(&stored.object().encoded.body).map_err(Status::internal_error)?;
        Ok(Self { fields })
    }

    /// Encodes it for the store: 400 if its metadata has the wrong types.
    pub(crate) fn unversioned(&self, resource: &Resource) -> Result<Unversioned, Status> {
        let mut fields = Cow::Borrowed(&self.fields);
        if let Some(custom) = &resource.custom {
            custom.store(fields.to_mut());
        }
        let body = serde_json::to_vec(&*fields).map_err(Status::internal_error)?;
        Unversioned::from_json(&body).map_err(|error| Status::bad_request(error.to_string()))
    }

    /// Returns the object with its type, in the version of a resource.
    pub(crate) fn typed(&self, resource: &Resource) -> Value {
        let mut fields = self.fields.clone();
        resource.rules().convert_from_storage(&mut fields);
        fields.insert("apiVersion".to_owned(), resource.group_version().to_string().into());
        fields.insert("kind".to_owned(), resource.kind.as_ref().into());
        Value::Object(fields)
    }

    /// Returns the fields of the object.
    pub fn fields(&self) -> &Map<String, Value> {
        &self.fields
    }

    /// Returns the fields of the object, to be changed.
    pub fn fields_mut(&mut self) -> &mut Map<String, Value> {
        &mut self.fields
    }

    /// Wraps a body that is not stored, such as a binding or a review.
    pub(crate) fn of_body(body: Value) -> Self {
        match body {
            Value::Object(fields) => Self { fields },
            _ => Self { fields: Map::new() },
        }
    }

    /// Unwraps the body.
    pub(crate) fn into_body(self) -> Value {
        Value::Object(self.fields)
    }

    /// Returns a string of the metadata; empty if absent.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.meta(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns a field of the metadata.
    pub(crate) fn meta(&self, name: &str) -> Option<&Value> {
        self.fields.get("metadata")?.get(name)
    }

    /// Sets or removes a field of the metadata.
    pub(crate) fn set_meta(&mut self, name: &str, value: Option<Value>) {
        set(self.metadata_mut(), name, value);
    }

    /// Returns `spec`, `status`, `data`, ...
    pub(crate) fn part(&self, name: &str) -> Option<&Value> {
        self.fields.get(name)
    }

    /// Sets or removes `spec`, `status`, `data`, ...
    pub(crate) fn set_part(&mut self, name: &str, value: Option<Value>) {
        set(&mut self.fields, name, value);
    }

    /// Sets or removes a field of `spec` or `status`.
    pub(crate) fn set_in(&mut self, part: &str, name: &str, value: Option<Value>) {
        if value.is_some() || self.fields.get(part).is_some_and(Value::is_object) {
            set(object_in(&mut self.fields, part), name, value);
        }
    }

    /// Returns `spec` or another part that is an object, and creates it if it is absent.
    pub(crate) fn part_mut(&mut self, name: &str) -> &mut Map<String, Value> {
        object_in(&mut self.fields, name)
    }

    /// Changes fields outside of the metadata.
    pub(crate) fn change(&mut self, change: impl FnOnce(&mut Map<String, Value>)) {
        change(&mut self.fields);
    }

    /// Sets a label or an annotation.
    pub(crate) fn set_pair(&mut self, name: &str, key: &str, value: &str) {
        object_in(self.metadata_mut(), name).insert(key.to_owned(), value.into());
    }

    /// Returns everything but the metadata and the status: what a generation counts.
    pub(crate) fn desired_state(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.fields.iter().filter(|(name, _)| !matches!(name.as_str(), "metadata" | "status"))
    }

    /// Returns everything but the metadata.
    pub(crate) fn content(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.fields.iter().filter(|(name, _)| *name != "metadata")
    }

    /// Replaces everything but the metadata and one part by the fields of another object.
    pub(crate) fn take_all_but(&mut self, part: &str, other: &Self) {
        self.fields.retain(|name, _| name == "metadata" || name == part);
        for (name, value) in &other.fields {
            if name != "metadata" && name != part {
                self.fields.insert(name.clone(), value.clone());
            }
        }
    }

    /// Returns the generation; 0 if the kind has none.
    pub(crate) fn generation(&self) -> i64 {
        self.meta("generation").and_then(Value::as_i64).unwrap_or_default()
    }

    /// Returns the finalizers of the metadata.
    pub(crate) fn finalizers(&self) -> Vec<&str> {
        texts(self.meta("finalizers"))
    }

    /// Returns the finalizers of the spec, which namespaces have.
    pub(crate) fn spec_finalizers(&self) -> Vec<&str> {
        texts(self.part("spec").and_then(|spec| spec.get("finalizers")))
    }

    /// Returns a list of the spec; empty if absent.
    pub(crate) fn spec_list(&self, name: &str) -> &[Value] {
        let list = self.part("spec").and_then(|spec| spec.get(name)?.as_array());
        list.map(Vec::as_slice).unwrap_or_default()
    }

    /// Appends to a list of the spec.
    pub(crate) fn push_to_spec(&mut self, name: &str, item: Value) {
        let items = self.part_mut("spec").entry(name).or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(items) = items {
            items.push(item);
        }
    }

    /// Returns whether the object is being deleted.
    pub(crate) fn is_being_deleted(&self) -> bool {
        self.meta("deletionTimestamp").is_some_and(|value| !value.is_null())
    }

    fn metadata_mut(&mut self) -> &mut Map<String, Value> {
        object_in(&mut self.fields, "metadata")
    }
}

fn texts(list: Option<&Value>) -> Vec<&str> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

fn set(fields: &mut Map<String, Value>, name: &str, value: Option<Value>) {
    match value {
        Some(value) => fields.insert(name.to_owned(), value),
        None => fields.remove(name),
    };
}

/// Returns the object at a path. Replaces anything else on the way.
pub(crate) fn nested<'a>(fields: &'a mut Map<String, Value>, path: &[&str]) -> &'a mut Map<String, Value> {
    path.iter().fold(fields, |fields, name| object_in(fields, name))
}

/// Returns the object under a name. Replaces anything else.
fn object_in<'a>(fields: &'a mut Map<String, Value>, name: &str) -> &'a mut Map<String, Value> {
    let slot = fields.entry(name).or_insert(Value::Null);
    if !slot.is_object() {
        *slot = Value::Object(Map::new());
    }
    slot.as_object_mut().expect("replaced by an object above")
}

/// Returns the row in whose version objects are stored, if it is another row.
fn storage_row(resource: &Resource) -> Option<&'static Resource> {
    let version = resource.rules().storage_version()?;
    registry::builtin().get(&resource.group, version, &resource.name).map(|row| &**row)
}

/// Returns an object of a kind without any fields set, with its type.
pub(crate) fn empty_object(kind: &GroupVersionKind) -> Value {
    let mut empty = normalized(&serde_json::json!({}), &kind.clone().into())
        .ok()
        .filter(Value::is_object)
        .unwrap_or_else(|| serde_json::json!({}));
    empty["apiVersion"] = kind.group_version().to_string().into();
    empty["kind"] = kind.kind.as_str().into();
    empty
}

/// Returns the empty status of a kind; `None` if it is omitted.
pub(crate) fn empty_status(resource: &Resource) -> Option<Value> {
    let resource = storage_row(resource).unwrap_or(resource);
    let kind = Kind::new(&resource.group, &resource.version, &resource.kind);
    kind.message()?;
    normalized(&serde_json::json!({"status": {}}), &kind).ok()?.get("status").cloned()
}

/// Normalizes the metadata of an object of an unknown kind.
fn with_normalized_metadata(mut body: Value) -> Result<Value, DecodeError> {
    if let Some(metadata) = body.get_mut("metadata").filter(|metadata| metadata.is_object()) {
        let kind = Kind::new("meta.k8s.io", "v1", "PartialObjectMetadata");
        let mut written = normalized(&serde_json::json!({"metadata": metadata.take()}), &kind)?;
        *metadata = written["metadata"].take();
    }
    Ok(body)
}

/// Normalizes an object to the form in which Go writes it, by encoding it to protobuf and back.
fn normalized(body: &Value, kind: &Kind) -> Result<Value, DecodeError> {
    of_message(&as_message(body, kind)?, kind)
}

fn as_message(body: &Value, kind: &Kind) -> Result<Encoded, DecodeError> {
    let json = Encoded::json(body.to_string().into_bytes());
    Ok(Encoded::protobuf(transcode::to_protobuf(&json, kind)?))
}

fn of_message(message: &Encoded, kind: &Kind) -> Result<Value, DecodeError> {
    let mut written = Vec::new();
    transcode::to_json(message, kind, Types::Omitted, &mut written)?;
    serde_json::from_slice(&written).map_err(DecodeError::Json)
}
