//! Views: the representation of stored objects in a resource.
//!
//! Several resources can share a collection. One of them uses the stored bytes unchanged; the others may have other
//! names for the same fields.

use std::sync::Arc;

use crate::custom::CustomKind;
use crate::registry::{Registry, Resource, Rules};
use crate::store::Stored;
use serde_json::Value;
use watchkeeper_core::Status;

use super::events::{EVENTS_GROUP, new_event};

/// The representation of stored objects in a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum View {
    /// Unchanged. Encodings are shared by all watchers.
    Own,
    /// Unchanged, under another version.
    Other,
    /// An event with the names of `events.k8s.io`.
    NewEvent,
    /// Converted to another version by the rules of the kind.
    Converted(Rules),
    /// A custom object in the schema of this kind, which may differ from the one it was written with.
    Custom(Arc<CustomKind>),
}

impl View {
    /// Returns the view of a resource: the first row of a collection owns it.
    pub fn of(registry: &Registry, resource: &Arc<Resource>) -> Self {
        if let Some(custom) = &resource.custom {
            return if custom.is_verbatim() { Self::Own } else { Self::Custom(custom.clone()) };
        }
        let owner = registry.iter().find(|row| row.storage.is_some() && row.storage == resource.storage);
        match owner {
            Some(owner) if !Arc::ptr_eq(owner, resource) => match &*resource.group {
                EVENTS_GROUP => Self::NewEvent,
                _ if resource.rules().storage_version().is_some() => Self::Converted(resource.rules),
                _ => Self::Other,
            },
            _ => Self::Own,
        }
    }

    /// Returns whether bodies are used unchanged.
    pub fn is_verbatim(&self) -> bool {
        matches!(self, Self::Own | Self::Other)
    }

    /// Returns a stored object in this view, without `apiVersion` and `kind`.
    ///
    /// # Errors
    /// Returns 500 if the stored object is not JSON, which only a broken store can cause, and the errors of
    /// [`shown`](Self::shown).
    pub fn value(&self, stored: &Stored) -> Result<Value, Status> {
        let value: Value =
            serde_json::from_slice(&stored.object().encoded.body).map_err(Status::internal_error)?;
        self.shown(value)
    }

    /// Converts an object from its stored representation to this view.
    ///
    /// # Errors
    /// Returns 500 if defaults added to the definition since the object was stored make it too large.
    pub fn shown(&self, value: Value) -> Result<Value, Status> {
        Ok(match self {
            Self::Own | Self::Other => value,
            Self::NewEvent => new_event(value),
            Self::Custom(kind) => {
                let mut value = value;
                kind.show(&mut value).map_err(Status::internal_error)?;
                value
            }
            Self::Converted(rules) => {
                let mut value = value;
                if let Value::Object(fields) = &mut value {
                    rules.get().convert_from_storage(fields);
                }
                value
            }
        })
    }
}
