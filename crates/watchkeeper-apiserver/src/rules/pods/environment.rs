//! Environment variables, and their sources.

use watchkeeper_core::Quoted;

use crate::validate::amount::{Amount, written};
use crate::validate::faults::Faults;
use crate::validate::field::Field;
use crate::validate::syntax::{config_key, qualified_name, subdomain, variable};

/// Pod fields that a variable may refer to.
const POD_FIELDS: [&str; 9] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];
/// Container resources that a variable may refer to.
const CONTAINER_FIELDS: [&str; 6] = [
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];

/// Checks a variable of a container.
pub(super) fn environment(field: &Field<'_>, faults: &mut Faults) {
    let name = field.child("name");
    if name.is_empty() {
        faults.required(&name, "");
    } else {
        faults.malformed(&name, variable(name.text()));
    }
    let from = field.child("valueFrom");
    if !from.is_set() {
        return;
    }
    let mut sources = 0;
    let mut source = |name: &str, check: &mut dyn FnMut(&Field<'_>)| {
        let source = from.child(name);
        if source.is_set() {
            sources += 1;
            check(&source);
        }
    };
    source("fieldRef", &mut |at| pod_field(at, &POD_FIELDS, faults));
    source("resourceFieldRef", &mut |at| container_field(at, false, faults));
    source("configMapKeyRef", &mut |at| key_of(at, faults));
    source("secretKeyRef", &mut |at| key_of(at, faults));
    source("fileKeyRef", &mut |_| {});
    if sources == 0 {
        let why = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`";
        faults.invalid_value(&from, "\"\"", why);
    } else if !field.child("value").is_empty() {
        faults.invalid_value(&from, "\"\"", "may not be specified when `value` is not empty");
    } else if sources > 1 {
        faults.invalid_value(&from, "\"\"", "may not have more than one field specified at a time");
    }
}

/// Checks a reference to a pod field.
pub(super) fn pod_field(at: &Field<'_>, known: &[&str], faults: &mut Faults) {
    let (path, version) = (at.child("fieldPath"), at.child("apiVersion"));
    if path.is_empty() {
        faults.required(&path, "");
        return;
    }
    let text = path.text();
    if !matches!(version.text(), "" | "v1") {
        let why = format!("error converting fieldPath: unsupported pod version: {}", version.text());
        faults.invalid(&path, &why);
        return;
    }
    let subscript = text
        .strip_suffix(']')
        .and_then(|text| text.split_once("['"))
        .and_then(|(path, key)| Some((path, key.strip_suffix('\'')?)));
    if let Some((base, key)) = subscript {
        let key = if base == "metadata.annotations" { key.to_lowercase() } else { key.to_owned() };
        match base {
            "metadata.annotations" | "metadata.labels" => {
                for why in qualified_name(&key) {
                    faults.invalid_value(at, Quoted(&key), &why);
                }
            }
            _ => {
                let why =
                    format!("error converting fieldPath: field label does not support subscript: {text}");
                faults.invalid(&path, &why);
            }
        }
        return;
    }
    let convertible = known.contains(&text)
        || POD_FIELDS.contains(&text)
        || matches!(
            text,
            "metadata.annotations"
                | "metadata.labels"
                | "spec.restartPolicy"
                | "spec.schedulerName"
                | "status.phase"
                | "spec.host"
        );
    if !convertible {
        faults.invalid(&path, &format!("error converting fieldPath: field label not supported: {text}"));
    } else if !known.contains(&text) {
        faults.not_supported(&path, known);
    }
}

/// Checks a reference to a container resource.
pub(super) fn container_field(at: &Field<'_>, is_volume: bool, faults: &mut Faults) {
    let resource = at.child("resource");
    let is_pages =
        ["requests.hugepages-", "limits.hugepages-"].iter().any(|start| resource.text().starts_with(start));
    if is_volume && at.child("containerName").is_empty() {
        faults.required(&at.child("containerName"), "");
    } else if resource.is_empty() {
        faults.required(&resource, "");
    } else if !CONTAINER_FIELDS.contains(&resource.text()) && !is_pages {
        faults.not_supported(&resource, &CONTAINER_FIELDS);
    }
    let divisor = at.child("divisor");
    if Amount::of(divisor.value()).is_none_or(|amount| amount.sign().is_eq()) {
        return;
    }
    let text = written(&divisor);
    let (known, why): (&[&str], &str) = match resource.text() {
        "limits.cpu" | "requests.cpu" => {
            (&["1m", "1"], "only divisor's values 1m and 1 are supported with the cpu resource")
        }
        "limits.memory" | "requests.memory" => (
            &DIVISORS,
            "only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the memory resource",
        ),
        "limits.ephemeral-storage" | "requests.ephemeral-storage" => (
            &DIVISORS,
            "only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the local ephemeral storage resource",
        ),
        _ => return,
    };
    if !known.contains(&text.as_str()) {
        faults.invalid_value(&divisor, Quoted(resource.text()), why);
    }
}

const DIVISORS: [&str; 13] =
    ["1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"];

fn key_of(at: &Field<'_>, faults: &mut Faults) {
    let (name, key) = (at.child("name"), at.child("key"));
    for why in subdomain(name.text()) {
        faults.invalid_value(&name, Quoted(name.text()), &why);
    }
    if key.is_empty() {
        faults.required(&key, "");
    } else {
        faults.malformed(&key, config_key(key.text()));
    }
}

/// Checks `envFrom`.
pub(super) fn environment_from(list: &Field<'_>, faults: &mut Faults) {
    for source in list.items() {
        let prefix = source.child("prefix");
        if !prefix.is_empty() {
            faults.malformed(&prefix, variable(prefix.text()));
        }
        let mut sources = 0;
        for name in ["configMapRef", "secretRef"] {
            let reference = source.child(name);
            if !reference.is_set() {
                continue;
            }
            sources += 1;
            let name = reference.child("name");
            if name.is_empty() {
                faults.required(&name, "");
            } else {
                let rule = crate::validate::syntax::NameRule::Subdomain;
                faults.malformed(&name, rule.prefix_faults(name.text()));
            }
        }
        match sources {
            0 => faults.invalid_value(list, "\"\"", "must specify one of: `configMapRef` or `secretRef`"),
            1 => {}
            _ => faults.invalid_value(list, "\"\"", "may not have more than one field specified at a time"),
        }
    }
}
