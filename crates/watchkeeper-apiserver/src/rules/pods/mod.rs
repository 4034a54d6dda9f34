//! Pods, pod templates and bindings.

mod amount;
mod container;
pub(crate) mod defaults;
mod environment;
mod handler;
mod image;
mod mount;
mod placement;
mod prepare;
mod resources;
mod security;
mod status;
mod sysctl;
mod update;
mod validate;
mod volume;

use serde_json::{Value, json};
use watchkeeper_core::StatusCause;

use super::{ALL_METADATA, Action, CreateEndpoint, KindRules};
use crate::apply::Reset;
use crate::registry::Resource;
use crate::validate::faults::Faults;
use crate::validate::field::Object;
use crate::write::{Draft, invalid_value};

pub(super) use handler::port;
pub(super) use placement::{node_selector, taints};
pub(super) use validate::{Owner, template};
pub(super) use volume::{common_source, driver};

#[derive(Debug)]
pub(in crate::rules) struct Pods;

impl KindRules for Pods {
    fn name_use(&self) -> Option<&'static str> {
        Some("the Pod's hostname")
    }

    fn create_endpoint(&self, subresource: Option<&str>) -> Option<CreateEndpoint> {
        match subresource {
            None => Some(CreateEndpoint::Object),
            Some("binding") => Some(CreateEndpoint::Action(Action::Bind)),
            Some("eviction") => Some(CreateEndpoint::Action(Action::Evict)),
            Some(_) => None,
        }
    }

    fn initial_status(&self) -> Option<Value> {
        Some(json!({"phase": "Pending"}))
    }

    fn prepare_for_create(&self, _resource: &Resource, new: &mut Draft) {
        prepare::complete(new);
    }

    fn prepare_for_update(&self, _subresource: Option<&str>, old: &Draft, new: &mut Draft) {
        prepare::keep_quality(old, new);
    }

    fn fixed_metadata(&self, subresource: &str) -> &'static [&'static str] {
        match subresource {
            "status" => &["ownerReferences"],
            "ephemeralcontainers" | "resize" => ALL_METADATA,
            _ => &[],
        }
    }

    fn reset_fields(&self, subresource: Option<&str>, _has_status: bool) -> Reset {
        match subresource {
            Some("ephemeralcontainers") => Reset::Only(&[&["spec", "ephemeralContainers"]]),
            Some("resize") => Reset::Only(&[
                &["spec", "containers", "*", "resources"],
                &["spec", "containers", "*", "resizePolicy"],
                &["spec", "initContainers", "*", "resources"],
                &["spec", "initContainers", "*", "resizePolicy"],
            ]),
            Some("status") => Reset::fields(&[
                &["spec"],
                &["metadata", "deletionTimestamp"],
                &["metadata", "ownerReferences"],
            ]),
            _ => Reset::fields(&[&["status"]]),
        }
    }

    fn grace_seconds(&self, object: &Draft, asked: Option<i64>) -> Option<i64> {
        Some(prepare::grace_seconds(object, asked))
    }

    fn return_deleted_object(&self) -> bool {
        true
    }

    fn validate_content(&self, _old: Option<Object<'_>>, new: Object<'_>, faults: &mut Faults) {
        validate::pod(new, faults);
    }

    fn validate(&self, new: Object<'_>, faults: &mut Faults) {
        self.validate_metadata(new, faults);
        self.validate_content(None, new, faults);
        validate::new_pod(new, faults);
    }

    fn validate_update(&self, old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
        self.validate_metadata_update(old, new, faults);
        update::changed(old, new, faults);
    }

    fn validate_resize(&self, old: &Draft, new: &Draft) -> Option<StatusCause> {
        let class = resources::quality_of_service(old.part("spec"));
        (class != resources::quality_of_service(new.part("spec")))
            .then(|| invalid_value("spec", class, "Pod QOS Class may not change as a result of resizing"))
    }

    fn validate_status_update(&self, old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
        status::validate(old, new, faults);
    }

    fn connects_to_kubelet(&self) -> bool {
        true
    }
}

#[derive(Debug)]
pub(in crate::rules) struct PodTemplates;

impl KindRules for PodTemplates {
    fn return_deleted_object(&self) -> bool {
        true
    }

    fn validate_content(&self, _old: Option<Object<'_>>, new: Object<'_>, faults: &mut Faults) {
        template(&new.field("template"), Owner::TEMPLATE, faults);
    }
}

#[derive(Debug)]
pub(in crate::rules) struct Bindings;

impl KindRules for Bindings {
    fn create_endpoint(&self, subresource: Option<&str>) -> Option<CreateEndpoint> {
        subresource.is_none().then_some(CreateEndpoint::Action(Action::Bind))
    }
}
