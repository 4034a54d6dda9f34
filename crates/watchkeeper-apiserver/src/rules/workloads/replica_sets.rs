//! Replica sets.

use serde_json::Value;

use super::status::replicas;
use super::validate::{same_selector, selected_template};
use crate::rules::KindRules;
use crate::validate::faults::Faults;
use crate::validate::field::Object;

#[derive(Debug)]
pub(in crate::rules) struct ReplicaSets;

impl KindRules for ReplicaSets {
    fn name_use(&self) -> Option<&'static str> {
        Some("Pod names and hostnames")
    }

    fn validate_content(&self, _old: Option<Object<'_>>, new: Object<'_>, faults: &mut Faults) {
        let spec = new.field("spec");
        faults.negative(&spec.child("replicas"));
        faults.negative(&spec.child("minReadySeconds"));
        selected_template(&spec, faults);
    }

    fn validate_update(&self, old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
        self.validate_metadata_update(old, new, faults);
        self.validate_content(Some(old), new, faults);
        same_selector(&old.field("spec").child("selector"), &new.field("spec").child("selector"), faults);
    }

    fn validate_status_update(&self, _old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
        replicas(&new.field("status"), faults);
    }

    fn complete_bookmark(&self, object: &mut Value) {
        object["spec"]["replicas"] = 0.into();
    }
}
