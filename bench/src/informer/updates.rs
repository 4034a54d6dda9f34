//! Updates: pods that change, at a steady rate.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::RunningPods;
use super::pods::put_status;
use crate::server::{Connection, Endpoint, Outcome};

/// Requests at once: as many as keep the rate where the server takes tens of milliseconds for each.
const WORKERS: usize = 16;

/// So many updates of pods, so many a second.
#[derive(Debug, Clone, Copy)]
pub struct Updates {
    /// Of which pods.
    pub pods: RunningPods,
    /// How many.
    pub count: usize,
    /// How many a second; fewer, where the server does not take them.
    pub per_second: u32,
}

impl Updates {
    /// Makes all of them, each of another pod as long as there are others. A container has been restarted more
    /// often than ever before, which changes nothing else.
    ///
    /// # Errors
    /// Where the server does not take one.
    pub async fn send(self, endpoint: &Endpoint) -> Outcome<()> {
        let connection = Connection::open(endpoint).await?;
        let beginning = Instant::now();
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
                    sleep_until(beginning + Duration::from_secs(index as u64) / self.per_second).await;
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
