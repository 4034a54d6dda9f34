//! So many a second.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::RateLimiter;

/// A bucket of tokens, which come back at a steady rate. What time it is it is told.
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
    /// From one token to the next.
    every: Duration,
    burst: u32,
    /// When the bucket would be full again.
    full_at: Option<Instant>,
}

impl Bucket {
    /// It is full, with so many tokens, and never less than one.
    pub fn new(every: Duration, burst: u32) -> Self {
        Self { every, burst: burst.max(1), full_at: None }
    }

    /// Takes a token, if need be one that is not there yet: how long until it is.
    pub fn take(&mut self, now: Instant) -> Duration {
        let (taken, wait) = self.next(now);
        self.full_at = Some(taken);
        wait
    }

    /// Takes a token if there is one.
    pub fn try_take(&mut self, now: Instant) -> bool {
        let (taken, wait) = self.next(now);
        if wait.is_zero() {
            self.full_at = Some(taken);
        }
        wait.is_zero()
    }

    /// When it would be full again without one token more, and how long until that is there.
    fn next(&self, now: Instant) -> (Instant, Duration) {
        let taken = self.full_at.unwrap_or(now).max(now) + self.every;
        // The bucket is empty when it takes as long to be full again as all tokens need.
        (taken, taken.duration_since(now).saturating_sub(self.every * self.burst))
    }
}

/// One bucket for all keys: each failure takes a token.
#[derive(Debug)]
pub struct TokenBucket {
    bucket: Mutex<Bucket>,
}

impl TokenBucket {
    /// So many a second, and so many at once. A rate that is not positive counts as one in a thousand seconds.
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

    #[test]
    fn who_does_not_wait_takes_only_what_is_there() {
        let (mut bucket, begun) = (Bucket::new(Duration::from_secs(10), 2), Instant::now());
        let mut taken_by = |seconds: u64| {
            let now = begun + Duration::from_secs(seconds);
            (0..5).filter(|_| bucket.try_take(now)).count()
        };
        assert_eq!([0, 9, 10, 19, 20, 1000].map(&mut taken_by), [2, 0, 1, 0, 1, 2]);
    }
}
