//! View: how a resource shows what is stored.
//!
//! Several resources can share a collection. One of them shows the stored bytes as they are; the
//! others may have other names for the same fields.

use std::sync::Arc;

use crate::convert::{is_old_autoscaler, show_autoscaler};
use crate::custom::CustomKind;
use crate::registry::{Registry, Resource};
use crate::store::Stored;
use serde_json::Value;
use watchkeeper_core::Status;

use super::events::{EVENTS_GROUP, new_event};

/// How a resource shows what is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum View {
    /// As it is. What is encoded for one watcher serves all.
    Own,
    /// As it is, under another version.
    Other,
    /// An event by the names of `events.k8s.io`.
    NewEvent,
    /// An autoscaler as version 1 has it.
    OldAutoscaler,
    /// As the schema of a custom kind has it, which may be another than that by which it was written.
    Custom(Arc<CustomKind>),
}

impl View {
    /// The view of a resource: the first row of a collection owns it.
    pub fn of(registry: &Registry, resource: &Arc<Resource>) -> Self {
        if let Some(custom) = &resource.custom {
            return if custom.is_verbatim() { Self::Own } else { Self::Custom(custom.clone()) };
        }
        let owner = registry.iter().find(|row| row.storage.is_some() && row.storage == resource.storage);
        match owner {
            Some(owner) if !Arc::ptr_eq(owner, resource) => match &*resource.group {
                EVENTS_GROUP => Self::NewEvent,
                _ if is_old_autoscaler(resource) => Self::OldAutoscaler,
                _ => Self::Other,
            },
            _ => Self::Own,
        }
    }

    /// Whether bodies are shown byte for byte.
    pub fn is_verbatim(&self) -> bool {
        matches!(self, Self::Own | Self::Other)
    }

    /// A stored object as this view shows it, without `apiVersion` and `kind`.
    ///
    /// # Errors
    /// 500 where what is stored is not JSON, which only a broken store can cause, and as of [`shown`](Self::shown).
    pub fn value(&self, stored: &Stored) -> Result<Value, Status> {
        let value: Value =
            serde_json::from_slice(&stored.object().encoded.body).map_err(Status::internal_error)?;
        self.shown(value)
    }

    /// An object in the form of the store as this view shows it.
    ///
    /// # Errors
    /// 500 where a definition has got defaults since the object was stored that make it too large to be shown.
    pub fn shown(&self, value: Value) -> Result<Value, Status> {
        Ok(match self {
            Self::Own | Self::Other => value,
            Self::NewEvent => new_event(value),
            Self::Custom(kind) => {
                let mut value = value;
                kind.show(&mut value).map_err(Status::internal_error)?;
                value
            }
            Self::OldAutoscaler => {
                let mut value = value;
                if let Value::Object(fields) = &mut value {
                    show_autoscaler(fields);
                }
                value
            }
        })
    }
}
