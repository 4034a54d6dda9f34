//! Networks: ingresses, policies and slices of endpoints.

use serde_json::Value;
use watchkeeper_core::Quoted;

use super::address;
use super::faults::{Faults, json};
use super::field::{Field, Object};
use super::form::{
    label, label_value, path_segment, port_name, port_number, qualified_name, subdomain, wildcard,
};
use super::selector::{json_text, selector};

const PROTOCOLS: [&str; 3] = ["TCP", "UDP", "SCTP"];
const INGRESS_CLASS: &str = "kubernetes.io/ingress.class";
const HOST_IS_ADDRESS: &str = "must be a DNS name, not an IP address";

/// An ingress but for its metadata.
pub(super) fn ingress(object: Object<'_>, faults: &mut Faults) {
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

/// What is asked of a new ingress only.
pub(super) fn new_ingress(object: Object<'_>, faults: &mut Faults) {
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
    let found = match field.text().contains('*') {
        true => wildcard(field.text()),
        false => subdomain(field.text()),
    };
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

fn reference(field: &Field<'_>, faults: &mut Faults) {
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

/// A class of ingresses but for its metadata.
pub(super) fn ingress_class(object: Object<'_>, faults: &mut Faults) {
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

/// `example.com/controller`.
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

/// A network policy but for its metadata.
pub(super) fn policy(object: Object<'_>, faults: &mut Faults) {
    let spec = object.field("spec");
    selector(&spec.child("podSelector"), faults);
    for (direction, peers) in [("ingress", "from"), ("egress", "to")] {
        for rule in spec.child(direction).items() {
            for port in rule.child("ports").items() {
                policy_port(&port, faults);
            }
            for item in rule.child(peers).items() {
                peer(&item, faults);
            }
        }
    }
    let types = spec.child("policyTypes");
    if types.len() > 2 {
        faults.invalid(&types, "may not specify more than two policyTypes");
        return;
    }
    for kind in types.items() {
        if !matches!(kind.text(), "Ingress" | "Egress") {
            faults.not_supported(&kind, &["Ingress", "Egress"]);
        }
    }
}

fn policy_port(field: &Field<'_>, faults: &mut Faults) {
    faults.one_of_set(&field.child("protocol"), &PROTOCOLS);
    let (port, end) = (field.child("port"), field.child("endPort"));
    match port.value() {
        Value::Null => {
            if end.is_set() {
                faults.invalid(&end, "may not be specified when `port` is not specified");
            }
        }
        Value::String(name) => {
            if end.is_set() {
                faults.invalid(&end, "may not be specified when `port` is non-numeric");
            }
            faults.malformed(&port, port_name(name));
        }
        _ => {
            faults.malformed(&port, port_number(port.count()));
            if let Some(last) = end.number() {
                if last < port.count() {
                    faults.invalid(&end, "must be greater than or equal to `port`");
                }
                faults.malformed(&end, port_number(last));
            }
        }
    }
}

fn peer(field: &Field<'_>, faults: &mut Faults) {
    let selectors = ["podSelector", "namespaceSelector"].map(|name| field.child(name));
    let mut count = 0;
    for found in selectors.iter().filter(|found| found.is_set()) {
        count += 1;
        selector(found, faults);
    }
    let block = field.child("ipBlock");
    if block.is_set() {
        if count > 0 {
            ip_block(&block, faults);
            faults.forbidden(field, "may not specify both ipBlock and another peer");
            return;
        }
        ip_block(&block, faults);
    } else if count == 0 {
        faults.required(field, "must specify a peer");
    }
}

fn ip_block(field: &Field<'_>, faults: &mut Faults) {
    let range = field.child("cidr");
    if range.is_empty() {
        faults.declared(|faults| faults.required(&range, ""));
        return;
    }
    address::range(&range, range.text(), &[], faults);
    let Some(whole) = address::Range::of(range.text()) else { return };
    for except in field.child("except").items() {
        address::range(&except, except.text(), &[], faults);
        if address::Range::of(except.text()).is_some_and(|part| !whole.exceeds(part)) {
            faults.invalid(&except, "must be a strict subset of `cidr`");
        }
    }
}

/// A slice of endpoints but for its metadata; and what it was, if it was.
pub(super) fn slice(object: Object<'_>, old: Option<Object<'_>>, faults: &mut Faults) {
    let (kind, endpoints) = (object.field("addressType"), object.field("endpoints"));
    let ports = object.field("ports");
    if ports.len() > 20_000 {
        faults.too_many(&ports, 20_000);
    } else {
        slice_ports(&ports, faults);
    }
    // What was there before may stay.
    let is_old = old.is_some_and(|old| old.field("endpoints").value() == endpoints.value());
    if is_old {
    } else if endpoints.len() > 1000 {
        faults.too_many(&endpoints, 1000);
    } else {
        for endpoint in endpoints.items() {
            slice_endpoint(&endpoint, kind.text(), faults);
        }
    }
    faults.declared(|faults| {
        if kind.is_empty() {
            faults.required(&kind, "");
        }
        faults.one_of(&kind, &["FQDN", "IPv4", "IPv6"]);
        if old.is_some_and(|old| old.field("addressType").text() != kind.text()) {
            faults.invalid_value(&kind, "null", "field is immutable");
        }
        for addresses in endpoints.items().filter(|_| !is_old).map(|endpoint| endpoint.child("addresses")) {
            match addresses.len() {
                0 => faults.required(&addresses, ""),
                1..=100 => {}
                _ => faults.too_many(&addresses, 100),
            }
        }
    });
}

fn slice_ports(ports: &Field<'_>, faults: &mut Faults) {
    let mut names = Vec::new();
    for port in ports.items() {
        let name = port.child("name");
        if !name.is_empty() {
            faults.malformed(&name, label(name.text()));
        }
        if names.contains(&name.text()) {
            faults.duplicate_value(&name, json_text(name.text()), "");
        }
        names.push(name.text());
        faults.one_of_set(&port.child("protocol"), &["SCTP", "TCP", "UDP"]);
        let protocol = port.child("appProtocol");
        if protocol.is_set() {
            faults.malformed(&protocol, qualified_name(protocol.text()));
        }
    }
}

fn slice_endpoint(field: &Field<'_>, kind: &str, faults: &mut Faults) {
    let addresses = field.child("addresses");
    for item in addresses.items() {
        match kind {
            "IPv4" | "IPv6" => {
                if !address::ip(&item, &[], faults) {
                    continue;
                }
                let is_v6 = address::address(item.text()).is_some_and(|found| found.is_ipv6());
                if is_v6 != (kind == "IPv6") {
                    let why = format!("must be an {kind} address");
                    faults.invalid_value(&addresses, Quoted(item.text()), &why);
                }
                address::endpoint(&item, faults);
            }
            "FQDN" => full_domain(&item, faults),
            _ => {}
        }
    }
    let (node, host) = (field.child("nodeName"), field.child("hostname"));
    if node.is_set() {
        faults.malformed(&node, subdomain(node.text()));
    }
    if host.is_set() {
        faults.malformed(&host, label(host.text()));
    }
    let zones = field.child("hints").child("forZones");
    if zones.len() > 8 {
        faults.too_many(&zones, 8);
        return;
    }
    let mut seen = Vec::new();
    for name in zones.items().map(|zone| zone.child("name")) {
        if seen.contains(&name.text()) {
            faults.duplicate(&name);
        }
        seen.push(name.text());
        faults.malformed(&name, label_value(name.text()));
    }
}

fn full_domain(field: &Field<'_>, faults: &mut Faults) {
    let bare = field.text().strip_suffix('.').unwrap_or(field.text());
    let found = subdomain(bare);
    if field.is_empty() {
        faults.required(field, "");
    } else if !found.is_empty() {
        faults.invalid_value(field, Quoted(bare), &found.join(","));
    } else if !bare.contains('.') {
        let why = "should be a domain with at least two segments separated by dots";
        faults.invalid_value(field, Quoted(bare), why);
    }
}

/// A budget for disruptions.
pub(super) fn budget(object: Object<'_>, faults: &mut Faults) {
    let spec = object.field("spec");
    let (least, most) = (spec.child("minAvailable"), spec.child("maxUnavailable"));
    if least.is_set() && most.is_set() {
        let policy = spec.child("unhealthyPodEvictionPolicy");
        let shown = format!(
            "{{\"MinAvailable\":{},\"Selector\":{},\"MaxUnavailable\":{},\"UnhealthyPodEvictionPolicy\":{}}}",
            json(least.value()),
            super::selector::shown(&spec.child("selector")),
            json(most.value()),
            json(policy.value())
        );
        faults.invalid_value(&spec, shown, "minAvailable and maxUnavailable cannot be both set");
    }
    for field in [least, most] {
        if field.is_set() {
            super::workload::share(&field, faults);
            super::workload::at_most_all(&field, faults);
        }
    }
    selector(&spec.child("selector"), faults);
    faults.one_of_set(&spec.child("unhealthyPodEvictionPolicy"), &["AlwaysAllow", "IfHealthyBudget"]);
}
