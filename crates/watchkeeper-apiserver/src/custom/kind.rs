//! Custom kind: what a definition says of a kind in one of its versions.
//!
//! From: [`rows`](super::rows), which reads definitions.
//! To:   whoever reads, writes or prints objects of the resource, by its row in the registry.
//!
//! ```text
//! sent -> prune -> defaults -> validate -> store: prune by the version that is stored
//! stored -> defaults of the version that is stored -> prune -> shown
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

/// What a definition says of a kind in one of its versions.
#[derive(Debug)]
pub struct CustomKind {
    pub(super) own: Arc<Schema>,
    /// The schema of the version that is stored.
    pub(super) stored: Arc<Schema>,
    /// Whether what is stored is shown as it is: nobody has ever had another schema for it.
    pub(super) is_verbatim: bool,
    pub(super) list_kind: String,
    pub(super) columns: Columns,
    pub(super) replicas: Option<ReplicaPaths>,
    pub(super) deprecation: Option<String>,
    /// The schema as the definition has it, for documents.
    pub(super) open_api: Value,
    /// How the fields of all versions are merged.
    pub(super) types: Arc<DefinedTypes>,
    pub(super) life: Arc<Life>,
}

/// How long a definition is served as it is.
#[derive(Debug, Default)]
pub(super) struct Life {
    /// Cancelled when it is served no longer, or in another way.
    pub(super) gone: CancellationToken,
    pub(super) terminating: AtomicBool,
}

impl CustomKind {
    /// `WidgetList`.
    pub fn list_kind(&self) -> &str {
        &self.list_kind
    }

    /// What it is printed as.
    pub fn columns(&self) -> &Columns {
        &self.columns
    }

    /// What whoever uses this version is warned of.
    pub fn deprecation(&self) -> Option<&str> {
        self.deprecation.as_deref()
    }

    /// Whether stored bytes are shown as they are.
    pub fn is_verbatim(&self) -> bool {
        self.is_verbatim
    }

    /// Whether its definition is on its way out, so that nothing of the kind may be created.
    pub fn is_terminating(&self) -> bool {
        self.life.terminating.load(Ordering::Acquire)
    }

    /// Cancelled once this is not how the resource is served: then watches end.
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

    /// Removes what the kind does not have from an object that was sent, and says where it was.
    pub(crate) fn prune(&self, object: &mut Value) -> Vec<String> {
        self.own.prune(object)
    }

    /// Gives an object that was sent its defaults.
    pub(crate) fn complete(&self, fields: &mut Map<String, Value>) -> Result<(), DefaultsTooLarge> {
        with_value(fields, |object| self.own.default(object))
    }

    /// Makes of an object of this version what is stored.
    pub(crate) fn store(&self, fields: &mut Map<String, Value>) {
        if !Arc::ptr_eq(&self.own, &self.stored) {
            with_value(fields, |object| drop(self.stored.prune(object)));
        }
    }

    /// Makes of what is stored an object of this version.
    pub(crate) fn show(&self, object: &mut Value) -> Result<(), DefaultsTooLarge> {
        if self.is_verbatim {
            return Ok(());
        }
        self.stored.default(object)?;
        self.own.prune(object);
        Ok(())
    }

    /// What is wrong with an object, whole and with its type; `old` is what it was.
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

    /// What is wrong with an object of which only the status was written.
    pub(crate) fn validate_status(&self, object: &Value, old: &Value) -> Vec<StatusCause> {
        let mut causes = self.own.validate_status_update(object, old);
        if let Some(replicas) = &self.replicas {
            causes.extend(replicas.status_faults(object));
        }
        causes
    }
}

/// Two are the same if they are one: a definition that changes makes new ones.
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
