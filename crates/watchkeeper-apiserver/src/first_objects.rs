//! First objects: what is there before anybody has created anything.

use serde_json::{Value, json};
use watchkeeper_core::Timestamp;

use crate::http::random_uid;
use crate::server::StartError;
use crate::store::{Collection, Expect, Store, Stored, Unversioned, WriteError};

/// The namespaces that every cluster has.
pub const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// Creates what is not there yet: a store of one's own may have been used before.
pub(crate) async fn create(store: &dyn Store, port: u16) -> Result<(), StartError> {
    let now = Timestamp::now().to_string();
    let mut objects: Vec<(&'static str, Value)> =
        NAMESPACES.into_iter().map(|name| ("namespaces", namespace(name))).collect();
    objects.extend(priority_classes().map(|class| ("scheduling.k8s.io/priorityclasses", class)));
    objects.push(("networking.k8s.io/servicecidrs", network(&now)));
    objects.push(("services", service(port)));
    for (collection, mut object) in objects {
        object["metadata"]["uid"] = random_uid()?.into();
        object["metadata"]["creationTimestamp"] = now.as_str().into();
        let value = Unversioned::from_json(object.to_string().as_bytes())?;
        match store.put(&Collection::from(collection), value, Expect::Absent).await {
            Ok(_) => {}
            Err(WriteError::Conflict { current: Some(stored) }) if collection == "services" => {
                follow_port(store, &stored, port).await?;
            }
            Err(WriteError::Conflict { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// The server of a store that was used before may have listened elsewhere.
async fn follow_port(store: &dyn Store, service: &Stored, port: u16) -> Result<(), StartError> {
    let Ok(mut object) = serde_json::from_slice::<Value>(&service.object().encoded.body) else {
        return Ok(());
    };
    match object.pointer_mut("/spec/ports/0/targetPort") {
        Some(target) if *target != port => *target = port.into(),
        _ => return Ok(()),
    }
    let value = Unversioned::from_json(object.to_string().as_bytes())?;
    match store.put(&Collection::from("services"), value, Expect::At(service.modified())).await {
        Ok(_) | Err(WriteError::Conflict { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn namespace(name: &str) -> Value {
    json!({
        "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}},
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    })
}

/// The classes of pods without which a cluster does not work.
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

/// Where the addresses of services come from.
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

/// The server itself, as pods would find it.
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
