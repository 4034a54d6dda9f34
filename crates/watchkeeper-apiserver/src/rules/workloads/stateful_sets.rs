//! Stateful sets.

use serde_json::Value;

use super::status::{at_most, collisions, counts};
use super::validate::{always, at_most_all, is_nothing, matching, same_selector, share};
use crate::rules::KindRules;
use crate::rules::pods::{Owner, template};
use crate::rules::storage::validate_claim_spec;
use crate::validate::faults::{Faults, json};
use crate::validate::field::{Field, Object};
use crate::validate::metadata::annotations;
use crate::validate::selector::{is_without_content, json_text, labels, parsed, selector, shown};
use crate::validate::syntax::{NameRule, label};

#[derive(Debug)]
pub(in crate::rules) struct StatefulSets;

impl KindRules for StatefulSets {
    fn name_rule(&self) -> NameRule {
        NameRule::Label
    }

    fn validate_content(&self, old: Option<Object<'_>>, new: Object<'_>, faults: &mut Faults) {
        validate_spec(new, old, faults);
    }

    fn validate_update(&self, old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
        self.validate_metadata_update(old, new, faults);
        self.validate_content(Some(old), new, faults);
        validate_spec_update(old, new, faults);
    }

    fn validate_status_update(&self, old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
        let (was, is) = (old.field("status"), new.field("status"));
        validate_status(&is, faults);
        collisions(&was, &is, faults);
    }

    fn complete_bookmark(&self, object: &mut Value) {
        object["spec"]["replicas"] = 0.into();
    }
}

fn validate_spec(object: Object<'_>, old: Option<Object<'_>>, faults: &mut Faults) {
    let spec = object.field("spec");
    let policy = spec.child("podManagementPolicy");
    if !matches!(policy.text(), "" | "OrderedReady" | "Parallel") {
        faults.invalid_value(&policy, json(policy.value()), "must be 'OrderedReady' or 'Parallel'");
    }
    stateful_strategy(&spec.child("updateStrategy"), faults);
    let retention = spec.child("persistentVolumeClaimRetentionPolicy");
    for when in ["whenDeleted", "whenScaled"] {
        faults.one_of(&retention.child(when), &["Retain", "Delete"]);
    }
    // Immutable later, so checked once.
    for template in spec.child("volumeClaimTemplates").items().filter(|_| old.is_none()) {
        validate_claim_spec(&template.child("spec"), faults);
    }
    faults.negative(&spec.child("replicas"));
    faults.negative(&spec.child("minReadySeconds"));
    let first = spec.child("ordinals").child("start");
    faults.negative(&first);
    let service = spec.child("serviceName");
    if !service.is_empty() && old.is_none() {
        faults.malformed(&service, label(service.text()));
    }
    let (selected, pods) = (spec.child("selector"), spec.child("template"));
    if !selected.is_set() {
        faults.required(&selected, "");
    }
    selector(&selected, faults);
    if is_without_content(&selected) {
        faults.invalid_value(&selected, shown(&selected), "empty selector is invalid for statefulset");
    }
    if selected.is_set() && parsed(&selected).is_none() {
        faults.invalid_value(&selected, shown(&selected), "");
    } else {
        matching(&selected, &pods, faults);
        let templates = spec.child("volumeClaimTemplates");
        let claims: Vec<&str> = templates
            .items()
            .map(|claim| claim.value()["metadata"]["name"].as_str().unwrap_or_default())
            .collect();
        let owner = Owner { claims: &claims, names_hosts: true, ..Owner::TEMPLATE };
        template(&pods, owner, faults);
        // kube-apiserver checks these twice.
        let metadata = pods.child("metadata");
        labels(&Field::at(pods.path_of("labels"), metadata.child("labels").value()), faults);
        annotations(&Field::at(pods.path_of("annotations"), metadata.child("annotations").value()), faults);
    }
    always(&pods, "StatefulSet", faults);
}

fn validate_spec_update(old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
    let (before, spec) = (old.field("spec"), new.field("spec"));
    same_selector(&before.child("selector"), &spec.child("selector"), faults);
    for name in ["volumeClaimTemplates", "serviceName"] {
        faults.immutable(&spec.child(name), &before.child(name));
    }
    faults.immutable_given(&spec.child("podManagementPolicy"), &before.child("podManagementPolicy"));
}

fn stateful_strategy(field: &Field<'_>, faults: &mut Faults) {
    let rolling = field.child("rollingUpdate");
    match field.child("type").text() {
        "OnDelete" => {
            if rolling.is_set() {
                let shown = internal_rolling(&rolling);
                faults.invalid_value(&rolling, shown, "only allowed for updateStrategy 'RollingUpdate'");
            }
        }
        "" | "RollingUpdate" => {
            faults.negative(&rolling.child("partition"));
            let unavailable = rolling.child("maxUnavailable");
            if unavailable.is_set() {
                share(&unavailable, faults);
                if is_nothing(&unavailable) {
                    faults.invalid(&unavailable, "cannot be 0");
                }
                at_most_all(&unavailable, faults);
            }
        }
        _ => {
            let rolling = if rolling.is_set() { internal_rolling(&rolling) } else { "null".to_owned() };
            let shown =
                format!("{{\"Type\":{},\"RollingUpdate\":{rolling}}}", json_text(field.child("type").text()));
            faults.invalid_value(field, shown, "must be 'RollingUpdate' or 'OnDelete'");
        }
    }
}

/// Formats a rolling update as Go's internal type.
fn internal_rolling(field: &Field<'_>) -> String {
    let (partition, unavailable) = (field.child("partition").count(), field.child("maxUnavailable"));
    format!("{{\"Partition\":{partition},\"MaxUnavailable\":{}}}", json(unavailable.value()))
}

fn validate_status(status: &Field<'_>, faults: &mut Faults) {
    let parts = ["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"];
    counts(status, &["replicas"], faults);
    counts(status, &parts, faults);
    counts(status, &["observedGeneration", "collisionCount"], faults);
    for part in parts {
        at_most(status, part, "replicas", "status.replicas", faults);
    }
    at_most(status, "availableReplicas", "readyReplicas", "status.readyReplicas", faults);
}
