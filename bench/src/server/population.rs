//! Population: the pods that a server is filled with.
//!
//! They are those of [`Pods`] without what a server gives (uid, version, status) and without managed
//! fields. A server that tracks managed fields adds its own at the create, so each pod is updated once
//! with the list that asks for their removal; on a server that does not, that update changes nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{Connection, Endpoint, Outcome};
use crate::pods::Pods;

/// Requests at once on each connection.
const WORKERS: usize = 8;
const CONNECTIONS: usize = 4;

/// Pods to be created.
#[derive(Debug)]
pub struct Population {
    pods: Vec<NewPod>,
    namespaces: Vec<String>,
}

#[derive(Debug)]
struct NewPod {
    collection: String,
    name: String,
    body: Bytes,
}

impl Population {
    /// So many pods.
    ///
    /// # Errors
    /// Never, unless [`Pods`] are not JSON.
    pub fn new(count: usize) -> Outcome<Self> {
        let source = Pods::seeded(11);
        let mut pods = Vec::with_capacity(count);
        let mut namespaces = Vec::new();
        for index in 0..count {
            let mut pod: Value = serde_json::from_str(&source.item(index))?;
            pod["kind"] = "Pod".into();
            pod["apiVersion"] = "v1".into();
            let fields = pod.as_object_mut().ok_or("a pod is an object")?;
            fields.remove("status");
            let metadata = fields.get_mut("metadata").and_then(Value::as_object_mut).ok_or("no metadata")?;
            for given in ["uid", "resourceVersion", "generation", "creationTimestamp"] {
                metadata.remove(given);
            }
            metadata.insert("managedFields".to_owned(), json!([{}])); // asks for their removal
            let text = |name: &str| metadata.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
            let (namespace, name) = (text("namespace"), text("name"));
            let collection = format!("/api/v1/namespaces/{namespace}/pods");
            if namespaces.last() != Some(&namespace) {
                namespaces.push(namespace);
            }
            pods.push(NewPod { collection, name, body: pod.to_string().into() });
        }
        Ok(Self { pods, namespaces })
    }

    /// Bytes of a body, on average.
    pub fn mean_bytes(&self) -> usize {
        self.pods.iter().map(|pod| pod.body.len()).sum::<usize>() / self.pods.len().max(1)
    }

    /// Creates all of them.
    ///
    /// # Errors
    /// Where the server does not take one.
    pub async fn settle(self: &Arc<Self>, endpoint: &Endpoint) -> Outcome<()> {
        let first = Connection::open(endpoint).await?;
        for name in &self.namespaces {
            namespace(&first, name).await?;
        }
        let next = Arc::new(AtomicUsize::new(0));
        let mut workers = JoinSet::new();
        for _ in 0..CONNECTIONS {
            let connection = Connection::open(endpoint).await?;
            for _ in 0..WORKERS {
                let (this, next, connection) = (self.clone(), next.clone(), connection.clone());
                workers.spawn(async move {
                    while let Some(pod) = this.pods.get(next.fetch_add(1, Ordering::Relaxed)) {
                        pod.create(&connection).await?;
                    }
                    Ok(())
                });
            }
        }
        while let Some(worker) = workers.join_next().await {
            let done: Outcome<()> = worker?;
            done?;
        }
        Ok(())
    }
}

impl NewPod {
    async fn create(&self, connection: &Connection) -> Outcome<()> {
        let Self { collection, name, body } = self;
        connection.exchange(Method::POST, collection, body.clone(), StatusCode::CREATED).await?;
        let path = format!("{collection}/{name}");
        connection.exchange(Method::PUT, &path, body.clone(), StatusCode::OK).await?;
        Ok(())
    }
}

/// Creates a namespace.
///
/// # Errors
/// Where it is there already, or the server does not take it.
pub async fn namespace(connection: &Connection, name: &str) -> Outcome<()> {
    let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    let body = body.to_string().into();
    connection.exchange(Method::POST, "/api/v1/namespaces", body, StatusCode::CREATED).await?;
    Ok(())
}
