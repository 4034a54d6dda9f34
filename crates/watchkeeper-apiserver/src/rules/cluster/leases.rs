//! Leases.

use crate::rules::KindRules;
use crate::validate::faults::Faults;
use crate::validate::field::Object;
use crate::validate::metadata::Finalizers;

#[derive(Debug)]
pub(in crate::rules) struct Leases;

impl KindRules for Leases {
    fn finalizer_rule(&self) -> Finalizers {
        Finalizers::Any
    }

    fn allow_create_on_update(&self) -> bool {
        true
    }

    fn allow_unconditional_update(&self) -> bool {
        false
    }

    /// Fields of coordinated leader election are dropped by the defaults.
    fn validate_content(&self, _old: Option<Object<'_>>, new: Object<'_>, faults: &mut Faults) {
        let spec = new.field("spec");
        let duration = spec.child("leaseDurationSeconds");
        if duration.number().is_some_and(|seconds| seconds <= 0) {
            faults.invalid(&duration, "must be greater than 0");
        }
        faults.negative(&spec.child("leaseTransitions"));
    }
}
