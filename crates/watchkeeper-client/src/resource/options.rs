//! Options of requests.

use serde_json::{Value, json};
use watchkeeper_core::{FieldSelector, LabelSelector, ListRequest};

use crate::rest::Request;

/// Options of lists and watches.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ListOptions {
    /// Selects by labels.
    pub labels: LabelSelector,
    /// Selects by fields.
    pub fields: FieldSelector,
    /// Resource version, page and limit.
    pub request: ListRequest,
}

impl ListOptions {
    pub(super) fn add_to(&self, request: Request) -> Request {
        request.params(self.request.query()).selecting(&self.labels, &self.fields)
    }
}

/// Options of writes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// Whether to validate the request without persisting it.
    pub dry_run: bool,
    /// The field manager; by default the server derives it from the user agent.
    pub field_manager: Option<String>,
    /// How the server handles unknown fields: `Strict` (reject), `Warn` or `Ignore` (drop); its own default if not set.
    pub field_validation: Option<String>,
}

impl WriteOptions {
    pub(super) fn add_to(&self, mut request: Request) -> Request {
        if self.dry_run {
            request = request.param("dryRun", "All");
        }
        for (name, value) in
            [("fieldManager", &self.field_manager), ("fieldValidation", &self.field_validation)]
        {
            if let Some(value) = value {
                request = request.param(name, value);
            }
        }
        request
    }
}

/// Options of server-side apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApplyOptions {
    /// The field manager, which owns the applied fields.
    pub field_manager: String,
    /// Whether to take over fields owned by other managers.
    pub force: bool,
    /// Whether to validate the request without persisting it.
    pub dry_run: bool,
}

/// What to do with the dependents of a deleted object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Propagation {
    /// Delete them afterwards.
    Background,
    /// Delete them first.
    Foreground,
    /// Keep them.
    Orphan,
}

/// Options of deletions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeleteOptions {
    /// Grace period in seconds; the kind's default if not set.
    pub grace_period_seconds: Option<i64>,
    /// What to do with dependents; the kind's default if not set.
    pub propagation: Option<Propagation>,
    /// Precondition: the UID of the object.
    pub uid: Option<String>,
    /// Precondition: the resource version of the object.
    pub resource_version: Option<String>,
    /// Whether to validate the request without persisting it.
    pub dry_run: bool,
}

impl DeleteOptions {
    pub(super) fn body(&self) -> Value {
        let mut body = json!({"kind": "DeleteOptions", "apiVersion": "v1"});
        if let Some(seconds) = self.grace_period_seconds {
            body["gracePeriodSeconds"] = seconds.into();
        }
        if let Some(propagation) = self.propagation {
            body["propagationPolicy"] = format!("{propagation:?}").into();
        }
        for (name, value) in [("uid", &self.uid), ("resourceVersion", &self.resource_version)] {
            if let Some(value) = value {
                body["preconditions"][name] = value.as_str().into();
            }
        }
        if self.dry_run {
            body["dryRun"] = json!(["All"]);
        }
        body
    }
}
