//! Service accounts.

use serde_json::{Value, json};

use crate::registry::Resource;
use crate::rules::{Action, CreateEndpoint, KindRules};
use crate::validate::faults::Faults;
use crate::validate::field::Object;
use crate::write::Draft;

#[derive(Debug)]
pub(in crate::rules) struct ServiceAccounts;

impl KindRules for ServiceAccounts {
    fn create_endpoint(&self, subresource: Option<&str>) -> Option<CreateEndpoint> {
        match subresource {
            None => Some(CreateEndpoint::Object),
            Some("token") => Some(CreateEndpoint::Action(Action::IssueToken)),
            Some(_) => None,
        }
    }

    /// Of the references to secrets only the names are stored.
    fn prepare_for_create(&self, _resource: &Resource, new: &mut Draft) {
        let Some(Value::Array(secrets)) = new.part("secrets").cloned() else { return };
        let names: Vec<Value> = secrets.iter().map(|secret| json!({"name": secret["name"]})).collect();
        new.set_part("secrets", Some(names.into()));
    }

    fn return_deleted_object(&self) -> bool {
        true
    }

    fn validate_update(&self, old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
        self.validate_metadata_update(old, new, faults);
        self.validate_metadata(new, faults);
        self.validate_content(Some(old), new, faults);
    }
}
