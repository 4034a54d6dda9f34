//! Creates: config maps, created as fast as the server accepts them.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Method, StatusCode};
use serde_json::json;
use tokio::task::JoinSet;

use super::{Connection, Endpoint, Outcome};

/// Workers that create config maps, each waiting for the response before it sends the next request.
#[derive(Debug, Clone, Copy)]
pub struct Creates {
    /// Number of HTTP/2 connections.
    pub connections: usize,
    /// Number of workers on each connection.
    pub workers: usize,
    /// Time after which no further request is sent.
    pub duration: Duration,
}

impl Creates {
    /// Length of the data of each config map.
    pub const DATA_BYTES: usize = 1000;

    /// Creates config maps until the time is over. Returns their number, and the time until the last response.
    ///
    /// # Errors
    /// If a request fails.
    pub async fn run(self, endpoint: &Endpoint, namespace: &str, round: usize) -> Outcome<(usize, Duration)> {
        let path = format!("/api/v1/namespaces/{namespace}/configmaps");
        let data = "0123456789".repeat(Self::DATA_BYTES / 10);
        let mut connections = Vec::new();
        for _ in 0..self.connections {
            connections.push(Connection::open(endpoint).await?);
        }
        let start = Instant::now();
        let mut workers = JoinSet::new();
        for worker in 0..self.connections * self.workers {
            let connection = connections[worker % self.connections].clone();
            let (path, data) = (path.clone(), data.clone());
            workers.spawn(async move {
                let mut created = 0;
                while start.elapsed() < self.duration {
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
        Ok((sum, start.elapsed()))
    }
}
