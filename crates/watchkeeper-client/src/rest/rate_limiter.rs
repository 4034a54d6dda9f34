//! Client-side rate limiter.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use watchkeeper_core::TokenBucket;

/// A token bucket: each request takes a token, and tokens are refilled at a steady rate. (client-go:
/// `flowcontrol.NewTokenBucketRateLimiter`.)
///
/// Requests are admitted in the order in which they call [`wait`](Self::wait).
#[derive(Debug)]
pub struct RateLimiter {
    bucket: Mutex<TokenBucket>,
    /// Time at which a long wait was last logged.
    logged_at: Mutex<Option<Instant>>,
}

/// Minimum interval between log lines about long waits.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

impl RateLimiter {
    /// Creates a limiter for `per_second` requests per second with bursts of up to `burst`. The rate is at least one
    /// per 1000 seconds, and the burst at least one.
    pub fn new(per_second: f64, burst: u32) -> Self {
        let bucket = Mutex::new(TokenBucket::per_second(per_second, burst));
        Self { bucket, logged_at: Mutex::default() }
    }

    /// Waits until a request may be sent. A dropped future loses its token.
    pub async fn wait(&self) {
        let wait = self.bucket.lock().take(Instant::now().into_std());
        tokio::time::sleep(wait).await;
    }

    /// Returns whether to log a long wait now.
    pub(super) fn should_log(&self) -> bool {
        let mut logged_at = self.logged_at.lock();
        let should_log = logged_at.is_none_or(|logged_at| logged_at.elapsed() >= LOG_INTERVAL);
        if should_log {
            *logged_at = Some(Instant::now());
        }
        should_log
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_burst_passes_at_once_and_the_rest_at_the_rate() {
        let limiter = RateLimiter::new(10.0, 3);
        let started = Instant::now();
        let mut times = Vec::new();
        for _ in 0..6 {
            limiter.wait().await;
            times.push(started.elapsed().as_millis());
        }
        assert_eq!(times, [0, 0, 0, 100, 200, 300]);
        tokio::time::advance(Duration::from_secs(10)).await;
        let started = Instant::now();
        for _ in 0..3 {
            limiter.wait().await;
        }
        assert_eq!(started.elapsed().as_millis(), 0, "the bucket is full again");
        limiter.wait().await;
        assert_eq!(started.elapsed().as_millis(), 100, "and not more than full");
    }

    #[tokio::test(start_paused = true)]
    async fn long_waits_are_logged_at_intervals() {
        let limiter = RateLimiter::new(1.0, 1);
        assert!(limiter.should_log() && !limiter.should_log());
        tokio::time::advance(LOG_INTERVAL).await;
        assert!(limiter.should_log() && !limiter.should_log());
    }
}
