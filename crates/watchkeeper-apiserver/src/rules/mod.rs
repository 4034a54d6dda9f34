//! Rules: what the server does for each kind, one module per kind behind one trait.
//!
//! Input: the row of the [`registry`](crate::registry), which holds the rules of its kind.
//! Output: [`write`](mod@crate::write), `validate`, [`apply`](crate::apply) and the endpoints that only some kinds have.
//!
//! Data about a kind is a row of the tables (`tables/`). Code about a kind is an implementation of [`KindRules`] in
//! this folder, which overrides what differs from an ordinary kind. The method names are those of kube-apiserver's
//! strategies (`PrepareForCreate`, `AllowUnconditionalUpdate`, ...).
//!
//! Invariants:
//! - `rules.R1`: [`lookup()`] is the only place that selects code by the name of a resource.
//! - `rules.R2`: every row of the built-in registry has an entry in [`lookup()`].

mod access;
pub(crate) mod autoscalers;
mod cluster;
mod config;
mod custom;
mod definitions;
pub(crate) mod events;
mod lookup;
mod network;
mod partial_metadata;
mod plain;
pub(crate) mod pods;
mod reviews;
pub(crate) mod services;
mod storage;
pub(crate) mod webhooks;
pub(crate) mod workloads;

use std::borrow::Cow;
use std::fmt;

use serde_json::{Map, Value};
use watchkeeper_core::StatusCause;

use crate::apply::Reset;
use crate::registry::Resource;
use crate::validate::faults::Faults;
use crate::validate::field::Object;
use crate::validate::metadata::{self, Finalizers};
use crate::validate::syntax::NameRule;
use crate::write::Draft;

pub(crate) use cluster::PROTECTED_NAMESPACES;
pub(crate) use custom::finalizer_warnings;
pub(crate) use lookup::lookup;
pub(crate) use partial_metadata::metadata_alone;
pub(crate) use reviews::Review;

/// The rules of one kind. The defaults are those of an ordinary built-in kind.
pub(crate) trait KindRules: fmt::Debug + Send + Sync {
    // Names and metadata.

    /// Returns the syntax of the kind's names.
    fn name_rule(&self) -> NameRule {
        NameRule::Subdomain
    }

    /// Returns the syntax of the kind's finalizers.
    fn finalizer_rule(&self) -> Finalizers {
        Finalizers::Owned
    }

    /// Returns where the kind's names end up if that place requires a DNS label: other names get a warning.
    fn name_use(&self) -> Option<&'static str> {
        None
    }

    /// Returns whether an object that is sent without any name gets a random one.
    fn generates_name(&self) -> bool {
        false
    }

    /// Returns the path below `/registry` that kube-apiserver shows in messages about stored objects.
    fn storage_prefix<'a>(&self, resource: &'a Resource) -> Cow<'a, str> {
        Cow::Borrowed(&resource.name)
    }

    // Conversion between versions.

    /// Returns the version in which objects are stored, if it is not the version of the row.
    fn storage_version(&self) -> Option<&'static str> {
        None
    }

    /// Restores what decoding dropped: protobuf does not distinguish an empty list from an absent one.
    fn restore_empty(&self, _sent: &Value, _decoded: &mut Value) {}

    /// Renames fields that the stored form calls differently, before defaults are set.
    fn rename_to_storage(&self, _fields: &mut Map<String, Value>) {}

    /// Converts an object with its defaults into the stored form.
    fn convert_to_storage(&self, _fields: &mut Map<String, Value>) {}

    /// Converts the stored form into the form of this version.
    fn convert_from_storage(&self, _fields: &mut Map<String, Value>) {}

    /// Returns the annotations that carry fields of another version. Metadata shown alone omits them.
    fn version_annotations(&self) -> &'static [&'static str] {
        &[]
    }

    // Create.

    /// Returns the effect of a POST to the collection or to a subresource; `None` is a 405.
    fn create_endpoint(&self, subresource: Option<&str>) -> Option<CreateEndpoint> {
        subresource.is_none().then_some(CreateEndpoint::Object)
    }

    /// Returns the status of a new object, if it differs from the kind's empty status.
    fn initial_status(&self) -> Option<Value> {
        None
    }

    /// Returns whether a status that is sent with a new object is stored.
    fn keeps_initial_status(&self) -> bool {
        false
    }

    /// Completes a new object, which has its name and uid.
    fn prepare_for_create(&self, _resource: &Resource, _new: &mut Draft) {}

    /// Labels a new object that was sent without labels, after validation.
    fn set_default_labels(&self, _new: &mut Draft) {}

    /// Returns whether services' addresses have to be allocated for objects of the kind.
    fn allocates_addresses(&self) -> bool {
        false
    }

    // Update.

    /// Returns whether a PUT of an object that does not exist creates it.
    fn allow_create_on_update(&self) -> bool {
        false
    }

    /// Returns whether an update may omit the resource version.
    fn allow_unconditional_update(&self) -> bool {
        true
    }

    /// Returns the metadata fields that a write to a subresource leaves as they are.
    fn fixed_metadata(&self, subresource: &str) -> &'static [&'static str] {
        match subresource {
            "ephemeralcontainers" | "resize" => ALL_METADATA,
            _ => &[],
        }
    }

    /// Completes an object that replaces `old`; parts that the endpoint does not write are those of `old` already.
    fn prepare_for_update(&self, _subresource: Option<&str>, _old: &Draft, _new: &mut Draft) {}

    /// Returns whether an update increments `metadata.generation`.
    fn is_new_generation(&self, _call: Update<'_>, old: &Draft, new: &Draft) -> bool {
        !old.desired_state().eq(new.desired_state())
    }

    /// Returns the fields that a write to the object or to a subresource does not own, for server-side apply.
    fn reset_fields(&self, subresource: Option<&str>, has_status: bool) -> Reset {
        match subresource {
            Some("status") => Reset::fields(&[&["spec"]]),
            _ if has_status => Reset::fields(&[&["status"]]),
            _ => Reset::fields(&[]),
        }
    }

    // Deletion.

    /// Returns how long an object may take to end; `None` if the kind is deleted without a grace period.
    fn grace_seconds(&self, _object: &Draft, _asked: Option<i64>) -> Option<i64> {
        None
    }

    /// Marks an object as terminating, for kinds with their own protocol. Returns whether the kind has one.
    fn terminate(&self, _old: &Draft, _new: &mut Draft) -> bool {
        false
    }

    /// Returns whether an object that is being deleted, and has no finalizers, is removed by its next update.
    fn is_finished(&self, object: &Draft) -> bool {
        object.meta("deletionGracePeriodSeconds").and_then(Value::as_i64).unwrap_or_default() == 0
    }

    /// Returns whether DELETE returns the object instead of a status.
    fn return_deleted_object(&self) -> bool {
        false
    }

    /// Returns whether dependents are orphaned by default.
    fn orphans_dependents(&self) -> bool {
        false
    }

    /// Returns the warning for a deletion without a propagation policy.
    fn propagation_warning(&self) -> Option<&'static str> {
        None
    }

    // Validation.

    /// Checks what ends validation at once where it fails.
    fn validate_early(&self, _old: Option<Object<'_>>, _new: Object<'_>, _faults: &mut Faults) {}

    /// Checks everything but the metadata.
    fn validate_content(&self, _old: Option<Object<'_>>, _new: Object<'_>, _faults: &mut Faults) {}

    /// Checks a new object.
    fn validate(&self, new: Object<'_>, faults: &mut Faults) {
        self.validate_metadata(new, faults);
        self.validate_content(None, new, faults);
    }

    /// Checks an object that replaces `old`. The order of the checks is the order of the causes in the response.
    fn validate_update(&self, old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
        self.validate_metadata_update(old, new, faults);
        self.validate_content(Some(old), new, faults);
    }

    /// Checks a write to the status.
    fn validate_status_update(&self, _old: Object<'_>, _new: Object<'_>, _faults: &mut Faults) {}

    /// Checks a write to the `resize` subresource.
    fn validate_resize(&self, _old: &Draft, _new: &Draft) -> Option<StatusCause> {
        None
    }

    /// Returns whether a write to a subresource validates the metadata by the rules of the kind.
    fn validates_metadata_of_subresources(&self) -> bool {
        true
    }

    /// Checks an object against a schema: that of its definition, or that of definitions.
    fn validate_schema(
        &self,
        _resource: &Resource,
        _subresource: Option<&str>,
        _old: Option<&Map<String, Value>>,
        _new: &Map<String, Value>,
    ) -> Vec<StatusCause> {
        Vec::new()
    }

    /// Checks the metadata of a new object.
    fn validate_metadata(&self, new: Object<'_>, faults: &mut Faults) {
        metadata::new(new, self.name_rule(), self.finalizer_rule(), faults);
    }

    /// Checks the metadata of an object that replaces `old`.
    fn validate_metadata_update(&self, old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
        metadata::changed(old, new, self.finalizer_rule(), faults);
    }

    // Roles of the kind in the server.

    /// Returns whether objects of the kind define resources: a write changes what is served.
    fn defines_resources(&self) -> bool {
        false
    }

    /// Returns whether objects of the kind are namespaces: their path names them as namespace and as object.
    fn is_namespace(&self) -> bool {
        false
    }

    /// Returns whether `exec`, `attach`, `portforward` and `log` are forwarded to the kubelet of the object's node.
    fn connects_to_kubelet(&self) -> bool {
        false
    }

    /// Returns whether objects of the kind are computed from the health of components.
    fn reports_components(&self) -> bool {
        false
    }

    /// Returns whether a table marks the default object of a list.
    fn marks_default(&self) -> bool {
        false
    }

    /// Returns the deprecation warning for a request; `writes` says whether it is a write.
    fn deprecation(&self, _writes: bool) -> Option<&'static str> {
        None
    }

    /// Sets what an empty object of the kind has in a bookmark.
    fn complete_bookmark(&self, _object: &mut Value) {}
}

/// The endpoint of an update.
#[derive(Clone, Copy)]
pub(crate) struct Update<'a> {
    pub(crate) resource: &'a Resource,
    pub(crate) subresource: Option<&'a str>,
}

/// The effect of a POST.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CreateEndpoint {
    /// Stores an object.
    Object,
    /// Performs an action.
    Action(Action),
}

/// An action that does not store the body of its POST.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// Assigns a pod to a node.
    Bind,
    /// Deletes a pod.
    Evict,
    /// Issues a token for a service account.
    IssueToken,
    /// Answers a question.
    Review(Review),
}

/// All metadata that a client may write.
pub(crate) const ALL_METADATA: &[&str] = &["labels", "annotations", "finalizers", "ownerReferences"];

/// The rules of a registry row's kind.
#[derive(Clone, Copy)]
pub struct Rules(&'static dyn KindRules);

impl Rules {
    /// Returns the rules of a built-in resource; of any other those of custom resources.
    pub(crate) fn of(group: &str, version: &str, resource: &str) -> Self {
        Self(lookup(group, version, resource).unwrap_or(&custom::Custom))
    }

    /// Returns the rules of a resource that has a definition.
    pub(crate) fn custom() -> Self {
        Self(&custom::Custom)
    }

    pub(crate) fn get(self) -> &'static dyn KindRules {
        self.0
    }
}

/// Rules follow from the names of a row, which are compared already.
impl PartialEq for Rules {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Rules {}

/// Prints `Pods`.
impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests;
