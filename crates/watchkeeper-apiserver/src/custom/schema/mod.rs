//! Structural schemas of custom resources.
//!
//! Input: a version of a CustomResourceDefinition, whose schema is [compiled](Schema::compile) once.
//! Output: objects that are pruned, defaulted and validated, with kube-apiserver's messages.
//!
//! Invariants:
//! - `schema.S1`: nothing here panics or runs without bound, whatever the schema and the object: schemas are nested at
//!   most [`MAX_SCHEMA_DEPTH`] deep, patterns run in linear time, and recursion is bounded by the depth of the object.
//! - `schema.S2`: pruning and defaulting are idempotent.
//!
//! **CEL rules (`x-kubernetes-validations`) are stored but not evaluated**: an object that only breaks such a rule is
//! accepted.

mod default;
mod definition;
mod dropped;
mod format;
mod list;
mod metadata;
mod node;
mod number;
mod old;
mod outcome;
mod pattern;
mod prune;
#[cfg(test)]
mod tests;
mod validate;

use std::sync::Arc;

use serde_json::Value;
use watchkeeper_core::{CauseType, StatusCause};

use crate::size::DefaultsTooLarge;
pub use node::{ListType, MAX_SCHEMA_DEPTH};
use node::{Node, Reading};

/// A broken rule, and its path.
pub type Cause = StatusCause;

/// The compiled schema of one version of a custom resource. Clones share it.
#[derive(Debug, Clone)]
pub struct Schema {
    root: Arc<Node>,
    /// Whether fields that are not in the schema are kept.
    keeps_everything: bool,
    /// Whether there are CEL rules, which are not evaluated.
    has_rules: bool,
}

impl Schema {
    /// Compiles the `openAPIV3Schema` of a version.
    ///
    /// # Errors
    ///
    /// The reasons why it is not structural, with paths relative to the schema.
    pub fn compile(open_api_v3: &Value) -> Result<Self, Vec<Cause>> {
        match Node::compile(open_api_v3, Reading::Objects) {
            Ok(root) => {
                let has_rules = root.has_rules();
                Ok(Self { root: Arc::new(root), keeps_everything: false, has_rules })
            }
            Err(_) => Err(vec![StatusCause {
                cause: CauseType::FieldValueInvalid,
                field: "openAPIV3Schema".to_owned(),
                message: format!(
                    "Invalid value: \"\": schemas stand deeper than {MAX_SCHEMA_DEPTH} within each other"
                ),
            }]),
        }
    }

    /// Returns a schema that keeps and accepts every field.
    pub fn preserve_everything() -> Self {
        Self { root: Arc::new(Node::default()), keeps_everything: true, has_rules: false }
    }

    /// Removes unknown fields, and returns their paths.
    pub fn prune(&self, object: &mut Value) -> Vec<String> {
        if self.keeps_everything { metadata::prune(object) } else { prune::prune(&self.root, object) }
    }

    /// Sets absent fields that have a default, and drops nulls from fields that are not nullable.
    ///
    /// # Errors
    /// If the defaults would add more than [`REQUEST_BYTES`](crate::size::REQUEST_BYTES) to the object.
    pub fn default(&self, object: &mut Value) -> Result<(), DefaultsTooLarge> {
        default::default(&self.root, object)
    }

    /// Validates a new object, except for its metadata.
    pub fn validate(&self, object: &Value) -> Vec<Cause> {
        let mut causes = validate::validate(&self.root, None, object, None);
        causes.extend(metadata::embedded(&self.root, false, "", object));
        causes.extend(list::repeated(&self.root, object));
        self.with_unchecked_rules(causes)
    }

    /// Validates an object that replaces `old`. Unchanged faults are tolerated.
    pub fn validate_update(&self, object: &Value, old: &Value) -> Vec<Cause> {
        let mut causes = validate::validate(&self.root, None, object, Some(old));
        causes.extend(metadata::embedded(&self.root, false, "", object));
        if list::repeated(&self.root, old).is_empty() {
            causes.extend(list::repeated(&self.root, object));
        }
        self.with_unchecked_rules(causes)
    }

    /// Validates an object of which only the status was written.
    pub fn validate_status_update(&self, object: &Value, old: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        if let (Some(node), Some(status)) = (self.root.properties.get("status"), object.get("status")) {
            causes.extend(validate::validate(node, Some("status"), status, old.get("status")));
        }
        if list::repeated(&self.root, old).is_empty() {
            causes.extend(list::repeated(&self.root, object));
        }
        self.with_unchecked_rules(causes)
    }

    /// Adds kube-apiserver's message for CEL rules that it skips because of other faults.
    fn with_unchecked_rules(&self, mut causes: Vec<Cause>) -> Vec<Cause> {
        let is_blocking = |cause: &Cause| {
            matches!(
                cause.cause,
                CauseType::FieldValueNotSupported
                    | CauseType::FieldValueRequired
                    | CauseType::FieldValueTooLong
                    | CauseType::FieldValueTooMany
                    | CauseType::FieldValueTypeInvalid
            )
        };
        if self.has_rules && causes.iter().any(is_blocking) {
            causes.push(StatusCause {
                cause: CauseType::FieldValueInvalid,
                field: "<nil>".to_owned(),
                message: "Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation".to_owned(),
            });
        }
        causes
    }
}

/// Validates a new CustomResourceDefinition that has its defaults, except for its metadata.
pub fn check_definition(crd: &Value) -> Vec<Cause> {
    definition::check(crd)
}

/// Validates a CustomResourceDefinition that replaces `old`, except for its metadata.
pub fn check_definition_update(crd: &Value, old: &Value) -> Vec<Cause> {
    definition::check_update(crd, old)
}
