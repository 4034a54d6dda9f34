//! Ingresses.

use watchkeeper_core::Quoted;

use crate::rules::KindRules;
use crate::validate::address;
use crate::validate::faults::Faults;
use crate::validate::field::{Field, Object};
use crate::validate::syntax::{label, path_segment, port_name, port_number, subdomain, wildcard};

const INGRESS_CLASS: &str = "kubernetes.io/ingress.class";

const HOST_IS_ADDRESS: &str = "must be a DNS name, not an IP address";

#[derive(Debug)]
pub(in crate::rules) struct Ingresses;

impl KindRules for Ingresses {
    fn validate_content(&self, _old: Option<Object<'_>>, new: Object<'_>, faults: &mut Faults) {
        validate_ingress(new, faults);
    }

    fn validate(&self, new: Object<'_>, faults: &mut Faults) {
        self.validate_metadata(new, faults);
        self.validate_content(None, new, faults);
        validate_new_ingress(new, faults);
    }

    fn validate_update(&self, old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
        self.validate_metadata_update(old, new, faults);
        self.validate_metadata(new, faults);
        self.validate_content(Some(old), new, faults);
    }
}

/// Checks an ingress, except for its metadata.
fn validate_ingress(object: Object<'_>, faults: &mut Faults) {
    let spec = object.field("spec");
    let (rules, default) = (spec.child("rules"), spec.child("defaultBackend"));
    if rules.is_empty() && !default.is_set() {
        faults.invalid_value(&spec, "null", "either `defaultBackend` or `rules` must be specified");
    }
    if default.is_set() {
        backend(&default, faults);
    }
    for rule in rules.items() {
        ingress_rule(&rule, faults);
    }
    for tls in spec.child("tls").items() {
        for name in tls.child("hosts").items() {
            host(&name, faults);
        }
        let secret = tls.child("secretName");
        if !secret.is_empty() {
            faults.malformed(&secret, subdomain(secret.text()));
        }
    }
    let class = spec.child("ingressClassName");
    if class.is_set() {
        faults.malformed(&class, subdomain(class.text()));
    }
}

/// Checks what only new ingresses must satisfy.
fn validate_new_ingress(object: Object<'_>, faults: &mut Faults) {
    let class = object.field("spec").child("ingressClassName");
    if let Some(annotation) = object.annotation(INGRESS_CLASS)
        && class.is_set()
        && class.text() != annotation
    {
        let place = Field::at(format!("annotations.{INGRESS_CLASS}"), class.value());
        let why = "must match `ingressClassName` when both are specified";
        faults.invalid_value(&place, Quoted(annotation), why);
    }
}

fn host(field: &Field<'_>, faults: &mut Faults) {
    let found = if field.text().contains('*') { wildcard(field.text()) } else { subdomain(field.text()) };
    faults.malformed(field, found);
}

fn ingress_rule(rule: &Field<'_>, faults: &mut Faults) {
    let name = rule.child("host");
    if !name.is_empty() {
        if address::address(name.text()).is_some() {
            faults.invalid(&name, HOST_IS_ADDRESS);
        }
        host(&name, faults);
    }
    let http = rule.child("http");
    if !http.is_set() {
        return;
    }
    if http.child("paths").is_empty() {
        faults.required(&http.child("paths"), "");
    }
    for path in http.child("paths").items() {
        ingress_path(&path, faults);
    }
}

fn ingress_path(field: &Field<'_>, faults: &mut Faults) {
    let (path, kind) = (field.child("path"), field.child("pathType"));
    if !kind.is_set() {
        faults.required(&kind, "pathType must be specified");
        return;
    }
    let text = path.text();
    match kind.text() {
        "Exact" | "Prefix" => {
            if !text.starts_with('/') {
                faults.invalid_value(&path, Quoted(text), "must be an absolute path");
            }
            for part in ["//", "/./", "/../", "%2f", "%2F"] {
                if text.contains(part) {
                    faults.invalid(&path, &format!("must not contain '{part}'"));
                }
            }
            for end in ["/..", "/."] {
                if text.ends_with(end) {
                    faults.invalid(&path, &format!("cannot end with '{end}'"));
                }
            }
        }
        "ImplementationSpecific" => {
            if !text.is_empty() && !text.starts_with('/') {
                faults.invalid(&path, "must be an absolute path");
            }
        }
        _ => faults.not_supported(&kind, &["Exact", "ImplementationSpecific", "Prefix"]),
    }
    backend(&field.child("backend"), faults);
}

fn backend(field: &Field<'_>, faults: &mut Faults) {
    let (resource, service) = (field.child("resource"), field.child("service"));
    match (resource.is_set(), service.is_set()) {
        (true, true) => {
            faults.invalid_value(field, "\"\"", "cannot set both resource and service backends");
        }
        (true, false) => reference(&resource, faults),
        (false, true) => service_backend(field, &service, faults),
        (false, false) => faults.invalid_value(field, "\"\"", "resource or service backend is required"),
    }
}

pub(super) fn reference(field: &Field<'_>, faults: &mut Faults) {
    let group = field.child("apiGroup");
    if group.is_set() {
        faults.malformed(&group, subdomain(group.text()));
    }
    for name in ["kind", "name"] {
        let name = field.child(name);
        if name.is_empty() {
            faults.required(&name, "");
        } else {
            faults.malformed(&name, path_segment(name.text()));
        }
    }
}

fn service_backend(field: &Field<'_>, service: &Field<'_>, faults: &mut Faults) {
    let name = service.child("name");
    if name.is_empty() {
        faults.required(&name, "");
    } else {
        faults.malformed(&name, label(name.text()));
    }
    let port = service.child("port");
    let (name, number) = (port.child("name"), port.child("number"));
    match (name.is_empty(), number.count()) {
        (true, 0) => faults.required(field, "port name or number is required"),
        (true, _) => faults.malformed(&number, port_number(number.count())),
        (false, 0) => faults.malformed(&name, port_name(name.text())),
        (false, _) => faults.invalid_value(field, "\"\"", "cannot set both port name & port number"),
    }
}
