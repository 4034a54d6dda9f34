//! Ingress classes.

use watchkeeper_core::Quoted;

use crate::rules::KindRules;
use crate::validate::faults::Faults;
use crate::validate::field::{Field, Object};
use crate::validate::syntax::{path_segment, subdomain};

#[derive(Debug)]
pub(in crate::rules) struct IngressClasses;

impl KindRules for IngressClasses {
    fn validate_content(&self, _old: Option<Object<'_>>, new: Object<'_>, faults: &mut Faults) {
        validate_class(new, faults);
    }

    fn validate_update(&self, old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
        self.validate_metadata_update(old, new, faults);
        let (was, is) = (old.field("spec"), new.field("spec"));
        faults.immutable_text(&is.child("controller"), &was.child("controller"));
        self.validate_metadata(new, faults);
        self.validate_content(Some(old), new, faults);
    }
}

/// Checks an ingress class, except for its metadata.
fn validate_class(object: Object<'_>, faults: &mut Faults) {
    let spec = object.field("spec");
    let (controller, parameters) = (spec.child("controller"), spec.child("parameters"));
    if controller.len() > 250 {
        faults.too_long(&controller, 250);
    }
    domain_path(&controller, faults);
    if !parameters.is_set() {
        return;
    }
    let group = parameters.child("apiGroup");
    if group.is_set() {
        faults.malformed(&group, subdomain(group.text()));
    }
    for name in ["kind", "name"] {
        let name = parameters.child(name);
        if name.is_empty() {
            faults.declared(|faults| faults.required(&name, ""));
        } else {
            faults.malformed(&name, path_segment(name.text()));
        }
    }
    faults.one_of_set(&parameters.child("scope"), &["Cluster", "Namespace"]);
}

/// Checks a name such as `example.com/controller`.
fn domain_path(field: &Field<'_>, faults: &mut Faults) {
    if field.is_empty() {
        faults.required(field, "");
        return;
    }
    let Some((domain, path)) =
        field.text().split_once('/').filter(|(domain, path)| !domain.is_empty() && !path.is_empty())
    else {
        faults.invalid(field, "must be a domain-prefixed path (such as \"acme.io/foo\")");
        return;
    };
    for why in subdomain(domain) {
        faults.invalid_value(field, Quoted(domain), &why);
    }
    let is_path_character = |c: char| c.is_ascii_alphanumeric() || "/-._~%!$&'()*+,;=:".contains(c);
    if !path.chars().all(is_path_character) {
        let why = "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')";
        faults.invalid_value(field, Quoted(path), why);
    }
}
