//! Writes: creates config maps at a fixed rate, each with the time at which it was sent.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::{Method, StatusCode};
use serde_json::json;

use crate::server::{Connection, Endpoint, Outcome, SteadyLoad};

/// The line that a queue program prints once it waits for the writes.
pub const READY: &str = "ready";

/// A number of config maps to create at a fixed rate.
#[derive(Debug, Clone, Copy)]
pub struct Writes {
    /// Number of config maps.
    pub count: usize,
    /// Creates per second; fewer if the server is slower.
    pub per_second: u32,
}

/// Number of concurrent requests.
const WORKERS: usize = 8;

impl Writes {
    /// Creates all config maps.
    ///
    /// # Errors
    /// If a request fails.
    pub async fn send(self, endpoint: &Endpoint) -> Outcome<()> {
        let connection = Connection::open(endpoint).await?;
        let load = SteadyLoad { count: self.count, per_second: self.per_second, concurrency: WORKERS };
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
        load.run(write).await
    }
}

/// Returns the time at which a config map was sent, in nanoseconds since the epoch, by its key `sent`; `None` if it is not
/// one of the writes.
pub fn sent(value: Option<&str>) -> Option<u128> {
    value?.parse().ok()
}

/// Returns the time that has passed since `sent`.
pub fn age(sent: u128) -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    Duration::from_nanos(u64::try_from(now.saturating_sub(sent)).unwrap_or(u64::MAX))
}
