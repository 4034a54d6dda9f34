//! Fan-out: one writer, many watchers, and how many events reach them in a second.
//!
//! - F1: the writer is at most [`FanOut::window`] writes ahead of the slowest watcher, so that no server
//!   has a reason to cut a watcher off; one that does so ends the bench.
//! - F2: an event counts once it has reached a watcher's stream. It is told by the line end behind it,
//!   which no JSON holds within.

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

/// The most writes of a round.
const WRITES: usize = 1 << 18;

/// Watchers, and a writer of the one object that they watch.
#[derive(Debug, Clone, Copy)]
pub struct FanOut {
    /// Connections of HTTP/2.
    pub connections: usize,
    /// Watches on each.
    pub watches: usize,
    /// F1.
    pub window: usize,
    /// How long the writer goes on.
    pub lasts: Duration,
}

/// How far the watchers are.
#[derive(Debug)]
struct Arrivals {
    watchers: u32,
    /// How many watchers have seen each write.
    seen: Vec<AtomicU32>,
    /// F1: a permit a write that all have seen.
    window: Semaphore,
}

impl Arrivals {
    fn count(&self, write: usize) {
        if let Some(seen) = self.seen.get(write)
            && seen.fetch_add(1, Ordering::Relaxed) + 1 == self.watchers
        {
            self.window.add_permits(1);
        }
    }
}

impl FanOut {
    /// How many watchers there are.
    pub fn watchers(self) -> usize {
        self.connections * self.watches
    }

    /// Creates the object that is watched.
    ///
    /// # Errors
    /// Where the server does not take it.
    pub async fn prepare(self, endpoint: &Endpoint, namespace: &str) -> Outcome<()> {
        let connection = Connection::open(endpoint).await?;
        let path = format!("/api/v1/namespaces/{namespace}/configmaps");
        connection.exchange(Method::POST, &path, body(0, 0), StatusCode::CREATED).await?;
        Ok(())
    }

    /// Watches and writes: how many events have reached how many watchers, summed, and how long from the
    /// first write until the last watcher had seen the last. Opening the watches is not counted.
    ///
    /// # Errors
    /// Where a watch cannot be opened or ends, or a write is refused.
    pub async fn run(self, endpoint: &Endpoint, namespace: &str, round: usize) -> Outcome<(usize, Duration)> {
        let path = format!("/api/v1/namespaces/{namespace}/configmaps");
        let object = format!("{path}/ticker");
        let writer = Connection::open(endpoint).await?;
        // The first update also rids a server of the managed fields that it tracks.
        writer.exchange(Method::PUT, &object, body(round, 0), StatusCode::OK).await?;
        let from = version(&writer, &object).await?;
        let arrivals = Arc::new(Arrivals {
            watchers: u32::try_from(self.watchers())?,
            seen: (0..WRITES).map(|_| AtomicU32::new(0)).collect(),
            window: Semaphore::new(self.window),
        });
        let mut watchers = JoinSet::new();
        for _ in 0..self.connections {
            let connection = Connection::open(endpoint).await?;
            for _ in 0..self.watches {
                let path = format!("{path}?watch=true&resourceVersion={from}");
                let answer = connection.send(Method::GET, &path, "application/json", Bytes::new()).await?;
                if !answer.status().is_success() {
                    return Err(format!("GET {path}: {}", answer.status()).into());
                }
                watchers.spawn(watch(answer.into_body(), arrivals.clone()));
            }
        }
        let begun = Instant::now();
        let writing = async {
            let mut written = 0;
            while begun.elapsed() < self.lasts && written < WRITES {
                arrivals.window.acquire().await?.forget(); // F1
                written += 1;
                writer.exchange(Method::PUT, &object, body(round, written), StatusCode::OK).await?;
            }
            let _all_seen = arrivals.window.acquire_many(u32::try_from(self.window)?).await?;
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(written)
        };
        let written = tokio::select! {
            written = writing => written?,
            Some(ended) = watchers.join_next() => {
                ended??;
                return Err("the server ended a watch".into());
            }
        };
        Ok((written * self.watchers(), begun.elapsed()))
    }
}

async fn watch(mut body: Incoming, arrivals: Arc<Arrivals>) -> Outcome<()> {
    let mut events = 0;
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        for _ in data.iter().filter(|byte| **byte == b'\n') {
            arrivals.count(events); // F2
            events += 1;
        }
    }
    Ok(())
}

/// The object after a write: a kilobyte, and no two alike.
fn body(round: usize, write: usize) -> Bytes {
    let metadata = json!({"name": "ticker", "managedFields": [{}]});
    let data = json!({"tick": format!("{round}-{write}"), "content": "0123456789".repeat(90)});
    let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data});
    body.to_string().into()
}

async fn version(connection: &Connection, path: &str) -> Outcome<String> {
    let answer = connection.send(Method::GET, path, "application/json", Bytes::new()).await?;
    let object: serde_json::Value = serde_json::from_slice(&answer.into_body().collect().await?.to_bytes())?;
    let version = object["metadata"]["resourceVersion"].as_str();
    Ok(version.ok_or("the object that is watched has no version")?.to_owned())
}
