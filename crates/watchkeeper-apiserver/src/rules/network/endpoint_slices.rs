//! Endpoint slices.

use watchkeeper_core::Quoted;

use crate::rules::{KindRules, Update};
use crate::validate::address;
use crate::validate::faults::Faults;
use crate::validate::field::{Field, Object};
use crate::validate::selector::json_text;
use crate::validate::syntax::{label, label_value, qualified_name, subdomain};
use crate::write::Draft;

#[derive(Debug)]
pub(in crate::rules) struct EndpointSlices;

impl KindRules for EndpointSlices {
    /// Labels select the service of a slice, so they count.
    fn is_new_generation(&self, _call: Update<'_>, old: &Draft, new: &Draft) -> bool {
        old.meta("labels") != new.meta("labels") || !old.desired_state().eq(new.desired_state())
    }

    fn validate_content(&self, old: Option<Object<'_>>, new: Object<'_>, faults: &mut Faults) {
        validate_slice(new, old, faults);
    }

    fn validate_update(&self, old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
        self.validate_metadata(new, faults);
        self.validate_content(Some(old), new, faults);
    }
}

/// Checks a slice, except for its metadata.
fn validate_slice(object: Object<'_>, old: Option<Object<'_>>, faults: &mut Faults) {
    let (kind, endpoints) = (object.field("addressType"), object.field("endpoints"));
    let ports = object.field("ports");
    if ports.len() > 20_000 {
        faults.too_many(&ports, 20_000);
    } else {
        slice_ports(&ports, faults);
    }
    // Unchanged endpoints are tolerated.
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
