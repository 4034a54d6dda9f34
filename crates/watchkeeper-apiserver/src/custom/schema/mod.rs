//! Structural schemas: what the objects of a custom resource look like.
//!
//! From: a version of a CustomResourceDefinition, whose schema is [compiled](Schema::compile) once.
//! To:   objects that are pruned, given their defaults and validated, in the words of the real server.

use serde_json::Value;
use watchkeeper_core::StatusCause;

/// What breaks a rule, and where.
pub type Cause = StatusCause;

/// The compiled schema of one version of a custom resource.
#[derive(Debug, Clone)]
pub struct Schema {}

impl Schema {
    /// Compiles the `openAPIV3Schema` of a version, or says why it is not structural.
    ///
    /// # Errors
    ///
    /// The causes, with paths from the schema itself.
    pub fn compile(_open_api_v3: &Value) -> Result<Self, Vec<Cause>> {
        Ok(Self {})
    }

    /// A schema under which every field is kept and valid.
    pub fn preserve_everything() -> Self {
        Self {}
    }

    /// Removes the fields that the schema does not know, and says where they were.
    pub fn prune(&self, _object: &mut Value) -> Vec<String> {
        Vec::new()
    }

    /// Sets the fields that are absent and have a default.
    pub fn default(&self, _object: &mut Value) {}

    /// What is wrong with a new object.
    pub fn validate(&self, _object: &Value) -> Vec<Cause> {
        Vec::new()
    }

    /// What is wrong with an object that has changed.
    pub fn validate_update(&self, object: &Value, _old: &Value) -> Vec<Cause> {
        self.validate(object)
    }
}

/// What is wrong with a CustomResourceDefinition.
pub fn check_definition(_crd: &Value) -> Vec<Cause> {
    Vec::new()
}
