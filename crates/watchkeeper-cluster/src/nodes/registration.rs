//! Registration: the node object, status and lease of a machine.

use serde_json::{Value, json};
use watchkeeper_core::Timestamp;

use super::view::{Node, NodeCondition};
use super::{LEASE_NAMESPACE, Machine};

/// Lease duration, in seconds.
const LEASE_SECONDS: u32 = 40;

/// The conditions of a healthy machine.
const CONDITIONS: [(&str, &str, &str, &str); 4] = [
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
];

/// Returns the node of a new machine.
pub(super) fn node(machine: &Machine, version: &str, now: Timestamp) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": machine.name,
            "labels": {
                "beta.kubernetes.io/arch": architecture(),
                "beta.kubernetes.io/os": "linux",
                "kubernetes.io/arch": architecture(),
                "kubernetes.io/hostname": machine.name,
                "kubernetes.io/os": "linux",
            },
        },
        "spec": {"podCIDR": machine.pod_network(), "podCIDRs": [machine.pod_network()]},
        "status": status(machine, version, None, now),
    })
}

/// Returns the status of a healthy machine. Transition times are taken from the known node.
pub(super) fn status(machine: &Machine, version: &str, known: Option<&Node>, now: Timestamp) -> Value {
    let capacity = json!({
        "cpu": "1k",
        "ephemeral-storage": "1Ti",
        "memory": "1Ti",
        "pods": machine.room().to_string(),
    });
    let condition = |(kind, status, reason, message): (&str, &str, &str, &str)| {
        let before = known.and_then(|node| node.condition(kind)).filter(|before| before.status == status);
        NodeCondition {
            kind: kind.to_owned(),
            status: status.to_owned(),
            last_heartbeat_time: Some(now.to_string()),
            last_transition_time: before
                .and_then(|before| before.last_transition_time.clone())
                .or_else(|| Some(now.to_string())),
            reason: reason.to_owned(),
            message: message.to_owned(),
        }
    };
    json!({
        "capacity": capacity,
        "allocatable": capacity,
        "conditions": CONDITIONS.map(condition),
        "addresses": [
            {"type": "InternalIP", "address": machine.address.to_string()},
            {"type": "Hostname", "address": machine.name},
        ],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "nodeInfo": {
            "architecture": architecture(),
            "bootID": identity(machine, "boot"),
            "containerRuntimeVersion": "containerd://2.1.0-simulated",
            "kernelVersion": "6.12.0-simulated",
            "kubeProxyVersion": "",
            "kubeletVersion": version,
            "machineID": identity(machine, "machine").replace('-', ""),
            "operatingSystem": "linux",
            "osImage": "Watchkeeper (simulated)",
            "systemUUID": identity(machine, "system"),
        },
    })
}

/// Returns its lease, renewed now.
pub(super) fn lease(machine: &Machine, node: &Node, now: Timestamp) -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "name": machine.name,
            "namespace": LEASE_NAMESPACE,
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "Node", "name": machine.name, "uid": node.metadata.uid},
            ],
        },
        "spec": {
            "holderIdentity": machine.name,
            "leaseDurationSeconds": LEASE_SECONDS,
            "renewTime": now.display_micro().to_string(),
        },
    })
}

fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// Returns a UUID derived from the machine's name.
fn identity(machine: &Machine, of: &str) -> String {
    let hex = crate::kubelet::digest(&[of, &machine.name]);
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    format!("{}-{}-4{}-8{}-{}", part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32))
}
