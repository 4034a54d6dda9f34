//! Built-in kinds without code of their own: what differs between them is a flag.

use super::KindRules;
use crate::apply::Reset;
use crate::validate::faults::Faults;
use crate::validate::field::Object;
use crate::validate::metadata::Finalizers;
use crate::validate::syntax::NameRule;

/// A kind of which only the metadata is validated.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plain {
    pub(super) name_rule: NameRule,
    pub(super) finalizer_rule: Finalizers,
    pub(super) unconditional_update: bool,
    pub(super) return_deleted: bool,
    /// Whether an update validates all metadata as that of a new object.
    pub(super) updates_as_new: bool,
}

impl Plain {
    pub(super) const DEFAULT: Self = Self {
        name_rule: NameRule::Subdomain,
        finalizer_rule: Finalizers::Owned,
        unconditional_update: true,
        return_deleted: false,
        updates_as_new: false,
    };

    /// Policies of `admissionregistration.k8s.io` and their bindings.
    pub(super) const ADMISSION_POLICY: Self = Self {
        finalizer_rule: Finalizers::Any,
        unconditional_update: false,
        updates_as_new: true,
        ..Self::DEFAULT
    };

    /// Drivers, their nodes and attachments.
    pub(super) const CSI: Self = Self { unconditional_update: false, return_deleted: true, ..Self::DEFAULT };

    pub(super) const IP_ADDRESS: Self = Self { name_rule: NameRule::PathSegment, ..Self::DEFAULT };
}

impl KindRules for Plain {
    fn name_rule(&self) -> NameRule {
        self.name_rule
    }

    fn finalizer_rule(&self) -> Finalizers {
        self.finalizer_rule
    }

    fn allow_unconditional_update(&self) -> bool {
        self.unconditional_update
    }

    fn return_deleted_object(&self) -> bool {
        self.return_deleted
    }

    fn validate_update(&self, old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
        if self.updates_as_new {
            self.validate_metadata(new, faults);
        } else {
            self.validate_metadata_update(old, new, faults);
        }
    }

    fn reset_fields(&self, subresource: Option<&str>, has_status: bool) -> Reset {
        Reset::outside_status(subresource, has_status)
    }
}
