//! Custom kind: one version of a kind, as its definition describes it.
//!
//! Input: [`rows`](super::rows), which reads definitions.
//! Output: readers, writers and printers of the resource, through its row in the registry.
//!
//! ```text
//! sent -> prune -> defaults -> validate -> prune by the storage version -> stored
//! stored -> defaults of the storage version -> prune -> served
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;
use watchkeeper_core::StatusCause;
use watchkeeper_print::Columns;

use crate::apply::DefinedTypes;

use super::ReplicaPaths;
use super::schema::Schema;
use crate::size::DefaultsTooLarge;

/// One version of a kind, as its definition describes it.
#[derive(Debug)]
pub struct CustomKind {
    pub(super) own: Arc<Schema>,
    /// The schema of the storage version.
    pub(super) stored: Arc<Schema>,
    /// Whether stored objects are served byte for byte: the schema has never changed.
    pub(super) is_verbatim: bool,
    pub(super) list_kind: String,
    pub(super) columns: Columns,
    pub(super) replicas: Option<ReplicaPaths>,
    pub(super) deprecation: Option<String>,
    /// The schema as it stands in the definition, for OpenAPI documents.
    pub(super) open_api: Value,
    /// Merge semantics of the fields of all versions.
    pub(super) types: Arc<DefinedTypes>,
    pub(super) life: Arc<Life>,
}

/// The lifetime of a served definition.
#[derive(Debug, Default)]
pub(super) struct Life {
    /// Cancelled when the definition is changed or removed.
    pub(super) gone: CancellationToken,
    pub(super) terminating: AtomicBool,
}

impl CustomKind {
    /// Returns the kind of its lists: `WidgetList`.
    pub fn list_kind(&self) -> &str {
        &self.list_kind
    }

    /// Returns its printer columns.
    pub fn columns(&self) -> &Columns {
        &self.columns
    }

    /// Returns the deprecation warning of this version.
    pub fn deprecation(&self) -> Option<&str> {
        self.deprecation.as_deref()
    }

    /// Returns whether stored objects are served byte for byte.
    pub fn is_verbatim(&self) -> bool {
        self.is_verbatim
    }

    /// Returns whether its definition is being deleted: objects of the kind cannot be created.
    pub fn is_terminating(&self) -> bool {
        self.life.terminating.load(Ordering::Acquire)
    }

    /// Returns a token that is cancelled when the definition is changed or removed: then watches end.
    pub fn gone(&self) -> &CancellationToken {
        &self.life.gone
    }

    pub(crate) fn types(&self) -> &Arc<DefinedTypes> {
        &self.types
    }

    pub(crate) fn open_api(&self) -> &Value {
        &self.open_api
    }

    pub(crate) fn replicas(&self) -> Option<&ReplicaPaths> {
        self.replicas.as_ref()
    }

    /// Removes unknown fields from an object that was sent, and returns their paths.
    pub(crate) fn prune(&self, object: &mut Value) -> Vec<String> {
        self.own.prune(object)
    }

    /// Sets the defaults of an object that was sent.
    pub(crate) fn complete(&self, fields: &mut Map<String, Value>) -> Result<(), DefaultsTooLarge> {
        with_value(fields, |object| self.own.default(object))
    }

    /// Converts an object of this version to the stored form.
    pub(crate) fn store(&self, fields: &mut Map<String, Value>) {
        if !Arc::ptr_eq(&self.own, &self.stored) {
            with_value(fields, |object| drop(self.stored.prune(object)));
        }
    }

    /// Converts a stored object to this version.
    pub(crate) fn show(&self, object: &mut Value) -> Result<(), DefaultsTooLarge> {
        if self.is_verbatim {
            return Ok(());
        }
        self.stored.default(object)?;
        self.own.prune(object);
        Ok(())
    }

    /// Validates a whole object with its type against the schema; `old` is the object that it replaces.
    pub(crate) fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<StatusCause> {
        let mut causes = match old {
            Some(old) => self.own.validate_update(object, old),
            None => self.own.validate(object),
        };
        if let Some(replicas) = &self.replicas {
            causes.extend(replicas.faults(object));
        }
        causes
    }

    /// Validates an object of which only the status was written.
    pub(crate) fn validate_status(&self, object: &Value, old: &Value) -> Vec<StatusCause> {
        let mut causes = self.own.validate_status_update(object, old);
        if let Some(replicas) = &self.replicas {
            causes.extend(replicas.status_faults(object));
        }
        causes
    }
}

/// Compares by identity: every change of a definition creates new kinds.
impl PartialEq for CustomKind {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for CustomKind {}

fn with_value<T>(fields: &mut Map<String, Value>, change: impl FnOnce(&mut Value) -> T) -> T {
    let mut object = Value::Object(std::mem::take(fields));
    let outcome = change(&mut object);
    if let Value::Object(changed) = object {
        *fields = changed;
    }
    outcome
}
