//! Stamps: pods that are labelled with the moment, at a steady rate.

use std::time::{SystemTime, UNIX_EPOCH};

use http::{Method, StatusCode};
use serde_json::json;

use crate::informer::RunningPods;
use crate::server::{Connection, Endpoint, Outcome, Pace};

/// Requests at once.
const WORKERS: usize = 16;

/// So many changes of pods, so many a second.
#[derive(Debug, Clone, Copy)]
pub struct Stamps {
    /// Of which pods.
    pub pods: RunningPods,
    /// How many.
    pub count: usize,
    /// How many a second; fewer, where the server does not take them.
    pub per_second: u32,
}

impl Stamps {
    /// Makes all of them, each of another pod as long as there are others. The time is taken before the request is sent.
    ///
    /// # Errors
    /// Where the server does not take one.
    pub async fn send(self, endpoint: &Endpoint) -> Outcome<()> {
        let connection = Connection::open(endpoint).await?;
        let pace = Pace { count: self.count, per_second: self.per_second, at_once: WORKERS };
        let stamp_pod = move |number: usize| {
            let connection = connection.clone();
            async move {
                let (path, pod) = self.pods.pod(number * 7 % self.pods.count())?;
                let metadata =
                    json!({"name": pod["metadata"]["name"], "labels": {"written": stamp().to_string()}});
                let body = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata}).to_string();
                let path = format!("{path}?fieldManager=stamps&force=true");
                connection.exchange(Method::PATCH, &path, body.into(), StatusCode::OK).await?;
                Ok(())
            }
        };
        pace.keep(stamp_pod).await
    }
}

/// This moment, in microseconds.
pub fn stamp() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}
