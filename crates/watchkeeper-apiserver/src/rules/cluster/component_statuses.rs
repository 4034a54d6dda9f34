//! Component statuses: nothing is stored.

use crate::rules::KindRules;

#[derive(Debug)]
pub(in crate::rules) struct ComponentStatuses;

impl KindRules for ComponentStatuses {
    fn reports_components(&self) -> bool {
        true
    }

    fn deprecation(&self, writes: bool) -> Option<&'static str> {
        (!writes).then_some("v1 ComponentStatus is deprecated in v1.19+")
    }
}
