//! Status of pods.

use crate::validate::address;
use crate::validate::faults::{Faults, json};
use crate::validate::field::{Field, Object};
use crate::validate::syntax::{qualified_name, subdomain};

const NO_NEGATIVE: &str = "must be a non-negative integer";

/// Checks a status update.
pub(super) fn validate(old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
    let (was, is) = (old.field("status"), new.field("status"));
    conditions(&is.child("conditions"), faults);
    nominated(&old.field("spec"), &was, &is, faults);
    negative(&is.child("observedGeneration"), faults);
    faults.immutable(&is.child("qosClass"), &was.child("qosClass"));
    addresses(&was, &is, "podIP", faults);
    addresses(&was, &is, "hostIP", faults);
}

fn conditions(list: &Field<'_>, faults: &mut Faults) {
    for condition in list.items() {
        negative(&condition.child("observedGeneration"), faults);
        let name = condition.child("type");
        if !matches!(name.text(), "PodScheduled" | "Ready" | "Initialized") {
            faults
                .malformed(&Field::at(condition.path_of("Type"), name.value()), qualified_name(name.text()));
        }
    }
}

fn negative(field: &Field<'_>, faults: &mut Faults) {
    if field.count() < 0 {
        faults.invalid(field, NO_NEGATIVE);
    }
}

fn nominated(spec: &Field<'_>, was: &Field<'_>, is: &Field<'_>, faults: &mut Faults) {
    let node = is.child("nominatedNodeName");
    if node.is_empty() || node.value() == was.child("nominatedNodeName").value() {
        return;
    }
    faults.malformed(&node, subdomain(node.text()));
    if !spec.child("nodeName").is_empty() {
        faults.forbidden(&node, "may not be set on pods that are already bound to a node");
    }
}

/// Checks a list of addresses and the field that repeats its first item.
fn addresses(was: &Field<'_>, is: &Field<'_>, name: &str, faults: &mut Faults) {
    let (one, list) = (is.child(name), is.child(&format!("{name}s")));
    let known = was.child(&format!("{name}s"));
    let known: Vec<Field<'_>> = known.items().map(|item| item.child("ip")).collect();
    let known: Vec<&str> = known.iter().map(Field::text).collect();
    let is_host = name == "hostIP";
    if is_host {
        first(&one, &list, name, faults);
    }
    for item in list.items() {
        address::ip(&Field::at(item.path(), item.child("ip").value()), &known, faults);
    }
    let families: Vec<bool> =
        list.items().filter_map(|item| Some(address::address(item.child("ip").text())?.is_ipv4())).collect();
    if list.len() > 1 && families.len() == list.len() {
        let is_pair = list.len() == 2 && families[0] != families[1];
        if !is_pair {
            let why = "may specify no more than one IP for each IP family";
            faults.invalid_value(&list, internal(&list), why);
        }
    }
    if !is_host {
        if one.is_empty() != list.is_empty() {
            let why = "podIP and podIPs must either both be set or both be unset";
            faults.invalid_value(&list, internal(&list), why);
        } else {
            first(&one, &list, name, faults);
        }
    }
}

fn first(one: &Field<'_>, list: &Field<'_>, name: &str, faults: &mut Faults) {
    let first = list.index(0).child("ip");
    if !list.is_empty() && first.text() != one.text() {
        faults.invalid(&first, &format!("must be equal to `{name}`"));
    }
}

/// Formats a list of addresses as Go's internal type, without tags.
fn internal(list: &Field<'_>) -> String {
    let items: Vec<String> =
        list.items().map(|item| format!("{{\"IP\":{}}}", json(item.child("ip").value()))).collect();
    if list.is_empty() { "null".to_owned() } else { format!("[{}]", items.join(",")) }
}
