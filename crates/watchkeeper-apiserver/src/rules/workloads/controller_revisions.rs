//! Controller revisions.

use crate::rules::KindRules;
use crate::validate::faults::Faults;
use crate::validate::field::Object;

#[derive(Debug)]
pub(in crate::rules) struct ControllerRevisions;

impl KindRules for ControllerRevisions {
    fn validate_content(&self, _old: Option<Object<'_>>, new: Object<'_>, faults: &mut Faults) {
        faults.negative(&new.field("revision"));
        let data = new.field("data");
        if !data.is_set() {
            faults.required(&data, "data is mandatory");
        } else if !data.value().is_object() {
            faults.required(&data, "data must be a valid JSON object");
        }
    }

    fn validate_update(&self, old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
        self.validate_metadata_update(old, new, faults);
        self.validate_metadata(new, faults);
        faults.negative(&new.field("revision"));
        faults.immutable(&new.field("data"), &old.field("data"));
    }
}
