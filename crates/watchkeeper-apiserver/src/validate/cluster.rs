//! What a cluster is made of: namespaces, nodes, quotas, limits and priorities.

use watchkeeper_core::Quoted;

use super::address;
use super::amount::{
    Amount, container_resource, is_overcommitted, is_quota_standard, quantity, quota_resource, resource,
    written,
};
use super::faults::{Faults, json};
use super::field::{Field, Object};
use super::form::{label, port_number, qualified_name, subdomain};
use super::metadata::owned_finalizer;
use super::pod::taints;
use super::selector::json_text;

const HIGHEST_OWN_PRIORITY: i64 = 1_000_000_000;
const SCOPES: [&str; 7] = [
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "PriorityClass",
    "VolumeAttributesClass",
    "CrossNamespacePodAffinity",
];

/// A namespace but for its metadata.
pub(super) fn namespace(object: Object<'_>, faults: &mut Faults) {
    let list = object.field("spec").child("finalizers");
    for finalizer in list.texts() {
        for why in qualified_name(finalizer) {
            faults.invalid_value(&list, Quoted(finalizer), &why);
        }
        owned_finalizer(&list, finalizer, faults);
    }
}

/// A node but for its metadata.
pub(super) fn node(object: Object<'_>, faults: &mut Faults) {
    let spec = object.field("spec");
    taints(&Field::at("metadata.taints", spec.child("taints").value()), faults);
    node_resources(object, faults);
    pod_ranges(&spec, faults);
}

/// The ranges of addresses for pods, of which the first may be said alone.
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

/// What of a node may not change.
pub(super) fn changed_node(old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
    let (before, spec) = (old.field("spec"), new.field("spec"));
    node_resources(new, faults);
    let (ranges, known) = (spec.child("podCIDRs"), before.child("podCIDRs"));
    if !known.is_empty() && known.value() != ranges.value() {
        let differing = match ranges.len() == known.len() {
            true => ranges.texts().zip(known.texts()).filter(|(now, was)| now != was).count(),
            false => 1,
        };
        for _ in 0..differing {
            let why = "node updates may not change podCIDR except from \"\" to valid";
            faults.forbidden(&ranges, why);
        }
    }
    let (provider, known) = (spec.child("providerID"), before.child("providerID"));
    if !known.is_empty() && provider.text() != known.text() {
        let why = match provider.is_empty() {
            true => "field cannot be cleared once set",
            false => "field cannot be modified once set",
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

/// A quota but for its metadata.
pub(super) fn quota(object: Object<'_>, faults: &mut Faults) {
    let spec = object.field("spec");
    for (name, amount) in spec.child("hard").entries() {
        quota_resource(name, &amount, faults);
        quantity(name, &amount, faults);
    }
    let scopes = spec.child("scopes");
    for scope in scopes.texts() {
        if !SCOPES.contains(&scope) {
            faults.invalid(&scopes, "unsupported scope");
        }
        for (name, _) in spec.child("hard").entries() {
            if is_quota_standard(name) && !fits(scope, name) {
                faults.invalid(&scopes, "unsupported scope applied to resource");
            }
        }
    }
    let has = |scope: &str| scopes.texts().any(|it| it == scope);
    for (one, other) in [("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating")] {
        if has(one) && has(other) {
            faults.invalid(&scopes, "conflicting scopes");
        }
    }
    scope_selector(&spec, faults);
}

fn scope_selector(spec: &Field<'_>, faults: &mut Faults) {
    let list = spec.child("scopeSelector").child("matchExpressions");
    for requirement in list.items() {
        // The real server does not say which of them.
        let at = Field::at(list.path(), requirement.value());
        let (scope, operator, values) = (at.child("scopeName"), at.child("operator"), at.child("values"));
        if !SCOPES.contains(&scope.text()) {
            faults.invalid_value(&scope, json_text(scope.text()), "unsupported scope");
        }
        for (name, _) in spec.child("hard").entries() {
            if is_quota_standard(name) && !fits(scope.text(), name) {
                faults.invalid_value(&at, internal_scopes(&list), "unsupported scope applied to resource");
            }
        }
        if !matches!(scope.text(), "PriorityClass" | "VolumeAttributesClass")
            && SCOPES.contains(&scope.text())
            && operator.text() != "Exists"
        {
            let why = "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";
            faults.invalid_value(&operator, json_text(operator.text()), why);
        }
        match operator.text() {
            "In" | "NotIn" => {
                if values.is_empty() {
                    let why =
                        "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
                    faults.required(&values, why);
                }
            }
            "Exists" | "DoesNotExist" => {
                if !values.is_empty() {
                    let why =
                        "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
                    faults.invalid(&values, why);
                }
            }
            other => faults.invalid_value(&operator, json_text(other), "not a valid selector operator"),
        }
    }
}

/// A choice of scopes as Go shows its own type.
fn internal_scopes(list: &Field<'_>) -> String {
    let requirements: Vec<String> = list
        .items()
        .map(|requirement| {
            format!(
                "{{\"ScopeName\":{},\"Operator\":{},\"Values\":{}}}",
                json(requirement.child("scopeName").value()),
                json(requirement.child("operator").value()),
                json(requirement.child("values").value())
            )
        })
        .collect();
    format!("{{\"MatchExpressions\":[{}]}}", requirements.join(","))
}

fn fits(scope: &str, name: &str) -> bool {
    let bare = name.strip_prefix("requests.").or_else(|| name.strip_prefix("limits.")).unwrap_or(name);
    match scope {
        "BestEffort" => name == "pods",
        "VolumeAttributesClass" => matches!(name, "persistentvolumeclaims" | "requests.storage"),
        scope if SCOPES.contains(&scope) => name == "pods" || matches!(bare, "cpu" | "memory"),
        _ => true,
    }
}

/// What of a quota may not change.
pub(super) fn changed_quota(old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
    let scopes = |object: Object<'_>| {
        let mut scopes: Vec<String> =
            object.field("spec").child("scopes").texts().map(str::to_owned).collect();
        scopes.sort_unstable();
        scopes.dedup();
        scopes
    };
    if scopes(old) != scopes(new) {
        faults.invalid(&new.field("spec").child("scopes"), "field is immutable");
    }
}

/// A limit range but for its metadata.
pub(super) fn limits(object: Object<'_>, faults: &mut Faults) {
    let mut seen = Vec::new();
    for limit in object.field("spec").child("limits").items() {
        let kind = limit.child("type");
        let found = qualified_name(kind.text());
        if found.is_empty() && !kind.text().contains('/') && !LIMITED.contains(&kind.text()) {
            let why = "must be a standard limit type or fully qualified";
            faults.invalid_value(&kind, json_text(kind.text()), why);
        }
        for why in found {
            faults.invalid_value(&kind, json_text(kind.text()), &why);
        }
        if seen.contains(&kind.text()) {
            faults.duplicate_value(&kind, json_text(kind.text()), "");
        }
        seen.push(kind.text());
        limit_names(&limit, faults);
        limit_amounts(&limit, faults);
    }
}

const LIMITED: [&str; 3] = ["Pod", "Container", "PersistentVolumeClaim"];

fn limit_names(limit: &Field<'_>, faults: &mut Faults) {
    let kind = limit.child("type").text();
    let named = |part: &str, faults: &mut Faults| {
        for (name, amount) in limit.child(part).entries() {
            match kind {
                "Pod" | "Container" => container_resource(name, &amount, faults),
                _ => resource(name, &amount, faults),
            }
        }
    };
    named("max", faults);
    named("min", faults);
    for part in ["default", "defaultRequest"] {
        if kind != "Pod" {
            named(part, faults);
        } else if !limit.child(part).is_empty() {
            faults.forbidden(&limit.child(part), "may not be specified when `type` is 'Pod'");
        }
    }
    let has_storage = |part: &str| limit.child(part).key("storage").is_set();
    if kind == "PersistentVolumeClaim" && !has_storage("min") && !has_storage("max") {
        let why = "either minimum or maximum storage value is required, but neither was provided";
        faults.required(&limit.child("limits"), why);
    }
    named("maxLimitRequestRatio", faults);
}

fn limit_amounts(limit: &Field<'_>, faults: &mut Faults) {
    let parts = ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"];
    let mut names: Vec<&str> = Vec::new();
    for part in parts.map(|part| limit.child(part)) {
        names.extend(part.entries().map(|(name, _)| name));
    }
    names.sort_unstable();
    names.dedup();
    let is_pod = limit.child("type").text() == "Pod";
    for name in names {
        let at = |part: &str| limit.child(part).key(name);
        let amount =
            |part: &str| Amount::of(at(part).value()).filter(|_| !(is_pod && part.starts_with("default")));
        let mut greater = |left: (&str, &str), right: (&str, &str), place: &str, shows: &str| {
            if let (Some(one), Some(other)) = (amount(left.0), amount(right.0))
                && one > other
            {
                let why = format!(
                    "{} value {} is greater than {} value {}",
                    left.1,
                    written(&at(left.0)),
                    right.1,
                    written(&at(right.0))
                );
                faults.invalid_value(&at(place), Quoted(&written(&at(shows))), &why);
            }
        };
        let (min, max) = (("min", "min"), ("max", "max"));
        let (default, request) = (("default", "default"), ("defaultRequest", "default request"));
        greater(min, max, "min", "min");
        greater(min, request, "defaultRequest", "defaultRequest");
        greater(request, max, "defaultRequest", "defaultRequest");
        greater(request, ("default", "default limit"), "defaultRequest", "defaultRequest");
        greater(min, default, "default", "min");
        greater(default, max, "default", "max");
        if amount("maxLimitRequestRatio").is_some_and(|ratio| ratio < one()) {
            let ratio = written(&at("maxLimitRequestRatio"));
            let why = format!("ratio {ratio} is less than 1");
            faults.invalid_value(&at("maxLimitRequestRatio"), Quoted(&ratio), &why);
        }
        if let (Some(ratio), Some(min), Some(max)) =
            (amount("maxLimitRequestRatio"), amount("min"), amount("max"))
            && ratio.as_number() > max.as_number() / min.as_number()
        {
            let most = max.as_number() / min.as_number();
            let ratio = written(&at("maxLimitRequestRatio"));
            let why = format!("ratio {ratio} is greater than max/min = {most:.6}");
            faults.invalid_value(&at("maxLimitRequestRatio"), Quoted(&ratio), &why);
        }
        if !is_overcommitted(name)
            && let (Some(one), Some(other)) = (amount("default"), amount("defaultRequest"))
            && one != other
        {
            let (one, other) = (written(&at("default")), written(&at("defaultRequest")));
            let why = format!("default value {one} must equal to defaultRequest value {other} in {name}");
            faults.invalid_value(&at("defaultRequest"), Quoted(&other), &why);
        }
    }
}

fn one() -> Amount {
    Amount::of(&1.into()).expect("one is an amount")
}

/// A priority class but for its metadata.
pub(super) fn priority_class(object: Object<'_>, faults: &mut Faults) {
    let (name, value) = (object.name(), object.field("value"));
    if name.starts_with("system-") {
        let known = [("system-node-critical", 2_000_001_000), ("system-cluster-critical", 2_000_000_000)];
        let why = match known.iter().find(|(known, _)| *known == name) {
            None => Some(format!("{name} is not a known system priority class")),
            Some((_, wanted)) if *wanted != value.count() => {
                Some(format!("value of {name} PriorityClass must be {wanted}"))
            }
            Some(_) if object.field("globalDefault").is_true() => {
                Some(format!("globalDefault of {name} PriorityClass must be false"))
            }
            Some(_) => None,
        };
        if let Some(why) = why {
            let why = format!(
                "priority class names with 'system-' prefix are reserved for system use only. error: {why}"
            );
            faults.forbidden(&object.field("metadata").child("name"), &why);
        }
    } else if value.count() > HIGHEST_OWN_PRIORITY {
        let why = format!("maximum allowed value of a user defined priority is {HIGHEST_OWN_PRIORITY}");
        faults.forbidden(&value, &why);
    }
    let policy = object.field("preemptionPolicy");
    if policy.is_set() && policy.is_empty() {
        faults.required(&policy, "");
    }
    faults.one_of(&policy, &["PreemptLowerPriority", "Never"]);
}

/// What of a priority class may not change.
pub(super) fn changed_priority_class(old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
    if old.field("value").count() != new.field("value").count() {
        faults.forbidden(&new.field("value"), "may not be changed in an update.");
    }
    let policy = new.field("preemptionPolicy");
    if policy.value() != old.field("preemptionPolicy").value() {
        faults.invalid_value(&policy, json(policy.value()), "field is immutable");
    }
}

/// The endpoints of a service, but for their metadata.
pub(super) fn endpoints(object: Object<'_>, faults: &mut Faults) {
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

/// A lease but for its metadata. What is for coordinated elections is dropped by default.
pub(super) fn lease(object: Object<'_>, faults: &mut Faults) {
    let spec = object.field("spec");
    let duration = spec.child("leaseDurationSeconds");
    if duration.number().is_some_and(|seconds| seconds <= 0) {
        faults.invalid(&duration, "must be greater than 0");
    }
    faults.negative(&spec.child("leaseTransitions"));
}
