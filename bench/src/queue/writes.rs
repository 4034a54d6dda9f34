//! Writes: objects that are created at a steady rate, and say when.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::{Method, StatusCode};
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::server::{Connection, Endpoint, Outcome};

/// What the program around a queue prints when it waits for the writes.
pub const READY: &str = "ready";

/// So many config maps, so many a second.
#[derive(Debug, Clone, Copy)]
pub struct Writes {
    /// How many.
    pub count: usize,
    /// How many a second; fewer, where the server does not take them.
    pub per_second: u32,
}

/// Requests at once.
const WORKERS: usize = 8;

impl Writes {
    /// Makes all of them.
    ///
    /// # Errors
    /// Where the server does not take one.
    pub async fn send(self, endpoint: &Endpoint) -> Outcome<()> {
        let connection = Connection::open(endpoint).await?;
        let beginning = Instant::now();
        let mut workers = JoinSet::new();
        for worker in 0..WORKERS {
            let connection = connection.clone();
            workers.spawn(async move {
                for number in (worker..self.count).step_by(WORKERS) {
                    sleep_until(beginning + Duration::from_secs(number as u64) / self.per_second).await;
                    let name = format!("write-{number}");
                    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos();
                    let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name},
                        "data": {"sent": now.to_string()}});
                    let path = "/api/v1/namespaces/default/configmaps";
                    connection
                        .exchange(Method::POST, path, body.to_string().into(), StatusCode::CREATED)
                        .await?;
                }
                Ok(())
            });
        }
        while let Some(worker) = workers.join_next().await {
            let done: Outcome<()> = worker?;
            done?;
        }
        Ok(())
    }
}

/// When a config map was sent, if it is one of the writes.
pub fn sent(data: Option<&std::collections::BTreeMap<String, String>>) -> Option<u128> {
    data?.get("sent")?.parse().ok()
}

/// How long ago that was.
pub fn age(sent: u128) -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    Duration::from_nanos(u64::try_from(now.saturating_sub(sent)).unwrap_or(u64::MAX))
}
