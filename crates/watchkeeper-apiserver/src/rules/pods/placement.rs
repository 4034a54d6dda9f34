//! Placement: affinities, spread constraints, tolerations and taints.

use watchkeeper_core::Quoted;

use crate::validate::faults::{Faults, json};
use crate::validate::field::Field;
use crate::validate::selector::{json_text, selector};
use crate::validate::syntax::{label, label_value, qualified_name, subdomain};

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/// Checks affinities.
pub(super) fn affinity(field: &Field<'_>, faults: &mut Faults) {
    let nodes = field.child("nodeAffinity");
    if nodes.child(REQUIRED).is_set() {
        node_selector(&nodes.child(REQUIRED), faults);
    }
    for term in nodes.child(PREFERRED).items() {
        weight(&term, faults);
        node_term(&term.child("preference"), false, faults);
    }
    for kind in ["podAffinity", "podAntiAffinity"] {
        for term in field.child(kind).child(REQUIRED).items() {
            pod_term(&term, faults);
        }
        for term in field.child(kind).child(PREFERRED).items() {
            weight(&term, faults);
            pod_term(&term.child("podAffinityTerm"), faults);
        }
    }
}

fn weight(term: &Field<'_>, faults: &mut Faults) {
    let weight = term.child("weight");
    if !(1..=100).contains(&weight.count()) {
        faults.invalid_value(&weight, weight.count(), "must be in the range 1-100");
    }
}

/// Checks a node selector.
pub(in crate::rules) fn node_selector(field: &Field<'_>, faults: &mut Faults) {
    let terms = field.child("nodeSelectorTerms");
    if terms.is_empty() {
        faults.required(&terms, "must have at least one node selector term");
    }
    for term in terms.items() {
        node_term(&term, true, faults);
    }
}

fn node_term(term: &Field<'_>, checks_values: bool, faults: &mut Faults) {
    for requirement in term.child("matchExpressions").items() {
        let (operator, values) = (requirement.child("operator"), requirement.child("values"));
        match operator.text() {
            "In" | "NotIn" if values.is_empty() => {
                faults.required(&values, "must be specified when `operator` is 'In' or 'NotIn'");
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                let why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                faults.forbidden(&values, why);
            }
            "Gt" | "Lt" if values.len() != 1 => {
                faults.required(&values, "must be specified single value when `operator` is 'Lt' or 'Gt'");
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
            other => faults.invalid_value(&operator, json_text(other), "not a valid selector operator"),
        }
        let key = requirement.child("key");
        for why in qualified_name(key.text()) {
            faults.invalid_value(&key, Quoted(key.text()), &why);
        }
        for value in values.items().filter(|_| checks_values) {
            faults.malformed(&value, label_value(value.text()));
        }
    }
    for requirement in term.child("matchFields").items() {
        let (operator, values, key) =
            (requirement.child("operator"), requirement.child("values"), requirement.child("key"));
        match operator.text() {
            "In" | "NotIn" if values.len() != 1 => {
                let why = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
                faults.required(&values, why);
            }
            "In" | "NotIn" => {}
            other => faults.invalid_value(&operator, json_text(other), "not a valid selector operator"),
        }
        if key.text() == "metadata.name" {
            for value in values.items() {
                faults.malformed(&value, subdomain(value.text()));
            }
        } else {
            faults.invalid_value(&key, Quoted(key.text()), "not a valid field selector key");
        }
    }
}

fn pod_term(term: &Field<'_>, faults: &mut Faults) {
    selector(&term.child("labelSelector"), faults);
    selector(&term.child("namespaceSelector"), faults);
    for name in term.child("namespaces").texts() {
        for why in label(name) {
            faults.invalid_value(&term.child("namespace"), Quoted(name), &why);
        }
    }
    let key = term.child("topologyKey");
    if key.is_empty() {
        faults.required(&key, "can not be empty");
    }
    for why in qualified_name(key.text()) {
        faults.invalid_value(&key, Quoted(key.text()), &why);
    }
}

/// Checks topology spread constraints.
pub(super) fn spread(list: &Field<'_>, faults: &mut Faults) {
    let constraints: Vec<Field<'_>> = list.items().collect();
    for (at, constraint) in constraints.iter().enumerate() {
        let (skew, key, action) = (
            constraint.child("maxSkew"),
            constraint.child("topologyKey"),
            constraint.child("whenUnsatisfiable"),
        );
        if skew.count() <= 0 {
            faults.invalid_value(&skew, skew.count(), "must be greater than zero");
        }
        if key.is_empty() {
            faults.required(&key, "can not be empty");
        }
        if !matches!(action.text(), "DoNotSchedule" | "ScheduleAnyway") {
            let supported = ["DoNotSchedule", "ScheduleAnyway"];
            faults.not_supported_value(&action, json_text(action.text()), &supported);
        }
        let repeats = constraints[at + 1..].iter().any(|other| {
            other.child("topologyKey").text() == key.text()
                && other.child("whenUnsatisfiable").text() == action.text()
        });
        if repeats {
            let both = format!("{{{}, {}}}", key.text(), action.text());
            let place = constraint.child("{topologyKey, whenUnsatisfiable}");
            faults.duplicate_value(&place, Quoted(&both), "");
        }
        let domains = constraint.child("minDomains");
        if let Some(count) = domains.number() {
            if count <= 0 {
                faults.invalid(&domains, "must be greater than zero");
            }
            if action.text() != "DoNotSchedule" {
                let why = format!(
                    "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {}",
                    action.text()
                );
                faults.invalid(&domains, &why);
            }
        }
        for policy in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
            faults.one_of_set(&constraint.child(policy), &["Honor", "Ignore"]);
        }
        let keys = constraint.child("matchLabelKeys");
        if !keys.is_empty() && !constraint.child("labelSelector").is_set() {
            faults.forbidden(&keys, "must not be specified when labelSelector is not set");
        }
        selector(&constraint.child("labelSelector"), faults);
    }
}

/// Checks tolerations.
pub(super) fn tolerations(list: &Field<'_>, faults: &mut Faults) {
    for toleration in list.items() {
        let (key, operator, value, effect) = (
            toleration.child("key"),
            toleration.child("operator"),
            toleration.child("value"),
            toleration.child("effect"),
        );
        if !key.is_empty() {
            faults.malformed(&key, qualified_name(key.text()));
        }
        if key.is_empty() && operator.text() != "Exists" {
            let why =
                "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
            faults.invalid_value(&operator, json_text(operator.text()), why);
        }
        if toleration.child("tolerationSeconds").is_set() && effect.text() != "NoExecute" {
            let why = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            faults.invalid_value(&effect, json_text(effect.text()), why);
        }
        match operator.text() {
            "Equal" | "" => {
                let found = label_value(value.text());
                if !found.is_empty() {
                    faults.invalid_value(&operator, Quoted(value.text()), &found.join(";"));
                }
            }
            "Exists" => {
                if !value.is_empty() {
                    let why = "value must be empty when `operator` is 'Exists'";
                    faults.invalid_value(&operator, Quoted(value.text()), why);
                }
            }
            "Lt" | "Gt" => faults.not_supported(&operator, &["Equal", "Exists", "Lt", "Gt"]),
            _ => faults.not_supported(&operator, &["Equal", "Exists"]),
        }
        faults.one_of(&effect, &EFFECTS);
    }
}

/// Checks the taints of a node.
pub(in crate::rules) fn taints(list: &Field<'_>, faults: &mut Faults) {
    let mut seen = Vec::new();
    for taint in list.items() {
        let (key, value, effect) = (taint.child("key"), taint.child("value"), taint.child("effect"));
        for why in qualified_name(key.text()) {
            faults.invalid_value(&key, Quoted(key.text()), &why);
        }
        let found = label_value(value.text());
        if !found.is_empty() {
            faults.invalid(&value, &found.join(";"));
        }
        if effect.is_empty() {
            faults.required(&effect, "");
        } else {
            faults.one_of(&effect, &EFFECTS);
        }
        let pair = (effect.text(), key.text());
        if seen.contains(&pair) {
            let shown = format!(
                "{{\"Key\":{},\"Value\":{},\"Effect\":{},\"TimeAdded\":{}}}",
                json_text(key.text()),
                json_text(value.text()),
                json_text(effect.text()),
                json(taint.child("timeAdded").value()),
            );
            faults.duplicate_value(&taint, shown, "taints must be unique by key and effect pair");
        }
        seen.push(pair);
    }
}
