//! Stamped updates: labels pods with the current time, at a fixed rate.

use std::time::{SystemTime, UNIX_EPOCH};

use http::{Method, StatusCode};
use serde_json::json;

use crate::informer::RunningPods;
use crate::server::{Connection, Endpoint, Outcome, SteadyLoad};

/// Number of concurrent requests.
const WORKERS: usize = 16;

/// A number of updates of pods at a fixed rate.
#[derive(Debug, Clone, Copy)]
pub struct StampedUpdates {
    /// The pods to update.
    pub pods: RunningPods,
    /// Number of updates.
    pub count: usize,
    /// Updates per second; fewer if the server is slower.
    pub per_second: u32,
}

impl StampedUpdates {
    /// Sends all updates, cycling through the pods. The timestamp is taken before the request is sent.
    ///
    /// # Errors
    /// If a request fails.
    pub async fn send(self, endpoint: &Endpoint) -> Outcome<()> {
        let connection = Connection::open(endpoint).await?;
        let load = SteadyLoad { count: self.count, per_second: self.per_second, concurrency: WORKERS };
        let stamp_pod = move |number: usize| {
            let connection = connection.clone();
            async move {
                let (path, pod) = self.pods.pod(number * 7 % self.pods.count())?;
                let metadata =
                    json!({"name": pod["metadata"]["name"], "labels": {"written": now_micros().to_string()}});
                let body = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata}).to_string();
                let path = format!("{path}?fieldManager=stamps&force=true");
                connection.exchange(Method::PATCH, &path, body.into(), StatusCode::OK).await?;
                Ok(())
            }
        };
        load.run(stamp_pod).await
    }
}

/// Returns the current time, in microseconds since the epoch.
pub fn now_micros() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}
