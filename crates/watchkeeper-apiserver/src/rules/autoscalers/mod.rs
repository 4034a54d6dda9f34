//! Horizontal pod autoscalers: stored as `autoscaling/v2`, served as `autoscaling/v1` too.

mod conversion;
pub(crate) mod defaults;
mod metric;
mod validate;

use serde_json::{Map, Value};

use super::KindRules;
use super::workloads::counts;
use crate::validate::faults::Faults;
use crate::validate::field::Object;

pub(crate) use conversion::{drop_carriers, show_autoscaler, store_autoscaler};

/// `autoscaling/v2`.
#[derive(Debug)]
pub(in crate::rules) struct Autoscalers;

impl KindRules for Autoscalers {
    fn restore_empty(&self, sent: &Value, decoded: &mut Value) {
        keep_empty_policies(sent, decoded);
    }

    fn convert_to_storage(&self, fields: &mut Map<String, Value>) {
        drop_carriers(fields);
    }

    fn version_annotations(&self) -> &'static [&'static str] {
        &conversion::CARRIERS
    }

    fn validate_content(&self, old: Option<Object<'_>>, new: Object<'_>, faults: &mut Faults) {
        validate::autoscaler(new, old, faults);
    }

    fn validate_status_update(&self, _old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
        validate_status(new, faults);
    }
}

/// `autoscaling/v1`.
#[derive(Debug)]
pub(in crate::rules) struct AutoscalersV1;

impl KindRules for AutoscalersV1 {
    fn storage_version(&self) -> Option<&'static str> {
        Some("v2")
    }

    fn restore_empty(&self, sent: &Value, decoded: &mut Value) {
        keep_empty_policies(sent, decoded);
    }

    fn convert_to_storage(&self, fields: &mut Map<String, Value>) {
        store_autoscaler(fields);
    }

    fn convert_from_storage(&self, fields: &mut Map<String, Value>) {
        show_autoscaler(fields);
    }

    fn version_annotations(&self) -> &'static [&'static str] {
        &conversion::CARRIERS
    }

    fn validate_content(&self, old: Option<Object<'_>>, new: Object<'_>, faults: &mut Faults) {
        validate::autoscaler(new, old, faults);
    }

    fn validate_status_update(&self, _old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
        validate_status(new, faults);
    }
}

fn validate_status(new: Object<'_>, faults: &mut Faults) {
    counts(&new.field("status"), &["currentReplicas", "desiredReplicas"], faults);
}

/// Restores `policies: []`: absent policies get defaults, an empty list is invalid.
fn keep_empty_policies(sent: &Value, decoded: &mut Value) {
    for rules in ["/spec/behavior/scaleUp", "/spec/behavior/scaleDown"] {
        let policies = sent.pointer(rules).and_then(|rules| rules.get("policies"));
        let is_empty = policies.and_then(Value::as_array).is_some_and(Vec::is_empty);
        if let (true, Some(Value::Object(rules))) = (is_empty, decoded.pointer_mut(rules)) {
            rules.insert("policies".to_owned(), Value::Array(Vec::new()));
        }
    }
}
