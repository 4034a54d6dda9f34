//! Persistent volume claims.

use serde_json::{Map, Value, json};
use watchkeeper_core::Quoted;

use crate::registry::Resource;
use crate::rules::KindRules;
use crate::validate::amount::{Amount, positive, quantity};
use crate::validate::faults::{Faults, json};
use crate::validate::field::{Field, Object};
use crate::validate::selector::selector;
use crate::validate::syntax::subdomain;
use crate::write::Draft;

pub(super) const VOLUME_MODES: [&str; 2] = ["Block", "Filesystem"];

const MODES: [&str; 4] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];

/// kube-apiserver appends a diff.
const FIXED_CLAIM: &str = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";

#[derive(Debug)]
pub(in crate::rules) struct Claims;

impl KindRules for Claims {
    fn initial_status(&self) -> Option<Value> {
        Some(json!({"phase": "Pending"}))
    }

    fn prepare_for_create(&self, _resource: &Resource, new: &mut Draft) {
        relate_sources(new.part_mut("spec"));
    }

    fn prepare_for_update(&self, subresource: Option<&str>, _old: &Draft, new: &mut Draft) {
        if subresource.is_none() {
            relate_sources(new.part_mut("spec"));
        }
    }

    fn return_deleted_object(&self) -> bool {
        true
    }

    fn validate_content(&self, _old: Option<Object<'_>>, new: Object<'_>, faults: &mut Faults) {
        spec(&new.field("spec"), faults);
    }

    fn validate_update(&self, old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
        self.validate_metadata_update(old, new, faults);
        self.validate_metadata(new, faults);
        self.validate_content(Some(old), new, faults);
        validate_claim_update(old, new, faults);
    }
}

/// Keeps `dataSource` and the more expressive `dataSourceRef` in step.
fn relate_sources(spec: &mut Map<String, Value>) {
    if !spec.contains_key("dataSourceRef") {
        let is_known = |source: &Value| {
            let group = source["apiGroup"].as_str().unwrap_or_default();
            let kind = source["kind"].as_str().unwrap_or_default();
            (group.is_empty() && kind == "PersistentVolumeClaim")
                || (group == "snapshot.storage.k8s.io" && kind == "VolumeSnapshot")
        };
        match spec.get("dataSource").cloned() {
            Some(source) if is_known(&source) => drop(spec.insert("dataSourceRef".to_owned(), source)),
            _ => drop(spec.remove("dataSource")),
        }
    } else if !spec.contains_key("dataSource")
        && let Some(source) = spec.get("dataSourceRef").cloned()
        && source["namespace"].as_str().is_none_or(str::is_empty)
    {
        spec.insert("dataSource".to_owned(), source);
    }
}

/// Checks the spec of a claim or a claim template.
pub(in crate::rules) fn spec(field: &Field<'_>, faults: &mut Faults) {
    let modes = field.child("accessModes");
    if modes.is_empty() {
        faults.required(&modes, "at least 1 access mode is required");
    }
    selector(&field.child("selector"), faults);
    access_modes(&modes, faults);
    let resources = field.child("resources");
    let storage = Field::at(
        format!("{}[storage]", resources.path()),
        resources.child("requests").key("storage").value(),
    );
    if !storage.is_set() {
        faults.required(&storage, "");
    } else if positive(&storage, faults) {
        quantity("storage", &storage, faults);
    }
    for name in ["storageClassName", "volumeAttributesClassName"] {
        let class = field.child(name);
        if name == "volumeAttributesClassName" {
            faults.one_of_set(&field.child("volumeMode"), &VOLUME_MODES);
            sources(field, faults);
        }
        if !class.is_empty() {
            faults.malformed(&class, subdomain(class.text()));
        }
    }
}

pub(super) fn access_modes(modes: &Field<'_>, faults: &mut Faults) {
    let (mut has_exclusive, mut has_other) = (false, false);
    for mode in modes.texts() {
        if !MODES.contains(&mode) {
            faults.not_supported_value(modes, json(&Value::String(mode.to_owned())), &MODES);
        }
        has_exclusive |= mode == "ReadWriteOncePod";
        has_other |= mode != "ReadWriteOncePod" && MODES.contains(&mode);
    }
    if has_exclusive && has_other {
        faults.forbidden(modes, "may not use ReadWriteOncePod with other access modes");
    }
}

/// Checks the data sources.
fn sources(field: &Field<'_>, faults: &mut Faults) {
    let (plain, reference) = (field.child("dataSource"), field.child("dataSourceRef"));
    for source in [&plain, &reference].into_iter().filter(|source| source.is_set()) {
        for part in ["name", "kind"] {
            if source.child(part).is_empty() {
                faults.required(&source.child(part), "");
            }
        }
        let (group, kind) = (source.child("apiGroup"), source.child("kind"));
        if group.is_empty() && kind.text() != "PersistentVolumeClaim" {
            let why = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
            faults.invalid_value(source, Quoted(kind.text()), why);
        }
        if !group.is_empty() {
            faults.malformed(&group, subdomain(group.text()));
        }
    }
    if !plain.is_set() || !reference.is_set() {
        return;
    }
    // kube-apiserver shows an empty object in place of the source.
    let differs = |name: &str| plain.child(name).text() != reference.child(name).text();
    if !reference.child("namespace").is_empty() {
        faults.invalid_value(field, "{}", "may not be specified when dataSourceRef.namespace is specified");
    } else if ["apiGroup", "kind", "name"].into_iter().any(differs) {
        faults.invalid_value(field, "{}", "must match dataSourceRef");
    }
}

/// Checks the immutable fields.
fn validate_claim_update(old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
    let (before, now) = (old.field("spec"), new.field("spec"));
    let is_bound = new.field("status").child("phase").text() == "Bound";
    let masked = |spec: &Field<'_>| {
        let mut spec = spec.value().clone();
        if let Value::Object(fields) = &mut spec {
            if before.child("volumeName").is_empty() {
                fields.remove("volumeName");
            }
            if before.value()["storageClassName"].is_null() {
                fields.remove("storageClassName");
            }
            if is_bound {
                fields.remove("volumeAttributesClassName");
                if let Some(requests) = fields.get_mut("resources").and_then(|it| it.get_mut("requests")) {
                    requests["storage"] = Value::Null;
                }
            }
        }
        spec
    };
    if masked(&before) != masked(&now) {
        faults.forbidden(&now, FIXED_CLAIM);
    }
    let size = |value: &Value| Amount::of(&value["resources"]["requests"]["storage"]);
    let has = Amount::of(&old.field("status").value()["capacity"]["storage"]);
    if size(now.value()) < size(before.value()) && size(now.value()) <= has.or(Amount::of(&0.into())) {
        let place = Field::at("spec.resources.requests.storage", now.value());
        faults.forbidden(&place, "field can not be less than status.capacity");
    }
    let (mode, was) = (now.child("volumeMode"), before.child("volumeMode"));
    faults.immutable(&Field::at("volumeMode", mode.value()), &was);
}
