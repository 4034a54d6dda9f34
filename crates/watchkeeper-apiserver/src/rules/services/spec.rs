//! Fields of services that depend on the type, and that updates keep.

use serde_json::{Map, Value, json};

use crate::write::Draft;

type Spec = Map<String, Value>;

pub(super) fn text<'a>(spec: &'a Spec, name: &str) -> &'a str {
    spec.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Returns whether the type has a cluster IP.
pub(super) fn needs_address(spec: &Spec) -> bool {
    text(spec, "type") != "ExternalName"
}

/// Returns whether node ports have to be allocated.
pub(super) fn needs_node_ports(spec: &Spec) -> bool {
    match text(spec, "type") {
        "NodePort" => true,
        "LoadBalancer" => spec.get("allocateLoadBalancerNodePorts") != Some(&Value::Bool(false)),
        _ => false,
    }
}

/// Returns whether a health check node port has to be allocated.
pub(super) fn needs_health_port(spec: &Spec) -> bool {
    text(spec, "type") == "LoadBalancer" && text(spec, "externalTrafficPolicy") == "Local"
}

/// Returns whether the service is headless.
pub(super) fn is_headless(spec: &Spec) -> bool {
    text(spec, "clusterIP") == "None"
}

pub(super) fn number(fields: &Spec, name: &str) -> i64 {
    fields.get(name).and_then(Value::as_i64).unwrap_or_default()
}

/// Returns the ports.
pub(super) fn ports(spec: &Spec) -> impl Iterator<Item = &Spec> {
    let ports = spec.get("ports").and_then(Value::as_array);
    ports.into_iter().flatten().filter_map(Value::as_object)
}

/// Returns the ports, to be changed.
pub(super) fn ports_mut(spec: &mut Spec) -> impl Iterator<Item = &mut Spec> {
    let ports = spec.get_mut("ports").and_then(Value::as_array_mut);
    ports.into_iter().flatten().filter_map(Value::as_object_mut)
}

fn is_set(spec: &Spec, name: &str) -> bool {
    match spec.get(name) {
        Some(Value::Array(items)) => !items.is_empty(),
        Some(Value::String(text)) => !text.is_empty(),
        Some(value) => !value.is_null(),
        None => false,
    }
}

/// Completes a new service: clients may set only `clusterIP`.
pub(super) fn begin(spec: &mut Spec) {
    if is_set(spec, "clusterIP") && !is_set(spec, "clusterIPs") {
        let address = json!([text(spec, "clusterIP")]);
        spec.insert("clusterIPs".to_owned(), address);
    }
    set_families(spec, None);
}

/// Keeps allocated fields that an update omits, and drops fields that the new type does not have.
pub(super) fn revise(old: &Draft, new: &mut Draft) {
    let Some(Value::Object(old)) = old.part("spec") else { return };
    let spec = new.part_mut("spec");
    if needs_address(old) && needs_address(spec) {
        for name in ["clusterIP", "clusterIPs"] {
            if !is_set(spec, name) && is_set(old, name) {
                spec.insert(name.to_owned(), old[name].clone());
            }
        }
    }
    if needs_node_ports(old) && needs_node_ports(spec) {
        keep_node_ports(old, spec);
    }
    if needs_health_port(old)
        && needs_health_port(spec)
        && number(spec, "healthCheckNodePort") == 0
        && let Some(kept) = old.get("healthCheckNodePort")
    {
        spec.insert("healthCheckNodePort".to_owned(), kept.clone());
    }
    if text(old, "clusterIP") != text(spec, "clusterIP") && old.get("clusterIPs") == spec.get("clusterIPs") {
        match text(spec, "clusterIP") {
            "" => drop(spec.remove("clusterIPs")),
            address => {
                let addresses = json!([address]);
                spec.insert("clusterIPs".to_owned(), addresses);
            }
        }
    }
    set_families(spec, Some(old));
    drop_unused(old, spec);
    if text(spec, "type") != "LoadBalancer" {
        new.set_in("status", "loadBalancer", Some(json!({})));
    }
}

fn keep_node_ports(old: &Spec, spec: &mut Spec) {
    let given: Vec<i64> = ports(spec).map(|port| number(port, "nodePort")).collect();
    let before: Vec<(String, i64)> =
        ports(old).map(|port| (text(port, "name").to_owned(), number(port, "nodePort"))).collect();
    for port in ports_mut(spec).filter(|port| number(port, "nodePort") == 0) {
        let name = text(port, "name");
        let kept = before.iter().rev().find(|(other, _)| other == name).map(|(_, number)| *number);
        if let Some(kept) = kept.filter(|kept| *kept != 0 && !given.contains(kept)) {
            port.insert("nodePort".to_owned(), kept.into());
        }
    }
}

/// Drops fields that the new type does not have, unless the client has changed them too.
fn drop_unused(old: &Spec, spec: &mut Spec) {
    let mut unused: Vec<&str> = Vec::new();
    if needs_address(old) && !needs_address(spec) {
        let is_same = ["clusterIP", "clusterIPs"].iter().all(|name| old.get(*name) == spec.get(*name));
        unused.extend(["clusterIP", "clusterIPs"].into_iter().filter(|_| is_same));
        unused.extend(["ipFamilies", "ipFamilyPolicy"]);
    }
    if needs_node_ports(old) && !needs_node_ports(spec) {
        let before: Vec<i64> = ports(old).map(|port| number(port, "nodePort")).collect();
        let is_known =
            |port: &Spec| matches!(number(port, "nodePort"), 0) || before.contains(&number(port, "nodePort"));
        if ports(spec).all(is_known) {
            ports_mut(spec).for_each(|port| drop(port.remove("nodePort")));
        }
    }
    if needs_health_port(old) && !needs_health_port(spec) {
        unused.push("healthCheckNodePort");
    }
    if text(old, "type") == "LoadBalancer" && text(spec, "type") != "LoadBalancer" {
        unused.extend(["allocateLoadBalancerNodePorts", "loadBalancerClass"]);
    }
    if is_outside(old) && !is_outside(spec) {
        unused.push("externalTrafficPolicy");
    }
    for name in unused {
        if old.get(name) == spec.get(name) {
            spec.remove(name);
        }
    }
}

/// Returns whether the service is reachable from outside of the cluster.
fn is_outside(spec: &Spec) -> bool {
    matches!(text(spec, "type"), "LoadBalancer" | "NodePort")
        || (text(spec, "type") == "ClusterIP" && is_set(spec, "externalIPs"))
}

/// Sets the IP families. This cluster is IPv4 only; headless services without a selector may have both families.
fn set_families(spec: &mut Spec, old: Option<&Spec>) {
    if !needs_address(spec) {
        spec.remove("internalTrafficPolicy"); // no traffic to route
        return;
    }
    let is_free =
        is_headless(spec) && spec.get("selector").and_then(Value::as_object).is_none_or(Map::is_empty);
    if spec.get("ipFamilyPolicy").is_none_or(Value::is_null) {
        let before = old.and_then(|old| old.get("ipFamilyPolicy").cloned());
        let policy = if is_free { "RequireDualStack" } else { "SingleStack" };
        spec.insert("ipFamilyPolicy".to_owned(), before.unwrap_or_else(|| policy.into()));
    }
    if !is_set(spec, "ipFamilies") {
        let families: Vec<&str> = match spec.get("clusterIPs").and_then(Value::as_array) {
            Some(addresses) if !is_headless(spec) => {
                let family = |address: &Value| {
                    if address.as_str().is_some_and(|text| text.contains(':')) { "IPv6" } else { "IPv4" }
                };
                addresses.iter().map(family).collect()
            }
            _ => vec!["IPv4"],
        };
        spec.insert("ipFamilies".to_owned(), families.into());
    }
    let is_single = text(spec, "ipFamilyPolicy") == "SingleStack";
    if let Some(Value::Array(families)) = spec.get_mut("ipFamilies")
        && is_free
        && !is_single
        && families.len() == 1
    {
        let other = if families[0] == "IPv4" { "IPv6" } else { "IPv4" };
        families.push(other.into());
    }
}
