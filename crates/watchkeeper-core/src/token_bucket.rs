//! Token bucket.

use std::time::{Duration, Instant};

/// A token bucket, refilled at a steady rate. The caller passes the current time.
///
/// ```
/// use std::time::{Duration, Instant};
/// use watchkeeper_core::TokenBucket;
///
/// let mut bucket = TokenBucket::new(Duration::from_secs(300), 25);
/// let now = Instant::now();
/// assert_eq!((0..30).filter(|_| bucket.try_take(now)).count(), 25);
/// assert!(bucket.try_take(now + Duration::from_secs(300)));
/// ```
#[derive(Debug, Clone)]
pub struct TokenBucket {
    /// Time to refill one token.
    interval: Duration,
    burst: u32,
    /// When the bucket is full again; `None` before the first token is taken.
    full_at: Option<Instant>,
}

impl TokenBucket {
    /// Creates a full bucket of `burst` tokens, at least one, which regains one token per `interval`.
    pub fn new(interval: Duration, burst: u32) -> Self {
        Self { interval, burst: burst.max(1), full_at: None }
    }

    /// Creates a full bucket that regains `rate` tokens per second. A rate below 0.001 counts as 0.001.
    pub fn per_second(rate: f64, burst: u32) -> Self {
        let rate = if rate > 0.001 { rate } else { 0.001 };
        Self::new(Duration::from_secs_f64(1.0 / rate), burst)
    }

    /// Takes a token, if need be a future one, and returns how long to wait for it.
    pub fn take(&mut self, now: Instant) -> Duration {
        let (full_at, wait) = self.next(now);
        self.full_at = Some(full_at);
        wait
    }

    /// Takes a token if one is available, and returns whether it did.
    pub fn try_take(&mut self, now: Instant) -> bool {
        let (full_at, wait) = self.next(now);
        if wait.is_zero() {
            self.full_at = Some(full_at);
        }
        wait.is_zero()
    }

    /// Returns when the bucket is full again if one more token is taken, and how long to wait for that token.
    fn next(&self, now: Instant) -> (Instant, Duration) {
        let full_at = self.full_at.unwrap_or(now).max(now) + self.interval;
        // A bucket that needs the time of `burst` tokens to refill is empty.
        (full_at, full_at.duration_since(now).saturating_sub(self.interval * self.burst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_available_at_once_and_the_rest_at_the_rate() {
        let (mut bucket, started) = (TokenBucket::per_second(10.0, 3), Instant::now());
        let mut waits = |seconds: u64| {
            let now = started + Duration::from_secs(seconds);
            [(); 5].map(|()| bucket.take(now).as_millis())
        };
        assert_eq!(waits(0), [0, 0, 0, 100, 200]);
        assert_eq!(waits(10), [0, 0, 0, 100, 200], "full again, and not more than full");
    }

    #[test]
    fn try_take_takes_only_available_tokens() {
        let (mut bucket, started) = (TokenBucket::new(Duration::from_secs(10), 2), Instant::now());
        let mut taken_at = |seconds: u64| {
            let now = started + Duration::from_secs(seconds);
            (0..5).filter(|_| bucket.try_take(now)).count()
        };
        assert_eq!([0, 9, 10, 19, 20, 1000].map(&mut taken_at), [2, 0, 1, 0, 1, 2]);
    }
}
