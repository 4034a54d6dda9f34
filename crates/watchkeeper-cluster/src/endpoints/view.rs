//! The fields of services and pods that endpoints are computed from.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::view::{Condition, Meta};

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Service {
    pub(super) metadata: Meta,
    pub(super) spec: ServiceSpec,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ServiceSpec {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) selector: Option<BTreeMap<String, String>>,
    pub(super) ports: Vec<ServicePort>,
    #[serde(rename = "clusterIP")]
    pub(super) cluster_ip: String,
    pub(super) publish_not_ready_addresses: bool,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ServicePort {
    pub(super) name: String,
    pub(super) protocol: String,
    pub(super) app_protocol: Option<String>,
    pub(super) port: u16,
    /// A number, or the name of a port of the pod.
    pub(super) target_port: Value,
}

impl Service {
    /// Returns whether it has no cluster IP.
    pub(super) fn is_headless(&self) -> bool {
        matches!(self.spec.cluster_ip.as_str(), "" | "None")
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Pod {
    pub(super) metadata: Meta,
    pub(super) spec: PodSpec,
    pub(super) status: PodStatus,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct PodSpec {
    pub(super) node_name: String,
    pub(super) hostname: String,
    pub(super) subdomain: String,
    pub(super) containers: Vec<Container>,
    pub(super) init_containers: Vec<Container>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Container {
    pub(super) ports: Vec<ContainerPort>,
    pub(super) restart_policy: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ContainerPort {
    pub(super) name: String,
    pub(super) container_port: u16,
    pub(super) protocol: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct PodStatus {
    pub(super) phase: String,
    #[serde(rename = "podIP")]
    pub(super) pod_ip: String,
    pub(super) conditions: Vec<Condition>,
}

/// A reference to the pod behind an address.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct TargetRef {
    pub(super) kind: String,
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) uid: String,
}

/// A port of an endpoint. Endpoints omit an empty name; slices always have one.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Port {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    pub(super) port: u16,
    pub(super) protocol: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) app_protocol: Option<String>,
}
