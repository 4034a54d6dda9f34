//! What can be said besides the object.

use serde_json::{Value, json};
use watchkeeper_core::{FieldSelector, LabelSelector, ListRequest};

use crate::rest::Request;

/// Which objects, and which state of them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ListOptions {
    /// Only those with such labels.
    pub labels: LabelSelector,
    /// Only those with such fields.
    pub fields: FieldSelector,
    /// Which state, which page, and how many at once.
    pub request: ListRequest,
}

impl ListOptions {
    pub(super) fn add_to(&self, request: Request) -> Request {
        request.params(self.request.query()).selecting(&self.labels, &self.fields)
    }
}

/// How an object is written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// Whether nothing is written in the end.
    pub dry_run: bool,
    /// Who writes; by default the server takes it from the user agent.
    pub field_manager: Option<String>,
    /// Whether fields that the server does not know are refused (`Strict`), warned of (`Warn`) or dropped
    /// (`Ignore`); the server's choice by default.
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

/// How an object is applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApplyOptions {
    /// Who applies: the server remembers whose which field is.
    pub field_manager: String,
    /// Whether fields of others are taken over.
    pub force: bool,
    /// Whether nothing is written in the end.
    pub dry_run: bool,
}

/// What becomes of the objects that an object owns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Propagation {
    /// They go after it.
    Background,
    /// They go before it.
    Foreground,
    /// They stay.
    Orphan,
}

/// How an object is deleted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeleteOptions {
    /// How long it may take to end; the kind's own time by default.
    pub grace_period_seconds: Option<i64>,
    /// What becomes of the objects that it owns; the kind's own rule by default.
    pub propagation: Option<Propagation>,
    /// Only if it is this one.
    pub uid: Option<String>,
    /// Only in this version.
    pub resource_version: Option<String>,
    /// Whether nothing is deleted in the end.
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
