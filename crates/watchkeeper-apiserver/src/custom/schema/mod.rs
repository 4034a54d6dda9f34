//! Structural schemas: what the objects of a custom resource look like.
//!
//! From: a version of a CustomResourceDefinition, whose schema is [compiled](Schema::compile) once.
//! To:   objects that are pruned, given their defaults and validated, in the words of the real server.
//!
//! - S1: nothing here panics or runs away, whatever the schema and the object: schemas stand no deeper within
//!   each other than [`MAX_SCHEMA_DEPTH`], patterns run in linear time, and what looks at an object goes no
//!   deeper than the object does.
//! - S2: pruning and giving defaults can be done again without changing anything more.
//!
//! **Rules in CEL (`x-kubernetes-validations`) are kept in the definition, but nobody evaluates them here**: an
//! object that only breaks such a rule is taken.

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

/// What breaks a rule, and where.
pub type Cause = StatusCause;

/// The compiled schema of one version of a custom resource. A clone is the same schema.
#[derive(Debug, Clone)]
pub struct Schema {
    root: Arc<Node>,
    /// Whether fields that are not in the schema are kept.
    keeps_everything: bool,
    /// Whether there are rules in CEL, which nobody evaluates.
    has_rules: bool,
}

impl Schema {
    /// Compiles the `openAPIV3Schema` of a version, or says why it is not structural.
    ///
    /// # Errors
    ///
    /// The causes, with paths from the schema itself.
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

    /// A schema under which every field is kept and valid.
    pub fn preserve_everything() -> Self {
        Self { root: Arc::new(Node::default()), keeps_everything: true, has_rules: false }
    }

    /// Removes the fields that the schema does not know, and says where they were.
    pub fn prune(&self, object: &mut Value) -> Vec<String> {
        match self.keeps_everything {
            true => metadata::prune(object),
            false => prune::prune(&self.root, object),
        }
    }

    /// Sets the fields that are absent and have a default, and drops nulls where none may be.
    ///
    /// # Errors
    /// Where the defaults would add more than [`REQUEST_BYTES`](crate::size::REQUEST_BYTES) to the object.
    pub fn default(&self, object: &mut Value) -> Result<(), DefaultsTooLarge> {
        default::default(&self.root, object)
    }

    /// What is wrong with a new object. Its own metadata is not looked at.
    pub fn validate(&self, object: &Value) -> Vec<Cause> {
        let mut causes = validate::validate(&self.root, None, object, None);
        causes.extend(metadata::embedded(&self.root, false, "", object));
        causes.extend(list::repeated(&self.root, object));
        self.with_unchecked_rules(causes)
    }

    /// What is wrong with an object that has changed. What was wrong before may stay as it was.
    pub fn validate_update(&self, object: &Value, old: &Value) -> Vec<Cause> {
        let mut causes = validate::validate(&self.root, None, object, Some(old));
        causes.extend(metadata::embedded(&self.root, false, "", object));
        if list::repeated(&self.root, old).is_empty() {
            causes.extend(list::repeated(&self.root, object));
        }
        self.with_unchecked_rules(causes)
    }

    /// What is wrong with an object of which only the status was written.
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

    /// Adds what the real server says where it does not evaluate its rules either.
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

/// What is wrong with a new CustomResourceDefinition that has its defaults, besides its metadata.
pub fn check_definition(crd: &Value) -> Vec<Cause> {
    definition::check(crd)
}

/// What is wrong with a CustomResourceDefinition that has changed, besides its metadata.
pub fn check_definition_update(crd: &Value, old: &Value) -> Vec<Cause> {
    definition::check_update(crd, old)
}
