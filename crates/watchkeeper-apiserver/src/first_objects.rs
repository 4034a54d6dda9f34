//! First objects: the objects of a new cluster.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use serde_json::{Value, json};
use watchkeeper_core::Timestamp;

use crate::http::{machine, random_uid};
use crate::server::StartError;
use crate::store::{CollectionId, Precondition, Store, Stored, Unversioned, WriteError};

const ENDPOINTS: &str = "endpoints";
const ENDPOINT_SLICES: &str = "discovery.k8s.io/endpointslices";

/// The namespaces that every cluster has.
pub const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// Creates the objects that do not exist yet: the store may have been used before. The `kubernetes` service and its
/// endpoints always point to `address`, where this server listens.
pub(crate) async fn create(store: &dyn Store, address: SocketAddr) -> Result<(), StartError> {
    let now = Timestamp::now().to_string();
    let (ip, port) = (advertised(address.ip()), address.port());
    let mut objects: Vec<(&'static str, Value)> =
        NAMESPACES.into_iter().map(|name| ("namespaces", namespace(name))).collect();
    objects.extend(priority_classes().map(|class| ("scheduling.k8s.io/priorityclasses", class)));
    objects.push(("networking.k8s.io/servicecidrs", network(&now)));
    objects.push(("services", service(port)));
    objects.push((ENDPOINTS, endpoints(ip, port)));
    objects.push((ENDPOINT_SLICES, endpoint_slice(ip, port)));
    for (collection, mut object) in objects {
        object["metadata"]["uid"] = random_uid()?.into();
        object["metadata"]["creationTimestamp"] = now.as_str().into();
        let value = Unversioned::from_json(object.to_string().as_bytes())?;
        match store.put(&CollectionId::from(collection), value, Precondition::Absent).await {
            Ok(_) => {}
            Err(WriteError::Conflict { current: Some(stored) }) if collection == "services" => {
                let target = [("/spec/ports/0/targetPort", port.into())];
                replace(store, collection, &stored, target).await?;
            }
            Err(WriteError::Conflict { current: Some(stored) }) if collection == ENDPOINTS => {
                let wanted = [("/subsets", object["subsets"].take())];
                replace(store, collection, &stored, wanted).await?;
            }
            Err(WriteError::Conflict { current: Some(stored) }) if collection == ENDPOINT_SLICES => {
                let wanted = ["addressType", "endpoints", "ports"];
                let wanted = wanted.map(|name| (format!("/{name}"), object[name].take()));
                replace(store, collection, &stored, wanted).await?;
            }
            Err(WriteError::Conflict { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Sets the values at these pointers: an earlier server of the store may have listened elsewhere.
async fn replace<P: AsRef<str>>(
    store: &dyn Store,
    collection: &str,
    stored: &Stored,
    wanted: impl IntoIterator<Item = (P, Value)>,
) -> Result<(), StartError> {
    let Ok(mut object) = serde_json::from_slice::<Value>(&stored.object().encoded.body) else {
        return Ok(());
    };
    let mut is_changed = false;
    for (pointer, value) in wanted {
        if let Some(slot) = object.pointer_mut(pointer.as_ref())
            && *slot != value
        {
            *slot = value;
            is_changed = true;
        }
    }
    if !is_changed {
        return Ok(());
    }
    let value = Unversioned::from_json(object.to_string().as_bytes())?;
    match store.put(&CollectionId::from(collection), value, Precondition::At(stored.modified())).await {
        Ok(_) | Err(WriteError::Conflict { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Returns the address to advertise. A server that listens on all addresses advertises that of the default route, or
/// else loopback.
fn advertised(ip: IpAddr) -> IpAddr {
    if !ip.is_unspecified() {
        return ip;
    }
    let loopback = if ip.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() };
    machine::outgoing(ip).unwrap_or(loopback)
}

fn namespace(name: &str) -> Value {
    json!({
        "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}},
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    })
}

/// Returns the system priority classes.
fn priority_classes() -> impl Iterator<Item = Value> {
    let classes = [
        (
            "system-node-critical",
            2_000_001_000,
            "Used for system critical pods that must not be moved from their current node.",
        ),
        (
            "system-cluster-critical",
            2_000_000_000,
            "Used for system critical pods that must run in the cluster, but can be moved to another node if \
             necessary.",
        ),
    ];
    classes.into_iter().map(|(name, value, description)| {
        json!({
            "metadata": {"name": name, "generation": 1},
            "value": value,
            "description": description,
            "preemptionPolicy": "PreemptLowerPriority",
        })
    })
}

/// Returns the range of service addresses.
fn network(now: &str) -> Value {
    json!({
        "metadata": {"name": "kubernetes"},
        "spec": {"cidrs": ["10.0.0.0/24"]},
        "status": {"conditions": [{
            "type": "Ready",
            "status": "True",
            "reason": "",
            "message": "Kubernetes default Service CIDR is ready",
            "lastTransitionTime": now,
        }]},
    })
}

/// Returns the `kubernetes` service.
fn service(port: u16) -> Value {
    json!({
        "metadata": {
            "name": "kubernetes",
            "namespace": "default",
            "labels": {"component": "apiserver", "provider": "kubernetes"},
        },
        "spec": {
            "clusterIP": "10.0.0.1",
            "clusterIPs": ["10.0.0.1"],
            "internalTrafficPolicy": "Cluster",
            "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack",
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": port}],
            "sessionAffinity": "None",
            "type": "ClusterIP",
        },
        "status": {"loadBalancer": {}},
    })
}

/// Returns the `kubernetes` Endpoints, labelled so that no controller mirrors them to slices: see [`endpoint_slice`].
fn endpoints(ip: IpAddr, port: u16) -> Value {
    json!({
        "metadata": {
            "name": "kubernetes",
            "namespace": "default",
            "labels": {"endpointslice.kubernetes.io/skip-mirror": "true"},
        },
        "subsets": [{
            "addresses": [{"ip": ip.to_string()}],
            "ports": [{"name": "https", "port": port, "protocol": "TCP"}],
        }],
    })
}

/// Returns the `kubernetes` EndpointSlice.
fn endpoint_slice(ip: IpAddr, port: u16) -> Value {
    json!({
        "metadata": {
            "name": "kubernetes",
            "namespace": "default",
            "generation": 1,
            "labels": {"kubernetes.io/service-name": "kubernetes"},
        },
        "addressType": if ip.is_ipv4() { "IPv4" } else { "IPv6" },
        "endpoints": [{"addresses": [ip.to_string()], "conditions": {"ready": true}}],
        "ports": [{"name": "https", "port": port, "protocol": "TCP"}],
    })
}
