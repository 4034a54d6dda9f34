//! Cells of volumes, claims and storage classes.

use serde_json::Value;
use watchkeeper_wire::json_path::at;

use crate::cell::Subject;
use crate::value::{amount, list, modes, text, text_or_empty, timestamp};

fn annotation<'a>(object: &'a Value, name: &str) -> Option<&'a str> {
    at(object, "metadata.annotations")?.get(name)?.as_str()
}

/// Phase of a volume or claim.
pub(crate) fn volume_phase(subject: &Subject<'_>) -> Value {
    Value::from(match at(subject.object, "metadata.deletionTimestamp") {
        Some(_) => "Terminating",
        None => text_or_empty(subject.object, "status.phase"),
    })
}

/// Class of a volume or claim; the legacy annotation takes precedence.
pub(crate) fn volume_class(subject: &Subject<'_>) -> Value {
    let old = annotation(subject.object, "volume.beta.kubernetes.io/storage-class");
    Value::from(old.unwrap_or_else(|| text_or_empty(subject.object, "spec.storageClassName")))
}

pub(crate) fn volume_claim(subject: &Subject<'_>) -> Value {
    Value::from(match at(subject.object, "spec.claimRef") {
        Some(claim) => format!("{}/{}", text_or_empty(claim, "namespace"), text_or_empty(claim, "name")),
        None => String::new(),
    })
}

fn is_bound(claim: &Value) -> bool {
    !text_or_empty(claim, "spec.volumeName").is_empty()
}

pub(crate) fn claim_capacity(subject: &Subject<'_>) -> Value {
    Value::from(if is_bound(subject.object) {
        amount(at(subject.object, "status.capacity.storage"))
    } else {
        String::new()
    })
}

pub(crate) fn claim_modes(subject: &Subject<'_>) -> Value {
    Value::from(if is_bound(subject.object) {
        modes(list(subject.object, "status.accessModes"))
    } else {
        String::new()
    })
}

pub(crate) fn csidriver_tokens(subject: &Subject<'_>) -> Value {
    let Some(requests) = at(subject.object, "spec.tokenRequests") else { return Value::from("<unset>") };
    let audience = |request: &Value| text_or_empty(request, "audience").to_owned();
    let audiences: Vec<String> = requests.as_array().into_iter().flatten().map(audience).collect();
    Value::from(audiences.join(","))
}

pub(crate) fn storageclass_name(subject: &Subject<'_>) -> Value {
    let name = text_or_empty(subject.object, "metadata.name");
    let is_default = subject.default_class == Some(name) && !name.is_empty();
    Value::from(if is_default { format!("{name} (default)") } else { name.to_owned() })
}

/// Returns the default of a list of storage classes: the youngest with the annotation, and among several the first
/// by name.
pub fn default_storage_class(items: &[Value]) -> Option<&str> {
    let says_so = |class: &&Value| {
        ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"]
            .iter()
            .any(|name| annotation(class, name) == Some("true"))
    };
    let rank = |class: &Value| {
        let created = at(class, "metadata.creationTimestamp").and_then(timestamp);
        (created, std::cmp::Reverse(text_or_empty(class, "metadata.name").to_owned()))
    };
    let class = items.iter().filter(says_so).max_by_key(|class| rank(class))?;
    text(class, "metadata.name")
}
