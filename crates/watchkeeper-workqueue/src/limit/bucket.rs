//! So many a second, for all keys together.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::RateLimiter;

/// A bucket of tokens for all keys: each failure takes one, and they come back at a steady rate.
#[derive(Debug)]
pub struct TokenBucket {
    /// From one token to the next.
    every: Duration,
    burst: u32,
    /// When the bucket would be full again.
    full_at: Mutex<Option<Instant>>,
}

impl TokenBucket {
    /// So many a second, and so many at once. A rate that is not positive counts as one in a thousand seconds.
    pub fn new(per_second: f64, burst: u32) -> Self {
        let rate = if per_second > 0.001 { per_second } else { 0.001 };
        Self { every: Duration::from_secs_f64(1.0 / rate), burst: burst.max(1), full_at: Mutex::default() }
    }
}

impl<T> RateLimiter<T> for TokenBucket {
    fn when(&self, _key: &T) -> Duration {
        let now = Instant::now();
        let mut full_at = self.full_at.lock();
        let taken = full_at.unwrap_or(now).max(now) + self.every;
        *full_at = Some(taken);
        // The bucket is empty when it takes as long to be full again as all tokens need.
        taken.duration_since(now).saturating_sub(self.every * self.burst)
    }

    fn forget(&self, _key: &T) {}

    fn failures(&self, _key: &T) -> u32 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_burst_goes_at_once_and_the_rest_at_the_rate() {
        let bucket = TokenBucket::new(10.0, 3);
        let waits = |count: u32| (0..count).map(|key| bucket.when(&key).as_millis()).collect::<Vec<_>>();
        assert_eq!(waits(6), [0, 0, 0, 100, 200, 300]);
        tokio::time::advance(Duration::from_secs(10)).await;
        assert_eq!(waits(5), [0, 0, 0, 100, 200]);
        assert_eq!(bucket.failures(&1), 0);
    }
}
