//! Steady load: requests at a fixed rate.

use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::Outcome;

/// A number of requests at a fixed rate.
#[derive(Debug, Clone, Copy)]
pub struct SteadyLoad {
    /// Number of requests.
    pub count: usize,
    /// Requests per second; fewer if the server is slower.
    pub per_second: u32,
    /// Maximum number of concurrent requests.
    pub concurrency: usize,
}

impl SteadyLoad {
    /// Sends all requests, each at its scheduled time. `request` gets the number of the request.
    ///
    /// # Errors
    /// The first error of a request.
    pub async fn run<F>(self, request: impl Fn(usize) -> F + Clone + Send + 'static) -> Outcome<()>
    where
        F: Future<Output = Outcome<()>> + Send,
    {
        let start = Instant::now();
        let mut workers = JoinSet::new();
        for worker in 0..self.concurrency {
            let request = request.clone();
            workers.spawn(async move {
                for number in (worker..self.count).step_by(self.concurrency) {
                    sleep_until(start + Duration::from_secs(number as u64) / self.per_second).await;
                    request(number).await?;
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
