//! Validation of CustomResourceDefinitions, with kube-apiserver's messages.
//!
//! Input: a definition with its defaults, whose metadata is valid.
//! Output: the causes of a 422.
//!
//! kube-apiserver's internal type holds once what all versions have in common: with one version, paths begin with
//! `spec.validation`, `spec.subresources` and `spec.additionalPrinterColumns`. Lists of versions and whole schemas are
//! shown with Go's field names.

mod conversion;
mod defaults;
mod field_path;
mod go_json;
mod names;
mod open_api;
mod structural;
#[cfg(test)]
mod tests;
mod version;

use serde_json::{Map, Value};
use watchkeeper_core::{Quoted, StatusCause};

use crate::validate::faults::Faults;
use crate::validate::field::{Field, Object};
use crate::validate::syntax::{label_1035, subdomain};

use version::{Shared, Subject};

const APPROVED: &str = "api-approved.kubernetes.io";

/// Validates a new definition, except for its metadata.
pub(super) fn check(definition: &Value) -> Vec<StatusCause> {
    let empty = Map::new();
    let object = Object(definition.as_object().unwrap_or(&empty));
    let mut faults = Faults::default();
    let spec = object.field("spec");
    let wanted = format!("{}.{}", spec.child("names").child("plural").text(), spec.child("group").text());
    if !object.name().is_empty() && object.name() != wanted {
        let name = object.field("metadata").child("name");
        faults.invalid(&name, "must be spec.names.plural+\".\"+spec.group");
    }
    check_spec(&spec, &mut faults);
    let storage = storage_versions(&spec).into_iter().next();
    let stored = storage.map_or(Value::Null, |name| Value::from(vec![name]));
    stored_versions(&stored, &spec, &mut faults);
    approval(object, None, &mut faults);
    preserves(&spec, None, &mut faults);
    faults.into_causes()
}

/// Validates a definition that replaces `old`, except for its metadata.
pub(super) fn check_update(definition: &Value, old: &Value) -> Vec<StatusCause> {
    let empty = Map::new();
    let object = Object(definition.as_object().unwrap_or(&empty));
    let old = Object(old.as_object().unwrap_or(&empty));
    let (spec, before, mut faults) = (object.field("spec"), old.field("spec"), Faults::default());
    check_spec(&spec, &mut faults);
    let is_established = old.field("status").child("conditions").items().any(|condition| {
        condition.child("type").text() == "Established" && condition.child("status").text() == "True"
    });
    let (names, names_before) = (spec.child("names"), before.child("names"));
    if is_established {
        faults.immutable_text(&spec.child("scope"), &before.child("scope"));
        faults.immutable_text(&names.child("kind"), &names_before.child("kind"));
    }
    faults.immutable_text(&spec.child("group"), &before.child("group"));
    faults.immutable_text(&names.child("plural"), &names_before.child("plural"));
    names::check(&object.field("status").child("acceptedNames"), &mut faults);
    let mut stored: Vec<Value> =
        object.field("status").child("storedVersions").value().as_array().cloned().unwrap_or_default();
    if let Some(name) = storage_versions(&spec).into_iter().next()
        && !stored.iter().any(|stored| stored == name)
    {
        stored.push(Value::from(name));
    }
    stored_versions(&Value::from(stored), &spec, &mut faults);
    approval(object, Some(old), &mut faults);
    preserves(&spec, Some(&before), &mut faults);
    faults.into_causes()
}

fn storage_versions<'a>(spec: &Field<'a>) -> Vec<&'a str> {
    let versions = spec.child("versions");
    let storage = versions.items().filter(|version| version.child("storage").is_true());
    storage.map(|version| version.child("name").text()).collect()
}

fn check_spec(spec: &Field<'_>, faults: &mut Faults) {
    let group = spec.child("group");
    let why = subdomain(group.text());
    if group.is_empty() {
        faults.required(&group, "");
    } else if !why.is_empty() {
        faults.invalid(&group, &why.join(","));
    } else if !group.text().contains('.') {
        faults.invalid(&group, "should be a domain with at least one dot");
    }
    let scope = spec.child("scope");
    if scope.is_empty() {
        faults.required(&scope, "");
    } else if !matches!(scope.text(), "Cluster" | "Namespaced") {
        faults.not_supported(&scope, &["Cluster", "Namespaced"]);
    }
    let subject = Subject::of(spec);
    check_versions(&subject, faults);
    names_of(spec, faults);
    subject.check_shared(faults);
    let conversion = spec.child("conversion");
    let strategy = conversion.child("strategy");
    if conversion.is_set() && strategy.text() != "None" && spec.child("preserveUnknownFields").is_true() {
        faults.invalid(&strategy, "must be None if spec.preserveUnknownFields is true");
    }
    conversion::check(&conversion, faults);
}

fn check_versions(subject: &Subject<'_>, faults: &mut Faults) {
    let spec = subject.spec();
    let versions = spec.child("versions");
    let shared = subject.shared(Shared::Schema);
    if shared.is_none_or(|schema| !schema.child("openAPIV3Schema").is_set()) {
        for version in versions.items() {
            let schema = version.child("schema").child("openAPIV3Schema");
            if !schema.is_set() {
                faults.required(&schema, "");
            }
        }
    }
    if spec.child("preserveUnknownFields").is_true() && subject.has_defaults() {
        let at = spec.child("preserveUnknownFields");
        faults.invalid_value(&at, "true", "must be false in order to use defaults in the schema");
    }
    let mut names = Vec::new();
    for version in versions.items() {
        let name = version.child("name");
        let why = label_1035(name.text());
        if !why.is_empty() {
            faults.invalid_value(&name, Quoted(name.text()), &why.join(","));
        }
        names.push(name.text());
        subject.check_version(&version, faults);
    }
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    if names.len() < count {
        faults.invalid_value(&versions, subject.shown_versions(), "must contain unique version names");
    }
    if storage_versions(&spec).len() != 1 {
        let why = "must have exactly one version marked as storage version";
        faults.invalid_value(&versions, subject.shown_versions(), why);
    }
    if let Some(first) = versions.items().next() {
        // kube-apiserver reports it in a field of its internal type.
        let name = first.child("name");
        let (why, at) = (label_1035(name.text()), Field::at("spec.version", name.value()));
        if !why.is_empty() && !name.is_empty() {
            faults.invalid_value(&at, Quoted(name.text()), &why.join(","));
        }
    }
}

fn names_of(spec: &Field<'_>, faults: &mut Faults) {
    let names = spec.child("names");
    for name in ["plural", "singular", "kind", "listKind"] {
        if names.child(name).is_empty() {
            faults.required(&names.child(name), "");
        }
    }
    names::check(&names, faults);
}

fn stored_versions(stored: &Value, spec: &Field<'_>, faults: &mut Faults) {
    let at = Field::at("status.storedVersions", stored);
    if at.is_empty() {
        faults.invalid(&at, "must have at least one stored version");
        return;
    }
    let versions = spec.child("versions");
    for name in storage_versions(spec) {
        if !at.texts().any(|stored| stored == name) {
            faults.invalid(&at, &format!("must have the storage version {name}"));
        }
    }
    for item in at.items() {
        let name = item.text();
        if !versions.items().any(|version| version.child("name").text() == name) {
            let why = format!(
                "missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in {name} and removes {name} from status.storedVersions"
            );
            faults.invalid(&item, &why);
        }
    }
}

/// Groups under `k8s.io` and `kubernetes.io` need an approval annotation.
fn approval(object: Object<'_>, old: Option<Object<'_>>, faults: &mut Faults) {
    const SEE: &str = "see https://github.com/kubernetes/enhancements/pull/1111";
    let spec = object.field("spec");
    let group = spec.child("group").text();
    let is_of =
        |domain: &str| group.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    if !is_of("k8s.io") && !is_of("kubernetes.io") {
        return;
    }
    let state = |object: Object<'_>| match object.annotation(APPROVED).unwrap_or_default() {
        "" => "missing",
        text if text.starts_with("unapproved") => "bypassed",
        text => match text.split_once("://") {
            Some((scheme, rest)) if !scheme.is_empty() && !rest.is_empty() && !rest.starts_with('/') => {
                "approved"
            }
            _ => "invalid",
        },
    };
    let found = state(object);
    if old.is_some_and(|old| state(old) == found) {
        return;
    }
    let at = object.field("metadata").child("annotations").key(APPROVED);
    let needed = format!("protected groups must have approval annotation \"{APPROVED}\"");
    match found {
        "missing" => faults.required(&at, &format!("{needed}, {SEE}")),
        "invalid" => {
            let why = format!("{needed} with either a URL or a reason starting with \"unapproved\", {SEE}");
            faults.invalid(&at, &why);
        }
        _ => {}
    }
}

fn preserves(spec: &Field<'_>, old: Option<&Field<'_>>, faults: &mut Faults) {
    let at = spec.child("preserveUnknownFields");
    if at.is_true() && !old.is_some_and(|old| old.child("preserveUnknownFields").is_true()) {
        let why = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
        faults.invalid(&at, why);
    }
}
