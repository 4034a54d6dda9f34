//! Pace: requests at a steady rate.

use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::Outcome;

/// So many requests, so many a second.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// How many.
    pub count: usize,
    /// How many a second; fewer, where the server does not take them.
    pub per_second: u32,
    /// How many at once, at most.
    pub at_once: usize,
}

impl Pace {
    /// Makes all of them: each has a number and is made when its time has come.
    ///
    /// # Errors
    /// Those of the first that goes wrong.
    pub async fn keep<F>(self, request: impl Fn(usize) -> F + Clone + Send + 'static) -> Outcome<()>
    where
        F: Future<Output = Outcome<()>> + Send,
    {
        let beginning = Instant::now();
        let mut workers = JoinSet::new();
        for worker in 0..self.at_once {
            let request = request.clone();
            workers.spawn(async move {
                for number in (worker..self.count).step_by(self.at_once) {
                    sleep_until(beginning + Duration::from_secs(number as u64) / self.per_second).await;
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
