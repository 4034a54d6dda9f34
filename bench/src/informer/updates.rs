//! Updates: status updates of pods at a fixed rate.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::RunningPods;
use super::pods::put_status;
use crate::server::{Connection, Endpoint, Outcome};

/// Number of concurrent requests: enough to keep the rate if the server takes tens of milliseconds for each.
const WORKERS: usize = 16;

/// A number of updates of pods at a fixed rate.
#[derive(Debug, Clone, Copy)]
pub struct Updates {
    /// The pods to update.
    pub pods: RunningPods,
    /// Number of updates.
    pub count: usize,
    /// Updates per second; fewer if the server is slower.
    pub per_second: u32,
}

impl Updates {
    /// Sends all updates, cycling through the pods. Each sets the restart count of a container to a value that it
    /// never had before, and changes nothing else.
    ///
    /// # Errors
    /// If a request fails.
    pub async fn send(self, endpoint: &Endpoint) -> Outcome<()> {
        let connection = Connection::open(endpoint).await?;
        let start = Instant::now();
        let restarts = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        let next = Arc::new(AtomicUsize::new(0));
        let mut workers = JoinSet::new();
        for _ in 0..WORKERS {
            let (next, connection) = (next.clone(), connection.clone());
            workers.spawn(async move {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= self.count {
                        return Ok(());
                    }
                    let (path, mut pod) = self.pods.pod(index * 7 % self.pods.count())?;
                    let restarts = restarts + index as u64;
                    pod["status"]["containerStatuses"][0]["restartCount"] = restarts.into();
                    sleep_until(start + Duration::from_secs(index as u64) / self.per_second).await;
                    put_status(&connection, &path, pod.to_string()).await?;
                }
            });
        }
        while let Some(worker) = workers.join_next().await {
            let done: Outcome<()> = worker?;
            done?;
        }
        Ok(())
    }
}
