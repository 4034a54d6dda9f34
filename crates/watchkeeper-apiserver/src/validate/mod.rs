//! Validation: whether an object may be stored, in kube-apiserver's words.
//!
//! Input: [`write`](mod@crate::write), with an object that has its defaults.
//! Output: the causes of a 422, in the order in which kube-apiserver lists them.
//!
//! The checks of a kind are in its [`rules`](mod@crate::rules); this module has those that kinds share.
//!
//! Invariants:
//! - `validate.V1`: what kube-apiserver accepts is accepted. A rule that is missing here refuses nothing.
//! - `validate.V2`: a field that kube-apiserver fills in may be absent here, except for the selector of a job.
//!
//! kube-apiserver prints some of its internal types in its messages. Where such a type is large (the template of a job,
//! the claims of a stateful set) the message shows the object as it was sent. Where a message ends with a diff (the spec
//! of a pod, of a claim, of a volume) it ends before the diff.

pub(crate) mod address;
pub(crate) mod amount;
pub(crate) mod faults;
pub(crate) mod field;
pub(crate) mod metadata;
pub(crate) mod selector;
pub(crate) mod syntax;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};
use watchkeeper_core::StatusCause;

use crate::registry::Resource;

use faults::Faults;
use field::Object;
use metadata::Finalizers;

/// Returns what is wrong with a new object.
pub(crate) fn new_object(resource: &Resource, object: &Map<String, Value>) -> Vec<StatusCause> {
    let (rules, new, mut faults) = (resource.rules(), Object(object), Faults::default());
    rules.validate_early(None, new, &mut faults);
    if faults.is_empty() {
        rules.validate(new, &mut faults);
    }
    let mut causes = faults.into_causes();
    causes.extend(rules.validate_schema(resource, None, None, object));
    causes
}

/// Returns what is wrong with an object that replaces `old`.
pub(crate) fn changed_object(
    resource: &Resource,
    subresource: Option<&str>,
    old: &Map<String, Value>,
    new: &Map<String, Value>,
) -> Vec<StatusCause> {
    let (rules, mut faults) = (resource.rules(), Faults::default());
    let (was, is) = (Object(old), Object(new));
    if subresource.is_none() {
        rules.validate_early(Some(was), is, &mut faults);
        if !faults.is_empty() {
            return faults.into_causes();
        }
    }
    // kube-apiserver validates the metadata of all kinds first, and most kinds validate it again.
    metadata::changed(was, is, Finalizers::Any, &mut faults);
    match subresource {
        None => rules.validate_update(was, is, &mut faults),
        Some(name) => {
            if rules.validates_metadata_of_subresources() {
                rules.validate_metadata_update(was, is, &mut faults);
            }
            if name == "status" {
                rules.validate_status_update(was, is, &mut faults);
            }
        }
    }
    let mut causes = faults.into_causes();
    causes.extend(rules.validate_schema(resource, subresource, Some(old), new));
    causes
}

/// Returns the whole object, with `apiVersion` and `kind`.
pub(crate) fn typed(resource: &Resource, fields: &Map<String, Value>) -> Value {
    let mut fields = fields.clone();
    fields.insert("apiVersion".to_owned(), resource.group_version().to_string().into());
    fields.insert("kind".to_owned(), resource.kind.as_ref().into());
    Value::Object(fields)
}
