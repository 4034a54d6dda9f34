//! Definition: the fields of a CustomResourceDefinition that serving it needs.

use serde::Deserialize;
use serde_json::Value;
use watchkeeper_print::PrinterColumn;

/// A definition as it is stored.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Definition {
    pub(super) metadata: Metadata,
    pub(super) spec: Spec,
    #[serde(default)]
    pub(super) status: Status,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Metadata {
    #[serde(default)]
    pub(super) uid: String,
    #[serde(default)]
    pub(super) generation: i64,
    pub(super) deletion_timestamp: Option<String>,
    #[serde(default)]
    pub(super) finalizers: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Spec {
    pub(super) group: String,
    pub(super) names: Names,
    pub(super) scope: String,
    pub(super) versions: Vec<Version>,
    #[serde(default)]
    pub(super) preserve_unknown_fields: bool,
}

/// The names of a resource and its kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Names {
    pub(super) plural: String,
    pub(super) singular: String,
    pub(super) short_names: Vec<String>,
    pub(super) kind: String,
    pub(super) list_kind: String,
    pub(super) categories: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Version {
    pub(super) name: String,
    pub(super) served: bool,
    pub(super) storage: bool,
    #[serde(default)]
    pub(super) deprecated: bool,
    pub(super) deprecation_warning: Option<String>,
    pub(super) schema: Option<Validation>,
    pub(super) subresources: Option<Subresources>,
    #[serde(default)]
    pub(super) additional_printer_columns: Vec<PrinterColumn>,
    #[serde(default)]
    pub(super) selectable_fields: Vec<SelectablePath>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Validation {
    #[serde(rename = "openAPIV3Schema", default)]
    pub(super) open_api: Value,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Subresources {
    pub(super) status: Option<Value>,
    pub(super) scale: Option<Scale>,
}

/// The paths of the fields that make up a scale.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Scale {
    #[serde(default)]
    pub(super) spec_replicas_path: String,
    #[serde(default)]
    pub(super) status_replicas_path: String,
    #[serde(default)]
    pub(super) label_selector_path: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SelectablePath {
    #[serde(default)]
    pub(super) json_path: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Status {
    pub(super) conditions: Option<Vec<Condition>>,
    pub(super) accepted_names: Names,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Condition {
    #[serde(rename = "type")]
    pub(super) name: String,
    pub(super) status: String,
    #[serde(default)]
    pub(super) reason: String,
    #[serde(default)]
    pub(super) message: String,
}

impl Definition {
    pub(super) fn condition(&self, name: &str) -> Option<&Condition> {
        self.status.conditions.iter().flatten().find(|condition| condition.name == name)
    }

    pub(super) fn is(&self, condition: &str) -> bool {
        self.condition(condition).is_some_and(|condition| condition.status == "True")
    }

    /// Returns whether it is being deleted: objects of its kind cannot be created.
    pub(super) fn is_terminating(&self) -> bool {
        self.metadata.deletion_timestamp.is_some() || self.is("Terminating")
    }

    /// Returns whether its objects have to be deleted before it.
    pub(super) fn awaits_cleanup(&self) -> bool {
        self.metadata.deletion_timestamp.is_some() && self.metadata.finalizers.iter().any(|it| it == CLEANUP)
    }
}

/// The finalizer that keeps a definition until its objects are gone.
pub(crate) const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";
