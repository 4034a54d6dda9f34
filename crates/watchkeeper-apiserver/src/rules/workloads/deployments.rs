//! Deployments.

use serde_json::Value;

use super::status::{collisions, counts, parts_of_replicas};
use super::validate::{at_most_all, internal_strategy, is_nothing, same_selector, selected_template, share};
use crate::apply::Reset;
use crate::rules::{KindRules, Update};
use crate::validate::faults::Faults;
use crate::validate::field::{Field, Object};
use crate::write::Draft;

#[derive(Debug)]
pub(in crate::rules) struct Deployments;

impl KindRules for Deployments {
    fn name_use(&self) -> Option<&'static str> {
        Some("Pod names and hostnames")
    }

    fn fixed_metadata(&self, subresource: &str) -> &'static [&'static str] {
        if subresource == "status" { &["labels"] } else { &[] }
    }

    /// Annotations count: a deployment copies them to its replica sets.
    fn is_new_generation(&self, call: Update<'_>, old: &Draft, new: &Draft) -> bool {
        let is_annotated = call.subresource.is_none() && old.meta("annotations") != new.meta("annotations");
        is_annotated || !old.desired_state().eq(new.desired_state())
    }

    fn reset_fields(&self, subresource: Option<&str>, _has_status: bool) -> Reset {
        match subresource {
            Some("status") => Reset::fields(&[&["spec"], &["metadata", "labels"]]),
            _ => Reset::fields(&[&["status"]]),
        }
    }

    fn validate_content(&self, _old: Option<Object<'_>>, new: Object<'_>, faults: &mut Faults) {
        validate_spec(&new.field("spec"), faults);
    }

    fn validate_update(&self, old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
        self.validate_metadata_update(old, new, faults);
        self.validate_content(Some(old), new, faults);
        same_selector(&old.field("spec").child("selector"), &new.field("spec").child("selector"), faults);
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

fn validate_spec(spec: &Field<'_>, faults: &mut Faults) {
    faults.negative(&spec.child("replicas"));
    selected_template(spec, faults);
    strategy(&spec.child("strategy"), faults);
    let (ready, deadline) = (spec.child("minReadySeconds"), spec.child("progressDeadlineSeconds"));
    faults.negative(&ready);
    faults.negative(&spec.child("revisionHistoryLimit"));
    faults.negative(&deadline);
    if deadline.number().is_some_and(|deadline| deadline <= ready.count()) {
        faults.invalid(&deadline, "must be greater than minReadySeconds");
    }
}

fn strategy(field: &Field<'_>, faults: &mut Faults) {
    let rolling = field.child("rollingUpdate");
    match field.child("type").text() {
        "Recreate" => {
            if rolling.is_set() {
                faults.forbidden(&rolling, "may not be specified when strategy `type` is 'Recreate'");
            }
        }
        "" | "RollingUpdate" => {
            let (unavailable, surge) = (rolling.child("maxUnavailable"), rolling.child("maxSurge"));
            share(&unavailable, faults);
            share(&surge, faults);
            if is_nothing(&unavailable) && is_nothing(&surge) {
                faults.invalid(&unavailable, "may not be 0 when `maxSurge` is 0");
            }
            at_most_all(&unavailable, faults);
        }
        _ => {
            let shown = internal_strategy(field);
            faults.not_supported_value(field, shown, &["Recreate", "RollingUpdate"]);
        }
    }
}

fn validate_status(status: &Field<'_>, faults: &mut Faults) {
    let names = [
        "observedGeneration",
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
        "unavailableReplicas",
        "terminatingReplicas",
        "collisionCount",
    ];
    counts(status, &names, faults);
    parts_of_replicas(status, "updatedReplicas", faults);
}
