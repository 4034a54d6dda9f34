//! Persistent volumes.

use serde_json::{Value, json};

use super::claims::{VOLUME_MODES, access_modes};
use crate::clock::now;
use crate::rules::KindRules;
use crate::rules::pods::{common_source, driver, node_selector};
use crate::validate::amount::{Amount, positive};
use crate::validate::faults::{Faults, json};
use crate::validate::field::{Field, Object};
use crate::validate::selector::json_text;
use crate::validate::syntax::{NameRule, subdomain};

const FIXED_VOLUME: &str = "spec.persistentvolumesource is immutable after creation";

/// The sources, in the order of the checks.
const SOURCES: [&str; 21] = [
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "flocker",
    "nfs",
    "rbd",
    "quobyte",
    "cephfs",
    "iscsi",
    "cinder",
    "fc",
    "flexVolume",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "scaleIO",
    "local",
    "storageos",
];

#[derive(Debug)]
pub(in crate::rules) struct Volumes;

impl KindRules for Volumes {
    fn initial_status(&self) -> Option<Value> {
        Some(json!({"phase": "Pending", "lastPhaseTransitionTime": now().to_string()}))
    }

    fn return_deleted_object(&self) -> bool {
        true
    }

    fn validate_content(&self, _old: Option<Object<'_>>, new: Object<'_>, faults: &mut Faults) {
        validate_volume(new, faults);
    }

    /// kube-apiserver validates the whole volume twice, and reports each fault twice.
    fn validate_update(&self, old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
        self.validate_metadata(new, faults);
        self.validate_content(Some(old), new, faults);
        self.validate_metadata(new, faults);
        self.validate_content(Some(old), new, faults);
        validate_volume_update(old, new, faults);
    }
}

/// Checks a volume, except for its metadata.
fn validate_volume(object: Object<'_>, faults: &mut Faults) {
    let spec = object.field("spec");
    let (modes, capacity) = (spec.child("accessModes"), spec.child("capacity"));
    if modes.is_empty() {
        faults.required(&modes, "");
    }
    access_modes(&modes, faults);
    if capacity.is_empty() {
        faults.required(&capacity, "");
    }
    if !capacity.key("storage").is_set() || capacity.len() > 1 {
        faults.not_supported(&capacity, &["storage"]);
    }
    for (_, amount) in capacity.entries() {
        if let Some(value) = Amount::of(amount.value()).filter(|value| value.rounded_up() < 0) {
            faults.invalid_value(&amount, value.rounded_up(), "must be a valid resource quantity");
        }
        positive(&amount, faults);
    }
    faults.one_of(&spec.child("persistentVolumeReclaimPolicy"), &["Delete", "Recycle", "Retain"]);
    let affinity = spec.child("nodeAffinity");
    if affinity.is_set() {
        if affinity.child("required").is_set() {
            node_selector(&affinity.child("required"), faults);
        } else {
            faults.required(&affinity.child("required"), "must specify required node constraints");
        }
    }
    volume_source(&spec, faults);
    let class = spec.child("storageClassName");
    if !class.is_empty() {
        faults.malformed(&class, subdomain(class.text()));
    }
    faults.one_of_set(&spec.child("volumeMode"), &VOLUME_MODES);
}

fn volume_source(spec: &Field<'_>, faults: &mut Faults) {
    let mut count = 0;
    for name in SOURCES.into_iter().chain(["csi"]) {
        let source = spec.child(name);
        if !source.is_set() {
            continue;
        }
        count += 1;
        if count > 1 {
            faults.forbidden(&source, "may not specify more than 1 volume type");
            continue;
        }
        match name {
            "csi" => csi(&source, faults),
            "local" => {
                if source.child("path").is_empty() {
                    faults.required(&source.child("path"), "");
                } else if source.child("path").text().split('/').any(|step| step == "..") {
                    faults.invalid(&source.child("path"), "must not contain '..'");
                }
                if !spec.child("nodeAffinity").is_set() {
                    faults.required(&spec.child("nodeAffinity"), "Local volume requires node affinity");
                }
            }
            name => common_source(name, &source, faults),
        }
    }
    if count == 0 {
        faults.required(spec, "must specify a volume type");
    }
}

fn csi(field: &Field<'_>, faults: &mut Faults) {
    driver(&field.child("driver"), faults);
    if field.child("volumeHandle").is_empty() {
        faults.required(&field.child("volumeHandle"), "");
    }
    let references = [
        "controllerPublishSecretRef",
        "controllerExpandSecretRef",
        "nodePublishSecretRef",
        "nodeExpandSecretRef",
    ];
    for reference in references.map(|name| field.child(name)).iter().filter(|it| it.is_set()) {
        for (name, rule) in [("name", NameRule::Subdomain), ("namespace", NameRule::Label)] {
            let name = reference.child(name);
            if name.is_empty() {
                faults.required(&name, "");
            } else {
                faults.malformed(&name, rule.faults(name.text()));
            }
        }
    }
}

/// Checks the immutable fields.
fn validate_volume_update(old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
    let (before, now) = (old.field("spec"), new.field("spec"));
    let differs = SOURCES.into_iter().any(|name| before.child(name).value() != now.child(name).value());
    let without_secret = |csi: &Field<'_>| {
        let mut csi = csi.value().clone();
        if before.value()["csi"]["controllerExpandSecretRef"].is_null()
            && let Value::Object(fields) = &mut csi
        {
            fields.remove("controllerExpandSecretRef");
        }
        csi
    };
    if differs || without_secret(&before.child("csi")) != without_secret(&now.child("csi")) {
        faults.forbidden(&Field::at("spec.persistentvolumesource", now.value()), FIXED_VOLUME);
    }
    let mode = now.child("volumeMode");
    faults.immutable(&Field::at("volumeMode", mode.value()), &before.child("volumeMode"));
    let (place, was) = (now.child("nodeAffinity"), before.child("nodeAffinity"));
    if was.is_set() && renamed(was.value(), place.value()) != *place.value() {
        let why = "field is immutable, except for updating from beta label to GA";
        faults.invalid_value(&Field::at("nodeAffinity", place.value()), internal_affinity(&place), why);
    }
}

/// Returns the old node affinity with deprecated labels renamed, where the update has renamed them.
fn renamed(was: &Value, now: &Value) -> Value {
    let mut was = was.clone();
    let terms = was.pointer_mut("/required/nodeSelectorTerms").and_then(Value::as_array_mut);
    for (at, term) in terms.into_iter().flatten().enumerate() {
        for list in ["matchExpressions", "matchFields"] {
            let known = term.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
            for (index, requirement) in known.enumerate() {
                let key = &now["required"]["nodeSelectorTerms"][at][list][index]["key"];
                // As in kube-apiserver, a label without a stable name may become empty.
                if key.as_str() == Some(stable_label(requirement["key"].as_str().unwrap_or_default())) {
                    requirement["key"] = key.clone();
                }
            }
        }
    }
    was
}

/// Returns the stable name of a deprecated node label; empty if it has none.
fn stable_label(label: &str) -> &'static str {
    match label {
        "failure-domain.beta.kubernetes.io/zone" => "topology.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region" => "topology.kubernetes.io/region",
        "beta.kubernetes.io/os" => "kubernetes.io/os",
        "beta.kubernetes.io/arch" => "kubernetes.io/arch",
        "beta.kubernetes.io/instance-type" => "node.kubernetes.io/instance-type",
        _ => "",
    }
}

/// Formats a node affinity as Go's internal type, without tags.
fn internal_affinity(field: &Field<'_>) -> String {
    let list = |field: &Field<'_>, item: &dyn Fn(Field<'_>) -> String| {
        if field.is_set() {
            format!("[{}]", field.items().map(item).collect::<Vec<_>>().join(","))
        } else {
            "null".to_owned()
        }
    };
    let requirement = |it: Field<'_>| {
        let (key, operator) = (json_text(it.child("key").text()), json_text(it.child("operator").text()));
        format!("{{\"Key\":{key},\"Operator\":{operator},\"Values\":{}}}", json(it.child("values").value()))
    };
    let term = |it: Field<'_>| {
        let expressions = list(&it.child("matchExpressions"), &requirement);
        format!(
            "{{\"MatchExpressions\":{expressions},\"MatchFields\":{}}}",
            list(&it.child("matchFields"), &requirement)
        )
    };
    let required = field.child("required");
    match (field.is_set(), required.is_set()) {
        (false, _) => "null".to_owned(),
        (true, false) => "{\"Required\":null}".to_owned(),
        (true, true) => {
            let terms = list(&required.child("nodeSelectorTerms"), &term);
            format!("{{\"Required\":{{\"NodeSelectorTerms\":{terms}}}}}")
        }
    }
}
