//! Fan-out: one writer, many watchers, and the number of events delivered per second.
//!
//! - `fan_out.F1`: the writer is at most [`FanOut::window`] writes ahead of the slowest watcher, so that no server
//!   has a reason to close a watch. If a server closes one, the benchmark fails.
//! - `fan_out.F2`: an event counts once it has arrived on a watcher's stream. Events are counted by newlines, which
//!   do not occur within compact JSON.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Method, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::{Connection, Endpoint, Outcome};

/// Maximum number of writes per round.
const WRITES: usize = 1 << 18;

/// Watchers of one object, and its writer.
#[derive(Debug, Clone, Copy)]
pub struct FanOut {
    /// Number of HTTP/2 connections.
    pub connections: usize,
    /// Number of watches on each connection.
    pub watches: usize,
    /// Maximum number of writes ahead of the slowest watcher (`fan_out.F1`).
    pub window: usize,
    /// Time after which the writer stops.
    pub duration: Duration,
}

/// Progress of the watchers.
#[derive(Debug)]
struct Deliveries {
    watchers: u32,
    /// For each write, the number of watchers that have received it.
    seen: Vec<AtomicU32>,
    /// `fan_out.F1`: gets a permit back for each write that all watchers have received.
    window: Semaphore,
}

impl Deliveries {
    fn count(&self, write: usize) {
        if let Some(seen) = self.seen.get(write)
            && seen.fetch_add(1, Ordering::Relaxed) + 1 == self.watchers
        {
            self.window.add_permits(1);
        }
    }
}

impl FanOut {
    /// Returns the number of watchers.
    pub fn watchers(self) -> usize {
        self.connections * self.watches
    }

    /// Creates the watched object.
    ///
    /// # Errors
    /// If the request fails.
    pub async fn prepare(self, endpoint: &Endpoint, namespace: &str) -> Outcome<()> {
        let connection = Connection::open(endpoint).await?;
        let path = format!("/api/v1/namespaces/{namespace}/configmaps");
        connection.exchange(Method::POST, &path, body(0, 0), StatusCode::CREATED).await?;
        Ok(())
    }

    /// Opens the watches and writes until the time is over. Returns the number of events delivered, summed over all
    /// watchers, and the time from the first write until every watcher has received the last one. Opening the
    /// watches is not counted.
    ///
    /// # Errors
    /// If a watch cannot be opened or ends, or a write fails.
    pub async fn run(self, endpoint: &Endpoint, namespace: &str, round: usize) -> Outcome<(usize, Duration)> {
        let path = format!("/api/v1/namespaces/{namespace}/configmaps");
        let object = format!("{path}/ticker");
        let writer = Connection::open(endpoint).await?;
        // The first update also removes the managed fields that the server tracks.
        writer.exchange(Method::PUT, &object, body(round, 0), StatusCode::OK).await?;
        let from = version(&writer, &object).await?;
        let deliveries = Arc::new(Deliveries {
            watchers: u32::try_from(self.watchers())?,
            seen: (0..WRITES).map(|_| AtomicU32::new(0)).collect(),
            window: Semaphore::new(self.window),
        });
        let mut watchers = JoinSet::new();
        for _ in 0..self.connections {
            let connection = Connection::open(endpoint).await?;
            for _ in 0..self.watches {
                let path = format!("{path}?watch=true&resourceVersion={from}");
                let response = connection.send(Method::GET, &path, "application/json", Bytes::new()).await?;
                if !response.status().is_success() {
                    return Err(format!("GET {path}: {}", response.status()).into());
                }
                watchers.spawn(watch(response.into_body(), deliveries.clone()));
            }
        }
        let start = Instant::now();
        let writing = async {
            let mut written = 0;
            while start.elapsed() < self.duration && written < WRITES {
                deliveries.window.acquire().await?.forget(); // fan_out.F1
                written += 1;
                writer.exchange(Method::PUT, &object, body(round, written), StatusCode::OK).await?;
            }
            let _all_seen = deliveries.window.acquire_many(u32::try_from(self.window)?).await?;
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(written)
        };
        let written = tokio::select! {
            written = writing => written?,
            Some(ended) = watchers.join_next() => {
                ended??;
                return Err("the server ended a watch".into());
            }
        };
        Ok((written * self.watchers(), start.elapsed()))
    }
}

async fn watch(mut body: Incoming, deliveries: Arc<Deliveries>) -> Outcome<()> {
    let mut events = 0;
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        for _ in data.iter().filter(|byte| **byte == b'\n') {
            deliveries.count(events); // fan_out.F2
            events += 1;
        }
    }
    Ok(())
}

/// Returns the object after a write: about a kilobyte, different for each round and write.
fn body(round: usize, write: usize) -> Bytes {
    let metadata = json!({"name": "ticker", "managedFields": [{}]});
    let data = json!({"tick": format!("{round}-{write}"), "content": "0123456789".repeat(90)});
    let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data});
    body.to_string().into()
}

async fn version(connection: &Connection, path: &str) -> Outcome<String> {
    let response = connection.send(Method::GET, path, "application/json", Bytes::new()).await?;
    let object: serde_json::Value =
        serde_json::from_slice(&response.into_body().collect().await?.to_bytes())?;
    let version = object["metadata"]["resourceVersion"].as_str();
    Ok(version.ok_or("the watched object has no resource version")?.to_owned())
}
