//! Creates: config maps as fast as a server takes them.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Method, StatusCode};
use serde_json::json;
use tokio::task::JoinSet;

use super::{Connection, Endpoint, Outcome};

/// Workers that each wait for the answer before they send the next.
#[derive(Debug, Clone, Copy)]
pub struct Creates {
    /// Connections of HTTP/2.
    pub connections: usize,
    /// Workers on each.
    pub workers: usize,
    /// How long they go on.
    pub lasts: Duration,
}

impl Creates {
    /// Bytes of the data of each.
    pub const DATA_BYTES: usize = 1000;

    /// Creates until the time is over: how many, and how long until the last answer was there.
    ///
    /// # Errors
    /// Where one is refused.
    pub async fn run(self, endpoint: &Endpoint, namespace: &str, round: usize) -> Outcome<(usize, Duration)> {
        let path = format!("/api/v1/namespaces/{namespace}/configmaps");
        let data = "0123456789".repeat(Self::DATA_BYTES / 10);
        let mut connections = Vec::new();
        for _ in 0..self.connections {
            connections.push(Connection::open(endpoint).await?);
        }
        let begun = Instant::now();
        let mut workers = JoinSet::new();
        for worker in 0..self.connections * self.workers {
            let connection = connections[worker % self.connections].clone();
            let (path, data) = (path.clone(), data.clone());
            workers.spawn(async move {
                let mut created = 0;
                while begun.elapsed() < self.lasts {
                    let name = format!("load-{round}-{worker}-{created}");
                    let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name},
                        "data": {"content": data}});
                    let body = Bytes::from(body.to_string());
                    connection.exchange(Method::POST, &path, body, StatusCode::CREATED).await?;
                    created += 1;
                }
                Ok(created)
            });
        }
        drop(connections);
        let mut sum = 0;
        while let Some(worker) = workers.join_next().await {
            let created: Outcome<usize> = worker?;
            sum += created?;
        }
        Ok((sum, begun.elapsed()))
    }
}
