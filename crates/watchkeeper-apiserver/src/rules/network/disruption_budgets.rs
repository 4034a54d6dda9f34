//! Pod disruption budgets.

use crate::rules::KindRules;
use crate::rules::workloads::counts;
use crate::validate::faults::{Faults, json};
use crate::validate::field::Object;
use crate::validate::metadata;
use crate::validate::selector::selector;

const BUDGET_COUNTS: [&str; 4] = ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"];

#[derive(Debug)]
pub(in crate::rules) struct DisruptionBudgets;

impl KindRules for DisruptionBudgets {
    fn allow_unconditional_update(&self) -> bool {
        false
    }

    fn validate_content(&self, _old: Option<Object<'_>>, new: Object<'_>, faults: &mut Faults) {
        validate_budget(new, faults);
    }

    /// kube-apiserver validates the metadata of budgets generically, after everything else.
    fn validate(&self, new: Object<'_>, faults: &mut Faults) {
        self.validate_content(None, new, faults);
        metadata::new_generic(new, faults);
    }

    fn validate_update(&self, old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
        self.validate_content(Some(old), new, faults);
    }

    fn validate_status_update(&self, _old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
        counts(&new.field("status"), &BUDGET_COUNTS, faults);
    }

    fn validates_metadata_of_subresources(&self) -> bool {
        false
    }
}

/// Checks a disruption budget.
fn validate_budget(object: Object<'_>, faults: &mut Faults) {
    let spec = object.field("spec");
    let (least, most) = (spec.child("minAvailable"), spec.child("maxUnavailable"));
    if least.is_set() && most.is_set() {
        let policy = spec.child("unhealthyPodEvictionPolicy");
        let shown = format!(
            "{{\"MinAvailable\":{},\"Selector\":{},\"MaxUnavailable\":{},\"UnhealthyPodEvictionPolicy\":{}}}",
            json(least.value()),
            crate::validate::selector::shown(&spec.child("selector")),
            json(most.value()),
            json(policy.value())
        );
        faults.invalid_value(&spec, shown, "minAvailable and maxUnavailable cannot be both set");
    }
    for field in [least, most] {
        if field.is_set() {
            crate::rules::workloads::share(&field, faults);
            crate::rules::workloads::at_most_all(&field, faults);
        }
    }
    selector(&spec.child("selector"), faults);
    faults.one_of_set(&spec.child("unhealthyPodEvictionPolicy"), &["AlwaysAllow", "IfHealthyBudget"]);
}
