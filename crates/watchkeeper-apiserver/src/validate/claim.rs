//! Storage: claims, volumes and classes.

use serde_json::Value;
use watchkeeper_core::Quoted;

use super::amount::{Amount, positive, quantity};
use super::faults::{Faults, json};
use super::field::{Field, Object};
use super::form::{NameRule, qualified_name, subdomain};
use super::pod::{common_source, driver, node_selector};
use super::selector::{json_text, selector};

const MODES: [&str; 4] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
const VOLUME_MODES: [&str; 2] = ["Block", "Filesystem"];
/// The sentence that is followed, on the real server, by a text of what differs.
const FIXED_CLAIM: &str = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";
const FIXED_VOLUME: &str = "spec.persistentvolumesource is immutable after creation";
/// The sources in the order in which they are looked at.
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

/// The spec of a claim, or of a template of claims.
pub(super) fn spec(field: &Field<'_>, faults: &mut Faults) {
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

fn access_modes(modes: &Field<'_>, faults: &mut Faults) {
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

/// What a claim is filled from.
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
    // The real server means to show the source, and shows a thing that has no fields.
    let differs = |name: &str| plain.child(name).text() != reference.child(name).text();
    if !reference.child("namespace").is_empty() {
        faults.invalid_value(field, "{}", "may not be specified when dataSourceRef.namespace is specified");
    } else if ["apiGroup", "kind", "name"].into_iter().any(differs) {
        faults.invalid_value(field, "{}", "must match dataSourceRef");
    }
}

/// What of a claim may not change.
pub(super) fn changed_claim(old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
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

/// A volume but for its metadata.
pub(super) fn volume(object: Object<'_>, faults: &mut Faults) {
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

/// What of a volume may not change.
pub(super) fn changed_volume(old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
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

/// Where a volume was, with the labels of nodes by the names that they have now, if that is what has changed.
fn renamed(was: &Value, now: &Value) -> Value {
    let mut was = was.clone();
    let terms = was.pointer_mut("/required/nodeSelectorTerms").and_then(Value::as_array_mut);
    for (at, term) in terms.into_iter().flatten().enumerate() {
        for list in ["matchExpressions", "matchFields"] {
            let known = term.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
            for (index, requirement) in known.enumerate() {
                let key = &now["required"]["nodeSelectorTerms"][at][list][index]["key"];
                // As on the real server, a label that has no other name may become empty.
                if key.as_str() == Some(stable_label(requirement["key"].as_str().unwrap_or_default())) {
                    requirement["key"] = key.clone();
                }
            }
        }
    }
    was
}

/// What a label of nodes is called since it is no beta any more; empty where it never was.
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

/// Where a volume is, as Go shows its own type, which has no tags.
fn internal_affinity(field: &Field<'_>) -> String {
    let list = |field: &Field<'_>, item: &dyn Fn(Field<'_>) -> String| match field.is_set() {
        true => format!("[{}]", field.items().map(item).collect::<Vec<_>>().join(",")),
        false => "null".to_owned(),
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

/// A storage class but for its metadata.
pub(super) fn class(object: Object<'_>, faults: &mut Faults) {
    let (provisioner, parameters) = (object.field("provisioner"), object.field("parameters"));
    if provisioner.is_empty() {
        faults.declared(|faults| faults.required(&provisioner, ""));
    } else {
        let low = provisioner.text().to_lowercase();
        for why in qualified_name(&low) {
            faults.invalid_value(&provisioner, Quoted(&low), &why);
        }
    }
    if parameters.len() > 512 {
        faults.too_long(&parameters, 512);
    }
    for (key, _) in parameters.entries().filter(|(key, _)| key.is_empty()) {
        faults.invalid_value(&parameters, Quoted(key), "field can not be empty.");
    }
    faults.one_of(&object.field("reclaimPolicy"), &["Delete", "Retain"]);
    faults.one_of_set(&object.field("volumeBindingMode"), &["Immediate", "WaitForFirstConsumer"]);
}

/// What of a storage class may not change.
pub(super) fn changed_class(old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
    faults.declared(|faults| {
        for name in ["provisioner", "parameters", "reclaimPolicy", "volumeBindingMode"] {
            if old.field(name).value() != new.field(name).value() {
                faults.invalid_value(&new.field(name), "null", "field is immutable");
            }
        }
    });
}
