//! Token buckets.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::RateLimiter;

/// A token bucket, refilled at a steady rate. The caller passes the current time.
///
/// ```
/// use std::time::Duration;
/// use tokio::time::Instant;
/// use watchkeeper_workqueue::limit::Bucket;
///
/// let mut bucket = Bucket::new(Duration::from_secs(300), 25);
/// let now = Instant::now();
/// assert_eq!((0..30).filter(|_| bucket.try_take(now)).count(), 25);
/// assert!(bucket.try_take(now + Duration::from_secs(300)));
/// ```
#[derive(Debug, Clone)]
pub struct Bucket {
    /// Time to refill one token.
    interval: Duration,
    burst: u32,
    /// When the bucket is full again; `None` before the first token is taken.
    full_at: Option<Instant>,
}

impl Bucket {
    /// Creates a full bucket of `burst` tokens, at least one, which regains one token per `interval`.
    pub fn new(interval: Duration, burst: u32) -> Self {
        Self { interval, burst: burst.max(1), full_at: None }
    }

    /// Takes a token, if need be a future one, and returns how long to wait for it.
    pub fn take(&mut self, now: Instant) -> Duration {
        let (taken, wait) = self.next(now);
        self.full_at = Some(taken);
        wait
    }

    /// Takes a token if one is available, and returns whether it did.
    pub fn try_take(&mut self, now: Instant) -> bool {
        let (taken, wait) = self.next(now);
        if wait.is_zero() {
            self.full_at = Some(taken);
        }
        wait.is_zero()
    }

    /// Returns when the bucket is full again if one more token is taken, and how long to wait for that token.
    fn next(&self, now: Instant) -> (Instant, Duration) {
        let taken = self.full_at.unwrap_or(now).max(now) + self.interval;
        // A bucket that needs the time of `burst` tokens to refill is empty.
        (taken, taken.duration_since(now).saturating_sub(self.interval * self.burst))
    }
}

/// A rate limiter with one [`Bucket`] for all keys: each failure takes a token. client-go's `BucketRateLimiter`.
#[derive(Debug)]
pub struct TokenBucket {
    bucket: Mutex<Bucket>,
}

impl TokenBucket {
    /// Creates a limiter of `per_second` failures after a burst. A rate below 0.001 counts as 0.001.
    pub fn new(per_second: f64, burst: u32) -> Self {
        let rate = if per_second > 0.001 { per_second } else { 0.001 };
        Self { bucket: Mutex::new(Bucket::new(Duration::from_secs_f64(1.0 / rate), burst)) }
    }
}

impl<T> RateLimiter<T> for TokenBucket {
    fn when(&self, _key: &T) -> Duration {
        self.bucket.lock().take(Instant::now())
    }

    fn forget(&self, _key: &T) {}

    fn num_requeues(&self, _key: &T) -> u32 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_burst_passes_at_once_and_the_rest_at_the_rate() {
        let bucket = TokenBucket::new(10.0, 3);
        let waits = |count: u32| (0..count).map(|key| bucket.when(&key).as_millis()).collect::<Vec<_>>();
        assert_eq!(waits(6), [0, 0, 0, 100, 200, 300]);
        tokio::time::advance(Duration::from_secs(10)).await;
        assert_eq!(waits(5), [0, 0, 0, 100, 200]);
        assert_eq!(bucket.num_requeues(&1), 0);
    }

    #[test]
    fn try_take_takes_only_available_tokens() {
        let (mut bucket, begun) = (Bucket::new(Duration::from_secs(10), 2), Instant::now());
        let mut taken_by = |seconds: u64| {
            let now = begun + Duration::from_secs(seconds);
            (0..5).filter(|_| bucket.try_take(now)).count()
        };
        assert_eq!([0, 9, 10, 19, 20, 1000].map(&mut taken_by), [2, 0, 1, 0, 1, 2]);
    }
}
