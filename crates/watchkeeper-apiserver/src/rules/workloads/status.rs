//! Counts that workloads report in their status.

use crate::validate::faults::Faults;
use crate::validate::field::Field;

/// Replica sets and replication controllers.
pub(super) fn replicas(status: &Field<'_>, faults: &mut Faults) {
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
pub(super) fn parts_of_replicas(status: &Field<'_>, sort: &str, faults: &mut Faults) {
    for part in [sort, "readyReplicas", "availableReplicas"] {
        at_most(status, part, "replicas", "status.replicas", faults);
    }
    at_most(status, "availableReplicas", "readyReplicas", "readyReplicas", faults);
}

pub(in crate::rules) fn counts(status: &Field<'_>, names: &[&str], faults: &mut Faults) {
    for name in names {
        faults.negative(&status.child(name));
    }
}

pub(super) fn at_most(status: &Field<'_>, part: &str, whole: &str, called: &str, faults: &mut Faults) {
    let field = status.child(part);
    if field.count() > status.child(whole).count() {
        let why = format!("cannot be greater than {called}");
        faults.invalid_value(&field, field.count(), &why);
    }
}

/// How often a name was taken already is never forgotten.
pub(super) fn collisions(was: &Field<'_>, is: &Field<'_>, faults: &mut Faults) {
    let (before, now) = (was.child("collisionCount"), is.child("collisionCount"));
    if before.is_set() && now.count() < before.count() {
        faults.invalid_value(&now, now.count(), "cannot be decremented");
    }
}
