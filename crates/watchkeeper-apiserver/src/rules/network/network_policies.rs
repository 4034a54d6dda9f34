//! Network policies.

use serde_json::Value;

use crate::rules::KindRules;
use crate::validate::address;
use crate::validate::faults::Faults;
use crate::validate::field::{Field, Object};
use crate::validate::selector::selector;
use crate::validate::syntax::{port_name, port_number};

const PROTOCOLS: [&str; 3] = ["TCP", "UDP", "SCTP"];

#[derive(Debug)]
pub(in crate::rules) struct NetworkPolicies;

impl KindRules for NetworkPolicies {
    fn validate_content(&self, _old: Option<Object<'_>>, new: Object<'_>, faults: &mut Faults) {
        validate_policy(new, faults);
    }
}

/// Checks a network policy, except for its metadata.
fn validate_policy(object: Object<'_>, faults: &mut Faults) {
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
