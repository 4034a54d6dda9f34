//! Pods that run: with a status, and with the managed fields that a server makes.
//!
//! They are those of [`Pods`], 31 or 32 on a node. One manager applies each of them, and another writes its
//! status, as a controller and a kubelet would.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::{Method, StatusCode};
use serde_json::Value;
use tokio::task::JoinSet;

use crate::pods::Pods;
use crate::server::{Connection, Endpoint, Outcome, namespace};

/// Requests at once on each connection.
const WORKERS: usize = 8;
const CONNECTIONS: usize = 4;
const NODES: usize = 640;

/// So many pods, which are made when they are asked for.
#[derive(Debug, Clone, Copy)]
pub struct RunningPods {
    source: Pods,
    count: usize,
}

impl RunningPods {
    /// A label that ten of 20,000 pods have: `shard=7`, say.
    pub const SELECTED: &str = "shard=7";
    const SHARDS: usize = 2000;

    /// So many pods.
    pub fn new(count: usize) -> Self {
        Self { source: Pods::seeded(11), count }
    }

    /// How many there are.
    pub fn count(self) -> usize {
        self.count
    }

    /// How many of them [`SELECTED`](Self::SELECTED) selects.
    pub fn selected(self) -> usize {
        (0..self.count).filter(|index| index % Self::SHARDS == 7).count()
    }

    /// The path of a pod, and the pod with its status.
    pub(crate) fn pod(self, index: usize) -> Outcome<(String, Value)> {
        let mut pod: Value = serde_json::from_str(&self.source.item(index))?;
        pod["kind"] = "Pod".into();
        pod["apiVersion"] = "v1".into();
        let node = index % NODES;
        pod["spec"]["nodeName"] = format!("ip-10-0-{}-{}.internal", node / 256, node % 256).into();
        let metadata = pod["metadata"].as_object_mut().ok_or("no metadata")?;
        for given in ["uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"] {
            metadata.remove(given);
        }
        metadata["labels"]["shard"] = (index % Self::SHARDS).to_string().into();
        let text = |name: &str| metadata.get(name).and_then(Value::as_str).unwrap_or_default();
        let path = format!("/api/v1/namespaces/{}/pods/{}", text("namespace"), text("name"));
        Ok((path, pod))
    }

    /// Creates all of them.
    ///
    /// # Errors
    /// Where the server does not take one.
    pub async fn settle(self, endpoint: &Endpoint) -> Outcome<()> {
        let first = Connection::open(endpoint).await?;
        for number in 0..self.count.div_ceil(400) {
            namespace(&first, &format!("team-{number:03}")).await?;
        }
        let next = Arc::new(AtomicUsize::new(0));
        let mut workers = JoinSet::new();
        for _ in 0..CONNECTIONS {
            let connection = Connection::open(endpoint).await?;
            for _ in 0..WORKERS {
                let (next, connection) = (next.clone(), connection.clone());
                workers.spawn(async move {
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        if index >= self.count {
                            return Ok(());
                        }
                        self.create(index, &connection).await?;
                    }
                });
            }
        }
        while let Some(worker) = workers.join_next().await {
            let done: Outcome<()> = worker?;
            done?;
        }
        Ok(())
    }

    async fn create(self, index: usize, connection: &Connection) -> Outcome<()> {
        let (path, mut pod) = self.pod(index)?;
        let whole = pod.to_string();
        pod.as_object_mut().ok_or("a pod is an object")?.remove("status");
        let applied = format!("{path}?fieldManager=kube-controller-manager");
        connection.exchange(Method::PATCH, &applied, pod.to_string().into(), StatusCode::CREATED).await?;
        put_status(connection, &path, whole).await
    }
}

/// Writes the status of a pod, as a kubelet would.
pub(super) async fn put_status(connection: &Connection, path: &str, pod: String) -> Outcome<()> {
    let path = format!("{path}/status?fieldManager=kubelet");
    connection.exchange(Method::PUT, &path, pod.into(), StatusCode::OK).await?;
    Ok(())
}
