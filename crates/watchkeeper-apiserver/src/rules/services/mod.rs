//! Services.

mod addresses;
pub(crate) mod defaults;
mod spec;
mod validate;

use std::borrow::Cow;

use serde_json::{Value, json};

use super::KindRules;
use crate::registry::Resource;
use crate::validate::faults::Faults;
use crate::validate::field::Object;
use crate::validate::syntax::NameRule;
use crate::write::Draft;

pub(crate) use addresses::AddressAllocator;

#[derive(Debug)]
pub(in crate::rules) struct Services;

impl KindRules for Services {
    fn name_rule(&self) -> NameRule {
        NameRule::Label
    }

    fn storage_prefix<'a>(&self, _resource: &'a Resource) -> Cow<'a, str> {
        "services/specs".into()
    }

    fn initial_status(&self) -> Option<Value> {
        Some(json!({"loadBalancer": {}}))
    }

    fn prepare_for_create(&self, _resource: &Resource, new: &mut Draft) {
        spec::begin(new.part_mut("spec"));
    }

    fn allocates_addresses(&self) -> bool {
        true
    }

    fn allow_create_on_update(&self) -> bool {
        true
    }

    fn prepare_for_update(&self, subresource: Option<&str>, old: &Draft, new: &mut Draft) {
        if subresource.is_none() {
            spec::revise(old, new);
        }
    }

    fn return_deleted_object(&self) -> bool {
        true
    }

    fn validate_early(&self, old: Option<Object<'_>>, new: Object<'_>, faults: &mut Faults) {
        validate::misaddressed(new, old, faults);
    }

    fn validate_content(&self, old: Option<Object<'_>>, new: Object<'_>, faults: &mut Faults) {
        validate::service(new, old, faults);
    }

    fn validate_update(&self, old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
        self.validate_metadata_update(old, new, faults);
        validate::changed(old, new, faults);
        self.validate_content(Some(old), new, faults);
    }
}
