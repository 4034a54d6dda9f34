//! Metadata: names, labels, annotations, owners and finalizers of an object.

use serde_json::Value;
use watchkeeper_core::Quoted;

use super::faults::{Faults, json};
use super::field::{Field, Object};
use super::selector::labels;
use super::syntax::{NameRule, qualified_name};

/// The maximum size of all annotations of an object.
const ANNOTATION_BYTES: usize = 256 << 10;
/// Finalizers that need no domain prefix.
const STANDARD_FINALIZERS: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];

/// The syntax of the finalizers of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finalizers {
    /// Standard, or with a domain prefix.
    Owned,
    /// Any qualified name.
    Any,
}

/// Checks the metadata of a new object.
pub(crate) fn new(object: Object<'_>, rule: NameRule, finalizers: Finalizers, faults: &mut Faults) {
    let metadata = object.field("metadata");
    names(&metadata, true, rule, faults);
    besides_names(&metadata, faults);
    if finalizers == Finalizers::Owned {
        owned_finalizers(&metadata.child("finalizers"), faults);
    }
}

/// Checks what kube-apiserver checks for every kind, of a new object whose kind does not validate metadata itself: only
/// where nothing else is wrong.
pub(crate) fn new_generic(object: Object<'_>, faults: &mut Faults) {
    if faults.is_empty() {
        new(object, NameRule::PathSegment, Finalizers::Any, faults);
    }
}

/// Checks the metadata of an embedded object, which needs no name.
pub(crate) fn embedded(metadata: &Field<'_>, faults: &mut Faults) {
    names(metadata, false, NameRule::PathSegment, faults);
    besides_names(metadata, faults);
}

fn names(metadata: &Field<'_>, is_named: bool, rule: NameRule, faults: &mut Faults) {
    let (name, prefix) = (metadata.child("name"), metadata.child("generateName"));
    if !prefix.is_empty() {
        faults.malformed(&prefix, rule.prefix_faults(prefix.text()));
    }
    if !name.is_empty() {
        faults.malformed(&name, rule.faults(name.text()));
    } else if is_named {
        faults.required(&name, "name or generateName is required");
    }
}

fn besides_names(metadata: &Field<'_>, faults: &mut Faults) {
    faults.negative(&metadata.child("generation"));
    labels(&metadata.child("labels"), faults);
    annotations(&metadata.child("annotations"), faults);
    owners(&metadata.child("ownerReferences"), faults);
    formed_finalizers(&metadata.child("finalizers"), faults);
}

/// Checks the metadata of an object that replaces `old`.
pub(crate) fn changed(old: Object<'_>, new: Object<'_>, finalizers: Finalizers, faults: &mut Faults) {
    let (before, metadata) = (old.field("metadata"), new.field("metadata"));
    let list = metadata.child("finalizers");
    if before.child("deletionTimestamp").is_set() {
        let known: Vec<&str> = before.child("finalizers").texts().collect();
        let mut added: Vec<&str> = list.texts().filter(|finalizer| !known.contains(finalizer)).collect();
        added.sort_unstable();
        added.dedup();
        if !added.is_empty() {
            let added: Vec<String> = added.into_iter().map(|it| Quoted(it).to_string()).collect();
            let why = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                added.join(", ")
            );
            faults.forbidden(&list, &why);
        }
    }
    labels(&metadata.child("labels"), faults);
    annotations(&metadata.child("annotations"), faults);
    owners(&metadata.child("ownerReferences"), faults);
    formed_finalizers(&list, faults);
    if finalizers == Finalizers::Owned {
        owned_finalizers(&list, faults);
    }
}

fn formed_finalizers(list: &Field<'_>, faults: &mut Faults) {
    for finalizer in list.texts() {
        for why in qualified_name(finalizer) {
            faults.invalid_value(list, Quoted(finalizer), &why);
        }
    }
    let has = |wanted: &str| list.texts().any(|finalizer| finalizer == wanted);
    if has("orphan") && has("foregroundDeletion") {
        faults.invalid(list, "finalizer orphan and foregroundDeletion cannot be both set");
    }
}

/// Checks the annotations of an object or a template.
pub(crate) fn annotations(field: &Field<'_>, faults: &mut Faults) {
    let mut bytes = 0;
    for (key, value) in field.entries() {
        bytes += key.len() + value.len();
        for why in qualified_name(&key.to_lowercase()) {
            faults.invalid_value(field, Quoted(key), &why);
        }
    }
    if bytes > ANNOTATION_BYTES {
        faults.too_long(field, ANNOTATION_BYTES);
    }
}

/// Checks that finalizers are standard or have a domain prefix.
pub(crate) fn owned_finalizers(list: &Field<'_>, faults: &mut Faults) {
    for finalizer in list.items() {
        owned_finalizer(&finalizer, finalizer.text(), faults);
    }
}

/// Checks that a finalizer is standard or has a domain prefix.
pub(crate) fn owned_finalizer(at: &Field<'_>, name: &str, faults: &mut Faults) {
    if !name.contains('/') && !STANDARD_FINALIZERS.contains(&name) {
        let why = "name is neither a standard finalizer name nor is it fully qualified";
        faults.invalid_value(at, Quoted(name), why);
    }
}

fn owners(list: &Field<'_>, faults: &mut Faults) {
    let mut controller: Option<String> = None;
    for owner in list.items() {
        let (version, kind) = (owner.child("apiVersion"), owner.child("kind"));
        if version.is_empty() {
            faults.required(&version, "must not be empty");
        } else if version.text().matches('/').count() > 1 || version.text().ends_with('/') {
            faults.invalid(&version, "must be <group>/<version> or <version>");
        }
        for name in ["kind", "name", "uid"] {
            if owner.child(name).is_empty() {
                faults.required(&owner.child(name), "must not be empty");
            }
        }
        if version.text() == "v1" && kind.text() == "Event" {
            let why = "/v1, Kind=Event is disallowed from being an owner";
            faults.invalid_value(&owner, reference(owner.value()), why);
        }
        if !owner.child("controller").is_true() {
            continue;
        }
        let this = format!("{}/{}", kind.text(), owner.child("name").text());
        match &controller {
            None => controller = Some(this),
            Some(first) => {
                let why = format!(
                    "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {this}"
                );
                let all: Vec<String> = list.items().map(|owner| reference(owner.value())).collect();
                faults.invalid_value(list, format_args!("[{}]", all.join(",")), &why);
            }
        }
    }
}

/// Formats an owner reference as Go's JSON.
fn reference(owner: &Value) -> String {
    ordered(owner, &["apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"])
}

/// Formats an object as JSON with its fields in this order.
pub(crate) fn ordered(object: &Value, names: &[&str]) -> String {
    let fields = names.iter().filter_map(|name| Some((name, object.get(name)?)));
    let fields: Vec<String> = fields.map(|(name, value)| format!("\"{name}\":{}", json(value))).collect();
    format!("{{{}}}", fields.join(","))
}
