//! Nodes.

use std::borrow::Cow;

use crate::registry::Resource;
use crate::rules::KindRules;
use crate::rules::pods::taints;
use crate::validate::address;
use crate::validate::amount::quantity;
use crate::validate::faults::Faults;
use crate::validate::field::{Field, Object};

#[derive(Debug)]
pub(in crate::rules) struct Nodes;

impl KindRules for Nodes {
    fn storage_prefix<'a>(&self, _resource: &'a Resource) -> Cow<'a, str> {
        "minions".into()
    }

    /// A node reports its status when it registers.
    fn keeps_initial_status(&self) -> bool {
        true
    }

    fn validate_content(&self, _old: Option<Object<'_>>, new: Object<'_>, faults: &mut Faults) {
        validate_node(new, faults);
    }

    fn validate_update(&self, old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
        self.validate_metadata(new, faults);
        self.validate_content(Some(old), new, faults);
        self.validate_metadata_update(old, new, faults);
        validate_node_update(old, new, faults);
    }
}

/// Checks a node, except for its metadata.
fn validate_node(object: Object<'_>, faults: &mut Faults) {
    let spec = object.field("spec");
    taints(&Field::at("metadata.taints", spec.child("taints").value()), faults);
    node_resources(object, faults);
    pod_ranges(&spec, faults);
}

/// Checks `podCIDRs`; `podCIDR` repeats the first.
fn pod_ranges(spec: &Field<'_>, faults: &mut Faults) {
    let (first, ranges) = (spec.child("podCIDR"), spec.child("podCIDRs"));
    if !first.is_empty() && ranges.texts().next() != Some(first.text()) {
        address::range(&Field::at(ranges.index(0).path(), first.value()), first.text(), &[], faults);
        return;
    }
    for range in ranges.items() {
        address::range(&range, range.text(), &[], faults);
    }
    let families = [".", ":"].map(|mark| ranges.texts().filter(|range| range.contains(mark)).count());
    if families.iter().any(|count| *count > 1) {
        faults.invalid(&ranges, "may specify no more than one CIDR for each IP family");
    }
}

/// Checks the immutable fields.
fn validate_node_update(old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
    let (before, spec) = (old.field("spec"), new.field("spec"));
    node_resources(new, faults);
    let (ranges, known) = (spec.child("podCIDRs"), before.child("podCIDRs"));
    if !known.is_empty() && known.value() != ranges.value() {
        let differing = if ranges.len() == known.len() {
            ranges.texts().zip(known.texts()).filter(|(now, was)| now != was).count()
        } else {
            1
        };
        for _ in 0..differing {
            let why = "node updates may not change podCIDR except from \"\" to valid";
            faults.forbidden(&ranges, why);
        }
    }
    let (provider, known) = (spec.child("providerID"), before.child("providerID"));
    if !known.is_empty() && provider.text() != known.text() {
        let why = if provider.is_empty() {
            "field cannot be cleared once set"
        } else {
            "field cannot be modified once set"
        };
        faults.invalid_value(&provider, "null", why);
    }
    taints(&Field::at("metadata.taints", spec.child("taints").value()), faults);
}

fn node_resources(object: Object<'_>, faults: &mut Faults) {
    for name in ["capacity", "allocatable"] {
        let field = object.field("status").child(name);
        for (resource, amount) in field.entries() {
            quantity(resource, &Field::at(field.path_of(resource), amount.value()), faults);
        }
    }
}
