//! Members: the pods of a service, as its clients see them.

use serde_json::Value;

use super::view::{Container, Pod, Port, Service, ServicePort, TargetRef};

/// A pod of a service that has an IP address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) address: String,
    pub(super) hostname: Option<String>,
    pub(super) node: Option<String>,
    pub(super) target: TargetRef,
    /// Whether the pod is ready.
    pub(super) is_serving: bool,
    pub(super) is_terminating: bool,
    /// The service's ports on this pod, or `None` if the service has ports and the pod has none of them.
    pub(super) ports: Option<Vec<Port>>,
    /// Last transition of the pod's `Ready` condition.
    pub(super) ready_since: Option<String>,
}

impl Member {
    /// Returns the member for a pod, or `None` if the pod has finished or has no IP address.
    pub(super) fn of(pod: &Pod, service: &Service) -> Option<Self> {
        let has_ended = matches!(pod.status.phase.as_str(), "Succeeded" | "Failed");
        if has_ended || pod.status.pod_ip.is_empty() {
            return None;
        }
        let (meta, spec) = (&pod.metadata, &pod.spec);
        let ready = pod.status.conditions.iter().find(|condition| condition.kind == "Ready");
        let is_named = !spec.hostname.is_empty()
            && spec.subdomain == service.metadata.name
            && meta.namespace == service.metadata.namespace;
        let found: Vec<Port> = service.spec.ports.iter().filter_map(|port| find(port, pod)).collect();
        let is_portless = service.spec.ports.is_empty() && service.is_headless();
        Some(Self {
            address: pod.status.pod_ip.clone(),
            hostname: is_named.then(|| spec.hostname.clone()),
            node: Some(spec.node_name.clone()).filter(|node| !node.is_empty()),
            target: TargetRef {
                kind: "Pod".to_owned(),
                namespace: meta.namespace.clone(),
                name: meta.name.clone(),
                uid: meta.uid.clone(),
            },
            is_serving: ready.is_some_and(|ready| ready.is_true()),
            is_terminating: meta.is_terminating(),
            ports: Some(found).filter(|found| !found.is_empty() || is_portless),
            ready_since: ready.and_then(|ready| ready.last_transition_time.clone()),
        })
    }
}

/// Resolves a service port to a port of the pod, by number or by name.
fn find(wanted: &ServicePort, pod: &Pod) -> Option<Port> {
    let number = match &wanted.target_port {
        Value::String(name) => {
            let sidecars = pod.spec.init_containers.iter().filter(|it| it.restart_policy == "Always");
            let ports = |container: &Container| container.ports.clone();
            let mut ports = pod.spec.containers.iter().chain(sidecars).flat_map(ports);
            ports.find(|port| port.name == *name && port.protocol == wanted.protocol)?.container_port
        }
        Value::Number(number) => u16::try_from(number.as_u64()?).ok().filter(|number| *number > 0)?,
        _ => wanted.port,
    };
    Some(Port {
        name: Some(wanted.name.clone()),
        port: number,
        protocol: wanted.protocol.clone(),
        app_protocol: wanted.app_protocol.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn ports_are_found_by_number_and_by_name() {
        let pod: Pod = serde_json::from_value(json!({"spec": {
            "containers": [{"ports": [
                {"name": "web", "containerPort": 8080, "protocol": "TCP"},
                {"name": "dns", "containerPort": 53, "protocol": "UDP"},
            ]}],
            "initContainers": [
                {"restartPolicy": "Always", "ports": [{"name": "admin", "containerPort": 9901, "protocol": "TCP"}]},
                {"ports": [{"name": "setup", "containerPort": 1, "protocol": "TCP"}]},
            ],
        }}))
        .unwrap();
        for (target, expected) in [
            (json!(80), Some(80)),
            (json!("web"), Some(8080)),
            (json!("dns"), None),
            (json!("admin"), Some(9901)),
            (json!("setup"), None),
            (json!("none"), None),
            (Value::Null, Some(443)),
        ] {
            let port = ServicePort {
                protocol: "TCP".to_owned(),
                port: 443,
                target_port: target.clone(),
                ..ServicePort::default()
            };
            assert_eq!(find(&port, &pod).map(|port| port.port), expected, "{target}");
        }
    }

    #[test]
    fn a_pod_is_a_member_while_it_has_an_address_and_runs() {
        let service: Service = serde_json::from_value(json!({
            "metadata": {"name": "web", "namespace": "x"}, "spec": {"ports": [{"port": 80, "protocol": "TCP"}]},
        }))
        .unwrap();
        for (status, going, expected) in [
            (json!({"phase": "Pending"}), None, None),
            (json!({"phase": "Running", "podIP": "1.2.3.4"}), None, Some((false, false))),
            (
                json!({"podIP": "1.2.3.4", "conditions": [{"type": "Ready", "status": "True"}]}),
                None,
                Some((true, false)),
            ),
            (
                json!({"podIP": "1.2.3.4", "conditions": [{"type": "Ready", "status": "True"}]}),
                Some("t"),
                Some((true, true)),
            ),
            (json!({"phase": "Succeeded", "podIP": "1.2.3.4"}), None, None),
        ] {
            let metadata = json!({"namespace": "x", "deletionTimestamp": going});
            let pod: Pod = serde_json::from_value(json!({"metadata": metadata, "status": status})).unwrap();
            let member = Member::of(&pod, &service).map(|it| (it.is_serving, it.is_terminating));
            assert_eq!(member, expected, "{status}");
        }
    }
}
