//! Defaults of services, by type.

use serde_json::{Value, json};

use crate::defaults::{Fields, is_empty, number, objects, set, text};

/// The default session affinity timeout, in seconds.
const AFFINITY_SECONDS: i64 = 10_800;

pub(crate) fn spec(spec: &mut Fields) {
    set(spec, "sessionAffinity", "None");
    match text(spec, "sessionAffinity") {
        "None" => drop(spec.remove("sessionAffinityConfig")),
        "ClientIP" => {
            let given = spec.get("sessionAffinityConfig");
            if given.and_then(|config| config.get("clientIP")?.get("timeoutSeconds")).is_none() {
                let config = json!({"clientIP": {"timeoutSeconds": AFFINITY_SECONDS}});
                spec.insert("sessionAffinityConfig".to_owned(), config);
            }
        }
        _ => {}
    }
    set(spec, "type", "ClusterIP");
    objects(spec, "ports").for_each(port);
    let form = text(spec, "type").to_owned();
    let is_balanced = form == "LoadBalancer";
    let has_outside_address = form == "ClusterIP" && !is_empty(spec, "externalIPs");
    if is_balanced || form == "NodePort" || has_outside_address {
        set(spec, "externalTrafficPolicy", "Cluster");
    }
    if matches!(&*form, "ClusterIP" | "NodePort" | "LoadBalancer") {
        set(spec, "internalTrafficPolicy", "Cluster");
    }
    if is_balanced {
        set(spec, "allocateLoadBalancerNodePorts", true);
    }
}

fn port(port: &mut Fields) {
    set(port, "protocol", "TCP");
    let has_target = match port.get("targetPort") {
        Some(Value::String(name)) => !name.is_empty(),
        Some(Value::Number(target)) => target.as_i64() != Some(0),
        _ => false,
    };
    if !has_target {
        let target = number(port, "port");
        port.insert("targetPort".to_owned(), target.into());
    }
}

/// `ipMode` of load balancer addresses defaults to `VIP`.
pub(crate) fn load_balancer(service: &mut Fields) {
    if service.get("spec").is_none_or(|spec| spec["type"] != "LoadBalancer") {
        return;
    }
    let balancer =
        service.get_mut("status").and_then(|status| status.get_mut("loadBalancer")?.as_object_mut());
    for ingress in balancer.into_iter().flat_map(|balancer| objects(balancer, "ingress")) {
        if !text(ingress, "ip").is_empty() {
            set(ingress, "ipMode", "VIP");
        }
    }
}
