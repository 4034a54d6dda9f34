//! Endpoints.

use std::borrow::Cow;

use crate::registry::Resource;
use crate::rules::KindRules;
use crate::validate::address;
use crate::validate::faults::Faults;
use crate::validate::field::{Field, Object};
use crate::validate::syntax::{label, port_number, subdomain};

#[derive(Debug)]
pub(in crate::rules) struct Endpoints;

impl KindRules for Endpoints {
    fn storage_prefix<'a>(&self, _resource: &'a Resource) -> Cow<'a, str> {
        "services/endpoints".into()
    }

    fn allow_create_on_update(&self) -> bool {
        true
    }

    fn validate_content(&self, _old: Option<Object<'_>>, new: Object<'_>, faults: &mut Faults) {
        validate_subsets(new, faults);
    }

    fn validate_update(&self, old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
        self.validate_metadata_update(old, new, faults);
        self.validate_metadata(new, faults);
        self.validate_content(Some(old), new, faults);
    }

    fn deprecation(&self, _writes: bool) -> Option<&'static str> {
        Some("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice")
    }
}

fn validate_subsets(object: Object<'_>, faults: &mut Faults) {
    for subset in object.field("subsets").items() {
        let lists = ["addresses", "notReadyAddresses"].map(|name| subset.child(name));
        if lists.iter().all(Field::is_empty) {
            faults.required(&subset, "must specify `addresses` or `notReadyAddresses`");
        }
        for item in lists.iter().flat_map(Field::items) {
            address::ip(&item.child("ip"), &[], faults);
            let (host, node) = (item.child("hostname"), item.child("nodeName"));
            if !host.is_empty() {
                faults.malformed(&host, label(host.text()));
            }
            if node.is_set() {
                faults.malformed(&node, subdomain(node.text()));
            }
            address::endpoint(&item.child("ip"), faults);
        }
        let ports = subset.child("ports");
        for port in ports.items() {
            let (name, number) = (port.child("name"), port.child("port"));
            if !name.is_empty() {
                faults.malformed(&name, label(name.text()));
            } else if ports.len() > 1 {
                faults.required(&name, "");
            }
            for why in port_number(number.count()) {
                faults.invalid_value(&number, number.count(), &why);
            }
            faults.one_of(&port.child("protocol"), &["SCTP", "TCP", "UDP"]);
        }
    }
}
