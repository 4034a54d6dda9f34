//! Rules: defaults that depend on other fields, by their names in the table.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{Fields, amounts, is_empty, made, set, text};
use crate::rules::{autoscalers, pods, services, workloads};

/// Sets defaults of an object, or of a part of one.
pub(super) type Rule = fn(&mut Fields);

pub(super) fn by_name(name: &str) -> Option<Rule> {
    Some(match name {
        "amounts" => amounts::round_up,
        "pod" => pods::defaults::pod,
        "podStatus" => pods::defaults::status,
        "serviceAccount" => pods::defaults::service_account,
        "pullPolicy" => pods::defaults::pull_policy,
        "volume" => pods::defaults::volume,
        "service" => services::defaults::spec,
        "loadBalancer" => services::defaults::load_balancer,
        "replicationController" => workloads::defaults::replication_controller,
        "deploymentStrategy" => workloads::defaults::deployment_strategy,
        "daemonSetStrategy" => workloads::defaults::daemon_set_strategy,
        "statefulSetStrategy" => workloads::defaults::stateful_set_strategy,
        "job" => workloads::defaults::job,
        "metrics" => autoscalers::defaults::metrics,
        "scalingRules" => autoscalers::defaults::scaling_rules,
        "namespace" => namespace,
        "nodeSpec" => node_spec,
        "nodeStatus" => node_status,
        "limit" => limit,
        "secret" => secret,
        "policyTypes" => policy_types,
        "subject" => subject,
        "definition" => definition,
        _ => return None,
    })
}

/// The other names of a custom kind default to variants of `kind`.
fn definition(spec: &mut Fields) {
    if let Some(Value::Object(names)) = spec.get_mut("names") {
        let kind = text(names, "kind").to_owned();
        if text(names, "singular").is_empty() {
            names.insert("singular".to_owned(), kind.to_lowercase().into());
        }
        if text(names, "listKind").is_empty() && !kind.is_empty() {
            names.insert("listKind".to_owned(), format!("{kind}List").into());
        }
    }
    set(spec, "conversion", json!({"strategy": "None"}));
}

/// Labels a namespace with its name.
fn namespace(namespace: &mut Fields) {
    let Some(metadata) = made(namespace, "metadata") else { return };
    let name = text(metadata, "name").to_owned();
    if !name.is_empty()
        && let Some(labels) = made(metadata, "labels")
    {
        labels.insert("kubernetes.io/metadata.name".to_owned(), name.into());
    }
}

/// Keeps `podCIDR` and `podCIDRs` equal; `podCIDR` wins.
fn node_spec(spec: &mut Fields) {
    let first = spec.get("podCIDRs").and_then(|networks| Some(networks.get(0)?.as_str()?.to_owned()));
    match (text(spec, "podCIDR"), first) {
        ("", Some(first)) => set(spec, "podCIDR", first),
        ("", None) => {}
        (network, Some(first)) if network == first => {}
        (network, _) => {
            let networks = json!([network]);
            spec.insert("podCIDRs".to_owned(), networks);
        }
    }
}

/// `allocatable` defaults to `capacity`.
fn node_status(status: &mut Fields) {
    if let Some(capacity) = status.get("capacity").cloned() {
        set(status, "allocatable", capacity);
    }
}

/// Defaults of a container limit: `default` to `max`, `defaultRequest` to `default` or `min`.
fn limit(limit: &mut Fields) {
    if text(limit, "type") != "Container" {
        return;
    }
    for (from, to) in [("max", "default"), ("default", "defaultRequest"), ("min", "defaultRequest")] {
        let Some(Value::Object(amounts)) = limit.get(from).cloned() else { continue };
        let Some(defaults) = made(limit, to) else { continue };
        for (name, amount) in amounts {
            defaults.entry(name).or_insert(amount);
        }
    }
}

/// Moves `stringData` to `data`; `stringData` wins.
fn secret(secret: &mut Fields) {
    let Some(Value::Object(texts)) = secret.remove("stringData") else { return };
    let Some(data) = made(secret, "data") else { return };
    for (name, text) in texts {
        let bytes = text.as_str().unwrap_or_default();
        data.insert(name, STANDARD.encode(bytes).into());
    }
}

/// A policy is of type `Ingress`, and of type `Egress` if it has egress rules.
fn policy_types(spec: &mut Fields) {
    if is_empty(spec, "policyTypes") {
        let types = if is_empty(spec, "egress") { json!(["Ingress"]) } else { json!(["Ingress", "Egress"]) };
        spec.insert("policyTypes".to_owned(), types);
    }
}

/// The API group of users and groups is that of RBAC; service accounts have none.
fn subject(subject: &mut Fields) {
    if matches!(text(subject, "kind"), "User" | "Group") {
        set(subject, "apiGroup", "rbac.authorization.k8s.io");
    }
}
