//! Statuses: what controllers report. Counts are none below zero, and parts are not more than their whole.

mod job;
mod pod;

use super::faults::Faults;
use super::field::{Field, Object};

/// A status that has changed.
pub(super) fn changed(group: &str, name: &str, old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
    let (was, is) = (&old.field("status"), &new.field("status"));
    match (group, name) {
        ("", "pods") => pod::changed(old, new, faults),
        ("", "namespaces") => phase(new, faults),
        ("", "replicationcontrollers") | ("apps", "replicasets") => replicas(is, faults),
        ("apps", "deployments") => {
            deployment(is, faults);
            collisions(was, is, faults);
        }
        ("apps", "daemonsets") => {
            counts(is, &DAEMON_COUNTS, faults);
            collisions(was, is, faults);
        }
        ("apps", "statefulsets") => {
            stateful_set(is, faults);
            collisions(was, is, faults);
        }
        ("batch", "jobs") => job::changed(old, new, faults),
        ("autoscaling", "horizontalpodautoscalers") => {
            counts(is, &["currentReplicas", "desiredReplicas"], faults);
        }
        ("policy", "poddisruptionbudgets") => counts(is, &BUDGET_COUNTS, faults),
        _ => {}
    }
}

const DAEMON_COUNTS: [&str; 9] = [
    "currentNumberScheduled",
    "numberMisscheduled",
    "desiredNumberScheduled",
    "numberReady",
    "observedGeneration",
    "updatedNumberScheduled",
    "numberAvailable",
    "numberUnavailable",
    "collisionCount",
];
const BUDGET_COUNTS: [&str; 4] = ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"];

/// Replica sets and replication controllers.
fn replicas(status: &Field<'_>, faults: &mut Faults) {
    let names = [
        "replicas",
        "fullyLabeledReplicas",
        "readyReplicas",
        "availableReplicas",
        "observedGeneration",
        "terminatingReplicas",
    ];
    counts(status, &names, faults);
    parts_of_replicas(status, "fullyLabeledReplicas", faults);
}

/// Of all that there are, some are of one sort, some ready, and of those some available.
fn parts_of_replicas(status: &Field<'_>, sort: &str, faults: &mut Faults) {
    for part in [sort, "readyReplicas", "availableReplicas"] {
        at_most(status, part, "replicas", "status.replicas", faults);
    }
    at_most(status, "availableReplicas", "readyReplicas", "readyReplicas", faults);
}

fn deployment(status: &Field<'_>, faults: &mut Faults) {
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

fn stateful_set(status: &Field<'_>, faults: &mut Faults) {
    let parts = ["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"];
    counts(status, &["replicas"], faults);
    counts(status, &parts, faults);
    counts(status, &["observedGeneration", "collisionCount"], faults);
    for part in parts {
        at_most(status, part, "replicas", "status.replicas", faults);
    }
    at_most(status, "availableReplicas", "readyReplicas", "status.readyReplicas", faults);
}

fn counts(status: &Field<'_>, names: &[&str], faults: &mut Faults) {
    for name in names {
        faults.negative(&status.child(name));
    }
}

fn at_most(status: &Field<'_>, part: &str, whole: &str, called: &str, faults: &mut Faults) {
    let field = status.child(part);
    if field.count() > status.child(whole).count() {
        let why = format!("cannot be greater than {called}");
        faults.invalid_value(&field, field.count(), &why);
    }
}

/// How often a name was taken already is never forgotten.
fn collisions(was: &Field<'_>, is: &Field<'_>, faults: &mut Faults) {
    let (before, now) = (was.child("collisionCount"), is.child("collisionCount"));
    if before.is_set() && now.count() < before.count() {
        faults.invalid_value(&now, now.count(), "cannot be decremented");
    }
}

/// A namespace is active until it is deleted.
fn phase(namespace: Object<'_>, faults: &mut Faults) {
    let phase = namespace.field("status").child("phase");
    let at = Field::at("status.Phase", phase.value());
    let is_deleted = namespace.field("metadata").child("deletionTimestamp").is_set();
    let (wanted, is_empty) = if is_deleted { ("Terminating", "not empty") } else { ("Active", "empty") };
    if phase.text() != wanted {
        let why = format!("may only be '{wanted}' if `deletionTimestamp` is {is_empty}");
        faults.invalid_value(&at, super::selector::json_text(phase.text()), &why);
    }
}
