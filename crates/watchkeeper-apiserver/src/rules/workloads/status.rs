//! Counts that workloads report in their status.

use crate::validate::faults::Faults;
use crate::validate::field::Field;

/// Checks the counts of replica sets and replication controllers.
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

/// Checks that partial counts are at most `replicas`, and available at most ready.
pub(super) fn parts_of_replicas(status: &Field<'_>, first: &str, faults: &mut Faults) {
    for part in [first, "readyReplicas", "availableReplicas"] {
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

/// Checks that the collision count does not decrease.
pub(super) fn collisions(was: &Field<'_>, is: &Field<'_>, faults: &mut Faults) {
    let (before, now) = (was.child("collisionCount"), is.child("collisionCount"));
    if before.is_set() && now.count() < before.count() {
        faults.invalid_value(&now, now.count(), "cannot be decremented");
    }
}
