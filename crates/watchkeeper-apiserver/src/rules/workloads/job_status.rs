//! Status of jobs: a job ends once, and its counts only grow.

use serde_json::Value;

use crate::validate::faults::Faults;
use crate::validate::field::{Field, Object};

/// Checks a status update. The syntax of completed and failed indexes is not checked.
pub(super) fn validate(old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
    let (before, after) = (Report::of(old), Report::of(new));
    let (was, is) = (&before.status, &after.status);
    for name in ["active", "succeeded", "failed", "ready", "terminating"] {
        faults.negative(&is.child(name));
    }
    uncounted(&is.child("uncountedTerminatedPods"), faults);
    ends(&before, &after, faults);
    let has_changed = |name: &str| was.child(name).value() != is.child(name).value();
    let finishes = before.is_finished() != after.is_finished();
    let active = is.child("active");
    if (finishes || has_changed("active")) && active.count() > 0 && after.is_finished() {
        faults.invalid(&active, "active>0 is invalid for finished job");
    }
    let started = is.child("startTime");
    let is_nothing =
        after.spec.child("suspend").is_true() && after.spec.child("completions").number() == Some(0);
    if (finishes || has_changed("startTime")) && !is_nothing && !started.is_set() && after.is_finished() {
        faults.required(&started, "startTime is required for finished job");
    }
    let terminating = is.child("terminating");
    if (finishes || has_changed("terminating")) && terminating.count() > 0 && after.is_finished() {
        faults.invalid(&terminating, "terminating>0 is invalid for finished job");
    }
    let ready = is.child("ready");
    if (has_changed("ready") || has_changed("active")) && ready.is_set() && ready.count() > active.count() {
        faults.invalid(&ready, "cannot set more ready pods than active");
    }
    after.contradictions(faults);
    after.keeps(&before, faults);
}

/// The status of a job.
struct Report<'a> {
    spec: Field<'a>,
    status: Field<'a>,
}

impl<'a> Report<'a> {
    fn of(job: Object<'a>) -> Self {
        Self { spec: job.field("spec"), status: job.field("status") }
    }

    /// Returns whether a condition is true.
    fn is(&self, condition: &str) -> bool {
        self.has(condition, "True")
    }

    /// Returns whether a condition has a status.
    fn has(&self, condition: &str, status: &str) -> bool {
        let list = self.status.child("conditions");
        list.items()
            .any(|item| item.child("type").text() == condition && item.child("status").text() == status)
    }

    fn is_finished(&self) -> bool {
        self.is("Complete") || self.is("Failed")
    }

    fn refuse(&self, is_refused: bool, why: &str, faults: &mut Faults) {
        if is_refused {
            faults.invalid_unshown(&self.status.child("conditions"), why);
        }
    }

    fn contradictions(&self, faults: &mut Faults) {
        let is_met = self.is("SuccessCriteriaMet");
        self.refuse(
            is_met && self.is("Failed"),
            "cannot set SuccessCriteriaMet=True and Failed=true conditions",
            faults,
        );
        self.refuse(
            is_met && self.is("FailureTarget"),
            "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions",
            faults,
        );
        self.refuse(
            self.spec.child("successPolicy").is_set() && !is_met && self.is("Complete"),
            "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True",
            faults,
        );
    }

    /// Checks what must not be undone.
    fn keeps(&self, before: &Self, faults: &mut Faults) {
        for condition in ["Failed", "Complete", "FailureTarget"] {
            let why = format!("cannot disable the terminal {condition}=True condition");
            self.refuse(before.is(condition) && !self.is(condition), &why, faults);
        }
        let is_scaled = self.spec.child("completionMode").text() == "Indexed"
            && self.spec.child("completions").value() == self.spec.child("parallelism").value();
        for name in ["failed", "succeeded"] {
            let (was, is) = (before.status.child(name), self.status.child(name));
            if is.count() < was.count() && !(name == "succeeded" && is_scaled) {
                faults.invalid_value(&is, is.count(), &format!("cannot decrease the {name} counter"));
            }
        }
        let (was, is) = (before.status.child("completionTime"), self.status.child("completionTime"));
        if was.is_set() && is.is_set() {
            faults.immutable(&is, &was);
        }
        let (was, is) = (before.status.child("startTime"), self.status.child("startTime"));
        let resumes = before.is("Suspended") && self.has("Suspended", "False");
        if was.is_set() && was.value() != is.value() && !resumes && !self.spec.child("suspend").is_true() {
            faults.invalid(&is, "field is immutable for unsuspended job once set");
        }
        let (was_met, is_met) = (before.is("SuccessCriteriaMet"), self.is("SuccessCriteriaMet"));
        self.refuse(was_met && !is_met, "cannot disable the SuccessCriteriaMet=True condition", faults);
        self.refuse(
            before.is("Complete") && !was_met && is_met,
            "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions",
            faults,
        );
    }
}

/// Checks that uncounted terminated pods are unique.
fn uncounted(field: &Field<'_>, faults: &mut Faults) {
    let mut seen: Vec<&Value> = Vec::new();
    for pod in ["succeeded", "failed"].iter().flat_map(|name| field.child(name).items().collect::<Vec<_>>()) {
        if pod.is_empty() {
            faults.invalid(&pod, "must not be empty");
        } else if seen.contains(&pod.value()) {
            faults.duplicate(&pod);
        } else {
            seen.push(pod.value());
        }
    }
}

/// Checks the conditions of a finished job: the target condition comes before the final one.
fn ends(before: &Report<'_>, after: &Report<'_>, faults: &mut Faults) {
    let turns = |condition: &str| before.is(condition) != after.is(condition);
    let is_complete = after.is("Complete");
    after.refuse(
        (turns("Complete") || turns("Failed")) && is_complete && after.is("Failed"),
        "cannot set Complete=True and Failed=true conditions",
        faults,
    );
    after.refuse(
        (turns("Complete") || turns("FailureTarget")) && is_complete && after.is("FailureTarget"),
        "cannot set Complete=True and FailureTarget=true conditions",
        faults,
    );
    let (was, is) = (before.status.child("completionTime"), after.status.child("completionTime"));
    let start = after.status.child("startTime");
    let is_timed = was.value() != is.value();
    if turns("Complete") || is_timed {
        if is.is_set() && !is_complete {
            faults.invalid(&is, "cannot set completionTime when there is no Complete=True condition");
        }
        if !is.is_set() && is_complete {
            faults.required(&is, "completionTime is required for Complete jobs");
        }
    }
    let is_moved = is_timed || before.status.child("startTime").value() != start.value();
    // Stored times are comparable as strings.
    if is_moved && is.is_set() && start.is_set() && is.text() < start.text() {
        faults.invalid(&is, "must be equal to or after `startTime`");
    }
    let failed = |report: &Report<'_>| report.status.child("failedIndexes").value().clone();
    after.refuse(
        (turns("Failed") || failed(before) != failed(after))
            && after.is("Failed")
            && !after.is("FailureTarget"),
        "cannot set Failed=True condition without the FailureTarget=true condition",
        faults,
    );
    after.refuse(
        (turns("Complete") || turns("SuccessCriteriaMet")) && is_complete && !after.is("SuccessCriteriaMet"),
        "cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
        faults,
    );
}
