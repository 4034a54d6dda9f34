//! Cells of services, endpoints and ingresses.

use serde_json::Value;
use watchkeeper_wire::json_path::at;

use super::first_few;
use crate::cell::Subject;
use crate::value::{int, list, or_placeholder, text, text_or_empty};

pub(crate) fn service_external(subject: &Subject<'_>) -> Value {
    let service = subject.object;
    let external = || list(service, "spec.externalIPs").iter().filter_map(Value::as_str).map(str::to_owned);
    Value::from(match text_or_empty(service, "spec.type") {
        "ClusterIP" | "NodePort" => or_placeholder(external().collect::<Vec<_>>().join(","), "<none>"),
        "LoadBalancer" => {
            let all: Vec<String> = balancer_addresses(service).into_iter().chain(external()).collect();
            or_placeholder(all.join(","), "<pending>")
        }
        "ExternalName" => text_or_empty(service, "spec.externalName").to_owned(),
        _ => "<unknown>".to_owned(),
    })
}

/// `80:30080/TCP,443/TCP`.
pub(crate) fn service_ports(subject: &Subject<'_>) -> Value {
    let port = |port: &Value| {
        let (number, protocol) = (int(port, "port"), text_or_empty(port, "protocol"));
        match int(port, "nodePort") {
            node @ 1.. => format!("{number}:{node}/{protocol}"),
            _ => format!("{number}/{protocol}"),
        }
    };
    let ports: Vec<String> = list(subject.object, "spec.ports").iter().map(port).collect();
    Value::from(or_placeholder(ports.join(","), "<none>"))
}

/// Returns the addresses of a load balancer, or host names, sorted and unique.
fn balancer_addresses(object: &Value) -> Vec<String> {
    let address = |ingress: &Value| match (text_or_empty(ingress, "ip"), text_or_empty(ingress, "hostname")) {
        ("", "") => None,
        ("", name) => Some(name.to_owned()),
        (address, _) => Some(address.to_owned()),
    };
    let mut all: Vec<String> =
        list(object, "status.loadBalancer.ingress").iter().filter_map(address).collect();
    all.sort();
    all.dedup();
    all
}

pub(crate) fn ingress_address(subject: &Subject<'_>) -> Value {
    Value::from(balancer_addresses(subject.object).join(","))
}

/// The first three hosts. The rest is counted in rules, including those without a host.
pub(crate) fn ingress_hosts(subject: &Subject<'_>) -> Value {
    const FEW: usize = 3;
    let rules = list(subject.object, "spec.rules");
    let mut hosts = Vec::new();
    let mut more = false;
    for rule in rules {
        more |= hosts.len() == FEW;
        let host = text_or_empty(rule, "host");
        if !more && !host.is_empty() {
            hosts.push(host);
        }
    }
    Value::from(match hosts.join(",") {
        hosts if hosts.is_empty() => "*".to_owned(),
        hosts if more => format!("{hosts} + {} more...", rules.len() - FEW),
        hosts => hosts,
    })
}

pub(crate) fn ingress_ports(subject: &Subject<'_>) -> Value {
    Value::from(if list(subject.object, "spec.tls").is_empty() { "80" } else { "80, 443" })
}

pub(crate) fn ingressclass_name(subject: &Subject<'_>) -> Value {
    let name = text_or_empty(subject.object, "metadata.name");
    let annotations = at(subject.object, "metadata.annotations");
    let is_default =
        annotations.and_then(|all| all.get("ingressclass.kubernetes.io/is-default-class")?.as_str());
    Value::from(if is_default == Some("true") { format!("{name} (default)") } else { name.to_owned() })
}

/// `Kind.group/name`.
pub(crate) fn ingressclass_parameters(subject: &Subject<'_>) -> Value {
    let Some(parameters) = at(subject.object, "spec.parameters") else { return Value::from("<none>") };
    let group = text(parameters, "apiGroup").map(|group| format!(".{group}")).unwrap_or_default();
    let (kind, name) = (text_or_empty(parameters, "kind"), text_or_empty(parameters, "name"));
    Value::from(format!("{kind}{group}/{name}"))
}

/// `services/default/kubernetes`.
pub(crate) fn ipaddress_parent(subject: &Subject<'_>) -> Value {
    let Some(parent) = at(subject.object, "spec.parentRef") else { return Value::from("<none>") };
    let resource = match (text_or_empty(parent, "resource"), text_or_empty(parent, "group")) {
        (resource, "") => resource.to_lowercase(),
        (resource, group) => format!("{resource}.{group}").to_lowercase(),
    };
    let name = text_or_empty(parent, "name");
    Value::from(match text_or_empty(parent, "namespace") {
        "" => format!("{resource}/{name}"),
        namespace => format!("{resource}/{namespace}/{name}"),
    })
}

/// The first three `address:port` pairs.
pub(crate) fn endpoints_addresses(subject: &Subject<'_>) -> Value {
    let subsets = list(subject.object, "subsets");
    if subsets.is_empty() {
        return Value::from("<none>");
    }
    let mut all = Vec::new();
    for subset in subsets {
        let addresses = || list(subset, "addresses").iter().map(|address| text_or_empty(address, "ip"));
        let ports = list(subset, "ports");
        if ports.is_empty() {
            all.extend(addresses().map(str::to_owned));
        }
        for port in ports {
            let number = int(port, "port");
            all.extend(addresses().map(|address| {
                if address.contains(':') {
                    format!("[{address}]:{number}")
                } else {
                    format!("{address}:{number}")
                }
            }));
        }
    }
    Value::from(first_few(&all, 3, ","))
}

pub(crate) fn endpointslice_ports(subject: &Subject<'_>) -> Value {
    let port = |port: &Value| match at(port, "port").and_then(Value::as_i64) {
        Some(number) => number.to_string(),
        None => text(port, "name").unwrap_or("*").to_owned(),
    };
    let ports: Vec<String> = list(subject.object, "ports").iter().map(port).collect();
    Value::from(or_placeholder(first_few(&ports, 3, ","), "<unset>"))
}

pub(crate) fn endpointslice_addresses(subject: &Subject<'_>) -> Value {
    let endpoints = list(subject.object, "endpoints").iter();
    let addresses = endpoints.flat_map(|endpoint| list(endpoint, "addresses")).filter_map(Value::as_str);
    let all: Vec<String> = addresses.map(str::to_owned).collect();
    Value::from(or_placeholder(first_few(&all, 3, ","), "<unset>"))
}
