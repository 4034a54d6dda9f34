//! Fixture: the objects on the server.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::{Method, StatusCode};
use serde_json::json;
use tokio::task::JoinSet;

use crate::server::{Connection, Creates, Endpoint, Outcome, Population, create_namespace};

/// The namespace of the config maps.
pub const NAMESPACE: &str = "gets";

/// Number of config maps. A job with more gets repeats them.
const CONFIG_MAPS: usize = 1000;

/// Number of concurrent requests.
const WORKERS: usize = 8;

/// Returns the name of a config map; indexes wrap around.
pub(super) fn name(index: usize) -> String {
    format!("small-{}", index % CONFIG_MAPS)
}

/// Creates `pods` pods, and the config maps, each with a kilobyte of data.
///
/// # Errors
/// If a request fails.
pub async fn populate(endpoint: &Endpoint, pods: usize) -> Outcome<()> {
    Arc::new(Population::new(pods)?).create_all(endpoint).await?;
    let connection = Connection::open(endpoint).await?;
    create_namespace(&connection, NAMESPACE).await?;
    let next = Arc::new(AtomicUsize::new(0));
    let mut workers = JoinSet::new();
    for _ in 0..WORKERS {
        let (connection, next) = (connection.clone(), next.clone());
        workers.spawn(async move {
            let path = format!("/api/v1/namespaces/{NAMESPACE}/configmaps");
            let data = "0123456789".repeat(Creates::DATA_BYTES / 10);
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= CONFIG_MAPS {
                    return Ok(());
                }
                let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name(index)},
                    "data": {"content": data}});
                let body = body.to_string().into();
                connection.exchange(Method::POST, &path, body, StatusCode::CREATED).await?;
            }
        });
    }
    while let Some(worker) = workers.join_next().await {
        let done: Outcome<()> = worker?;
        done?;
    }
    Ok(())
}
