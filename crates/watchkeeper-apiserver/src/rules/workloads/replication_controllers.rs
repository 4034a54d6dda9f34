//! Replication controllers.

use super::status::replicas;
use super::validate::always;
use crate::rules::KindRules;
use crate::rules::pods::{Owner, template};
use crate::validate::faults::Faults;
use crate::validate::field::{Field, Object};
use crate::validate::syntax::NameRule;

#[derive(Debug)]
pub(in crate::rules) struct ReplicationControllers;

impl KindRules for ReplicationControllers {
    fn name_rule(&self) -> NameRule {
        NameRule::LongName
    }

    fn orphans_dependents(&self) -> bool {
        true
    }

    fn validate_content(&self, _old: Option<Object<'_>>, new: Object<'_>, faults: &mut Faults) {
        validate_spec(&new.field("spec"), faults);
    }

    fn validate_status_update(&self, _old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
        replicas(&new.field("status"), faults);
    }
}

fn validate_spec(spec: &Field<'_>, faults: &mut Faults) {
    let (selected, pods) = (spec.child("selector"), spec.child("template"));
    // The selector defaults to the labels of the template.
    if selected.is_empty() && pods.child("metadata").child("labels").is_empty() {
        faults.required(&selected, "");
    }
    if pods.is_set() {
        let labels = pods.child("metadata").child("labels");
        let is_selected =
            selected.entries().all(|(key, value)| labels.value().get(key) == Some(value.value()));
        if !is_selected {
            faults.invalid(&labels, "`selector` does not match template `labels`");
        }
        template(&pods, Owner::TEMPLATE, faults);
        always(&pods, "ReplicationController", faults);
    } else {
        faults.required(&pods, "");
    }
    faults.declared(|faults| {
        faults.negative(&spec.child("replicas"));
        faults.negative(&spec.child("minReadySeconds"));
    });
}
