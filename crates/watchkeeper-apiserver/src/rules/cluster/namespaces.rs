//! Namespaces.

use serde_json::{Value, json};
use watchkeeper_core::Quoted;

use crate::clock::now;
use crate::registry::Resource;
use crate::rules::KindRules;
use crate::validate::faults::Faults;
use crate::validate::field::{Field, Object};
use crate::validate::metadata::owned_finalizer;
use crate::validate::selector::json_text;
use crate::validate::syntax::{NameRule, qualified_name};
use crate::write::Draft;

const NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// Namespaces that cannot be deleted.
pub(crate) const PROTECTED_NAMESPACES: [&str; 3] = ["default", "kube-public", "kube-system"];

#[derive(Debug)]
pub(in crate::rules) struct Namespaces;

impl KindRules for Namespaces {
    fn name_rule(&self) -> NameRule {
        NameRule::Label
    }

    fn prepare_for_create(&self, _resource: &Resource, new: &mut Draft) {
        label(new);
        let mut finalizers: Vec<Value> = new.spec_finalizers().into_iter().map(Into::into).collect();
        if !finalizers.contains(&json!("kubernetes")) {
            finalizers.push("kubernetes".into());
        }
        new.set_in("spec", "finalizers", Some(finalizers.into()));
        new.set_part("status", Some(json!({"phase": "Active"})));
    }

    /// Only the `finalize` subresource changes the finalizers of the spec.
    fn prepare_for_update(&self, subresource: Option<&str>, old: &Draft, new: &mut Draft) {
        if subresource.is_none() {
            let finalizers = old.part("spec").and_then(|spec| spec.get("finalizers")).cloned();
            new.set_in("spec", "finalizers", finalizers);
        }
        label(new);
    }

    fn terminate(&self, old: &Draft, new: &mut Draft) -> bool {
        if !old.is_being_deleted() {
            new.set_meta("deletionTimestamp", Some(now().to_string().into()));
        }
        new.set_in("status", "phase", Some("Terminating".into()));
        true
    }

    fn is_finished(&self, object: &Draft) -> bool {
        object.spec_finalizers().is_empty()
    }

    fn validate_content(&self, _old: Option<Object<'_>>, new: Object<'_>, faults: &mut Faults) {
        validate_namespace(new, faults);
    }

    fn validate_update(&self, old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
        self.validate_metadata(new, faults);
        self.validate_content(Some(old), new, faults);
        self.validate_metadata_update(old, new, faults);
    }

    fn validate_status_update(&self, _old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
        validate_phase(new, faults);
    }

    fn is_namespace(&self) -> bool {
        true
    }
}

/// Labels a namespace with its name.
fn label(draft: &mut Draft) {
    let name = draft.text("name").to_owned();
    if name.is_empty() {
        return;
    }
    draft.set_pair("labels", NAME_LABEL, &name);
}

/// Checks a namespace, except for its metadata.
fn validate_namespace(object: Object<'_>, faults: &mut Faults) {
    let list = object.field("spec").child("finalizers");
    for finalizer in list.texts() {
        for why in qualified_name(finalizer) {
            faults.invalid_value(&list, Quoted(finalizer), &why);
        }
        owned_finalizer(&list, finalizer, faults);
    }
}

/// Checks that a namespace is active until it is deleted.
fn validate_phase(namespace: Object<'_>, faults: &mut Faults) {
    let phase = namespace.field("status").child("phase");
    let at = Field::at("status.Phase", phase.value());
    let is_deleted = namespace.field("metadata").child("deletionTimestamp").is_set();
    let (wanted, is_empty) = if is_deleted { ("Terminating", "not empty") } else { ("Active", "empty") };
    if phase.text() != wanted {
        let why = format!("may only be '{wanted}' if `deletionTimestamp` is {is_empty}");
        faults.invalid_value(&at, json_text(phase.text()), &why);
    }
}
