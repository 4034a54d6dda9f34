//! Metadata, conditions, owners.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use watchkeeper_controller::events::Reference;
use watchkeeper_core::{ObjectKey, Timestamp};

use crate::resource::Resource;

/// The metadata of any object.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Meta {
    pub(crate) name: String,
    pub(crate) namespace: String,
    pub(crate) uid: String,
    pub(crate) resource_version: String,
    pub(crate) generation: i64,
    pub(crate) creation_timestamp: Option<String>,
    pub(crate) deletion_timestamp: Option<String>,
    pub(crate) deletion_grace_period_seconds: Option<i64>,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) annotations: BTreeMap<String, String>,
    pub(crate) owner_references: Vec<OwnerReference>,
    pub(crate) finalizers: Vec<String>,
}

impl Meta {
    pub(crate) fn key(&self) -> ObjectKey {
        match self.namespace.as_str() {
            "" => ObjectKey::cluster(&self.name),
            namespace => ObjectKey::namespaced(namespace, &self.name),
        }
    }

    /// Returns whether deletion has been requested.
    pub(crate) fn is_terminating(&self) -> bool {
        self.deletion_timestamp.is_some()
    }

    /// Returns when it was created.
    pub(crate) fn created(&self) -> Option<Timestamp> {
        self.creation_timestamp.as_deref()?.parse().ok()
    }

    /// Returns the controlling owner.
    pub(crate) fn controller(&self) -> Option<&OwnerReference> {
        self.owner_references.iter().find(|owner| owner.controller == Some(true))
    }

    /// Returns a reference for events about this object.
    pub(crate) fn reference(&self, resource: Resource) -> Reference {
        Reference {
            api_version: resource.api_version(),
            kind: resource.kind.to_owned(),
            namespace: self.namespace.clone(),
            name: self.name.clone(),
            uid: self.uid.clone(),
            resource_version: self.resource_version.clone(),
            field_path: String::new(),
        }
    }

    /// Returns the owner reference that makes this object the controller of another.
    pub(crate) fn as_controller(&self, resource: Resource) -> Value {
        json!({
            "apiVersion": resource.api_version(),
            "kind": resource.kind,
            "name": self.name,
            "uid": self.uid,
            "controller": true,
            "blockOwnerDeletion": true,
        })
    }
}

/// A reference to an owner.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct OwnerReference {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) uid: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) controller: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) block_owner_deletion: Option<bool>,
}

/// One condition of an object's status.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Condition {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// `True`, `False` or `Unknown`.
    pub(crate) status: String,
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) last_transition_time: Option<String>,
}

impl Condition {
    pub(crate) fn is_true(&self) -> bool {
        self.status == "True"
    }
}
