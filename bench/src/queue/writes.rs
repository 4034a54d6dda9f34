//! Writes: objects that are created at a steady rate, and say when.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::{Method, StatusCode};
use serde_json::json;

use crate::server::{Connection, Endpoint, Outcome, Pace};

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
        let pace = Pace { count: self.count, per_second: self.per_second, at_once: WORKERS };
        let write = move |number: usize| {
            let connection = connection.clone();
            async move {
                let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos();
                let name = format!("write-{number}");
                let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name},
                    "data": {"sent": now.to_string()}});
                let path = "/api/v1/namespaces/default/configmaps";
                connection.exchange(Method::POST, path, body.to_string().into(), StatusCode::CREATED).await?;
                Ok(())
            }
        };
        pace.keep(write).await
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
