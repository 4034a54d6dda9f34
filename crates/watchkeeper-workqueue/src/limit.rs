//! Rate limiters: how long a key that failed waits until it is added again.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use watchkeeper_core::Backoff;

use crate::Key;

/// Decides how long a key that failed waits. Rate limiters are shared between workers and must not block.
pub trait RateLimiter<T>: Send + Sync {
    /// Records a failure of a key, and returns how long the key waits.
    fn when(&self, key: &T) -> Duration;

    /// Forgets the failures of a key.
    fn forget(&self, key: &T);

    /// Returns how many times a key has failed since it was last forgotten.
    fn num_requeues(&self, key: &T) -> u32;
}

/// Returns the rate limiter of client-go's controllers: for each key 5 ms, doubled with each failure up to 1000 s;
/// and for all keys together 10 per second after a burst of 100.
pub fn default_controller_rate_limiter<T: Key>() -> MaxOf<T> {
    let each = Exponential::new(Duration::from_millis(5), Duration::from_secs(1000));
    MaxOf::new(each).and(TokenBucket::new(10.0, 100))
}

/// Counts the failures of each key.
#[derive(Debug)]
struct Failures<T>(Mutex<HashMap<T, u32>>);

impl<T> Default for Failures<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Hash + Eq + Clone> Failures<T> {
    /// Counts a failure, and returns how many there were before.
    fn count(&self, key: &T) -> u32 {
        let mut failures = self.0.lock();
        let failures = failures.entry(key.clone()).or_default();
        std::mem::replace(failures, failures.saturating_add(1))
    }

    fn forget(&self, key: &T) {
        let gone = self.0.lock().remove_entry(key);
        drop(gone); // after the lock is released
    }

    fn of(&self, key: &T) -> u32 {
        self.0.lock().get(key).copied().unwrap_or(0)
    }
}

/// Doubles the delay of a key with each of its failures, up to a maximum. client-go's
/// `ItemExponentialFailureRateLimiter`.
#[derive(Debug)]
pub struct Exponential<T> {
    backoff: Backoff,
    failures: Failures<T>,
}

impl<T> Exponential<T> {
    /// Creates a limiter whose delays grow from `base` to `max`.
    pub fn new(base: Duration, max: Duration) -> Self {
        let backoff = Backoff { base, factor: 2.0, jitter: 0.0, cap: max, steps: u32::MAX };
        Self { backoff, failures: Failures::default() }
    }

    /// Adds a random part of up to `fraction` to each delay, so that keys that failed together do not return
    /// together. The maximum still holds.
    #[must_use]
    pub fn jitter(mut self, fraction: f64) -> Self {
        self.backoff.jitter = if fraction.is_finite() { fraction.clamp(0.0, 1.0) } else { 0.0 };
        self
    }
}

impl<T: Hash + Eq + Clone + Send> RateLimiter<T> for Exponential<T> {
    fn when(&self, key: &T) -> Duration {
        let delay = self.backoff.delay(self.failures.count(key), fastrand::f64());
        delay.min(self.backoff.cap)
    }

    fn forget(&self, key: &T) {
        self.failures.forget(key);
    }

    fn num_requeues(&self, key: &T) -> u32 {
        self.failures.of(key)
    }
}

/// Delays the first failures of a key briefly and all later ones for long. client-go's `ItemFastSlowRateLimiter`.
#[derive(Debug)]
pub struct FastSlow<T> {
    fast: Duration,
    slow: Duration,
    fast_failures: u32,
    failures: Failures<T>,
}

impl<T> FastSlow<T> {
    /// Creates a limiter that returns `fast` for the first `fast_failures` of a key, then `slow`.
    pub fn new(fast: Duration, slow: Duration, fast_failures: u32) -> Self {
        Self { fast, slow, fast_failures, failures: Failures::default() }
    }
}

impl<T: Hash + Eq + Clone + Send> RateLimiter<T> for FastSlow<T> {
    fn when(&self, key: &T) -> Duration {
        if self.failures.count(key) < self.fast_failures { self.fast } else { self.slow }
    }

    fn forget(&self, key: &T) {
        self.failures.forget(key);
    }

    fn num_requeues(&self, key: &T) -> u32 {
        self.failures.of(key)
    }
}

/// One [token bucket](watchkeeper_core::TokenBucket) for all keys: each failure takes a token. client-go's
/// `BucketRateLimiter`.
#[derive(Debug)]
pub struct TokenBucket(Mutex<watchkeeper_core::TokenBucket>);

impl TokenBucket {
    /// Creates a limiter of `per_second` failures after a burst. A rate below 0.001 counts as 0.001.
    pub fn new(per_second: f64, burst: u32) -> Self {
        Self(Mutex::new(watchkeeper_core::TokenBucket::per_second(per_second, burst)))
    }
}

impl<T> RateLimiter<T> for TokenBucket {
    fn when(&self, _key: &T) -> Duration {
        self.0.lock().take(Instant::now().into_std())
    }

    fn forget(&self, _key: &T) {}

    fn num_requeues(&self, _key: &T) -> u32 {
        0
    }
}

/// Returns the longest delay of several limiters. client-go's `MaxOfRateLimiter`.
pub struct MaxOf<T>(Vec<Box<dyn RateLimiter<T>>>);

impl<T> MaxOf<T> {
    /// Creates a limiter with the delays of one limiter.
    pub fn new(limiter: impl RateLimiter<T> + 'static) -> Self {
        Self(vec![Box::new(limiter)])
    }

    /// Adds a limiter.
    #[must_use]
    pub fn and(mut self, limiter: impl RateLimiter<T> + 'static) -> Self {
        self.0.push(Box::new(limiter));
        self
    }
}

impl<T> RateLimiter<T> for MaxOf<T> {
    fn when(&self, key: &T) -> Duration {
        self.0.iter().map(|limiter| limiter.when(key)).max().unwrap_or_default()
    }

    fn forget(&self, key: &T) {
        self.0.iter().for_each(|limiter| limiter.forget(key));
    }

    fn num_requeues(&self, key: &T) -> u32 {
        self.0.iter().map(|limiter| limiter.num_requeues(key)).max().unwrap_or_default()
    }
}

impl<T> fmt::Debug for MaxOf<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MaxOf").field("limiters", &self.0.len()).finish()
    }
}

/// Caps the delays of a limiter. client-go's `WithMaxWaitRateLimiter`.
#[derive(Debug)]
pub struct WithMaxWait<L> {
    limiter: L,
    max: Duration,
}

impl<L> WithMaxWait<L> {
    /// Caps the delays of `limiter` at `max`.
    pub fn new(limiter: L, max: Duration) -> Self {
        Self { limiter, max }
    }
}

impl<T, L: RateLimiter<T>> RateLimiter<T> for WithMaxWait<L> {
    fn when(&self, key: &T) -> Duration {
        self.limiter.when(key).min(self.max)
    }

    fn forget(&self, key: &T) {
        self.limiter.forget(key);
    }

    fn num_requeues(&self, key: &T) -> u32 {
        self.limiter.num_requeues(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(limiter: &impl RateLimiter<&'static str>, key: &'static str, times: usize) -> Vec<u128> {
        (0..times).map(|_| limiter.when(&key).as_millis()).collect()
    }

    #[test]
    fn each_failure_of_a_key_doubles_its_delay_up_to_the_maximum() {
        let limiter = Exponential::new(Duration::from_millis(1), Duration::from_secs(1));
        assert_eq!(millis(&limiter, "a", 12), [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000, 1000]);
        assert_eq!(millis(&limiter, "b", 2), [1, 2]);
        assert_eq!(
            (limiter.num_requeues(&"a"), limiter.num_requeues(&"b"), limiter.num_requeues(&"c")),
            (12, 2, 0)
        );
        limiter.forget(&"a");
        assert_eq!((limiter.num_requeues(&"a"), millis(&limiter, "a", 1)), (0, vec![1]));
        let short = Exponential::new(Duration::from_secs(2), Duration::from_secs(1));
        assert_eq!(millis(&short, "a", 2), [1000, 1000], "the maximum holds for the first delay too");
    }

    #[test]
    fn a_delay_that_overflows_is_the_maximum() {
        let limiter = Exponential::new(Duration::from_secs(1000), Duration::MAX);
        let last = (0..5_000).map(|_| limiter.when(&"a")).last();
        assert_eq!(last, Some(Duration::MAX));
    }

    #[test]
    fn jitter_lengthens_a_delay_by_at_most_its_fraction() {
        let limiter = Exponential::new(Duration::from_secs(1), Duration::from_secs(1000)).jitter(0.5);
        let waits: Vec<_> = (0..100_u32).map(|key| limiter.when(&key)).collect();
        assert!(waits.iter().all(|wait| (1.0..=1.5).contains(&wait.as_secs_f64())), "{waits:?}");
        assert!(waits.iter().max() > waits.iter().min());
        let capped = Exponential::new(Duration::from_secs(1), Duration::from_secs(1)).jitter(0.5);
        assert_eq!(millis(&capped, "a", 3), [1000; 3], "jitter does not exceed the maximum");
    }

    #[test]
    fn the_first_failures_are_fast_and_later_ones_slow() {
        let limiter = FastSlow::new(Duration::from_millis(5), Duration::from_secs(10), 3);
        assert_eq!(millis(&limiter, "a", 5), [5, 5, 5, 10_000, 10_000]);
        assert_eq!(millis(&limiter, "b", 1), [5]);
        assert_eq!(limiter.num_requeues(&"a"), 5);
        limiter.forget(&"a");
        assert_eq!((limiter.num_requeues(&"a"), millis(&limiter, "a", 1)), (0, vec![5]));
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_passes_at_once_and_the_rest_at_the_rate() {
        let bucket = TokenBucket::new(10.0, 3);
        assert_eq!(millis(&bucket, "a", 6), [0, 0, 0, 100, 200, 300]);
        tokio::time::advance(Duration::from_secs(10)).await;
        assert_eq!(millis(&bucket, "b", 5), [0, 0, 0, 100, 200]);
        assert_eq!(bucket.num_requeues(&"a"), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn the_longest_delay_and_the_most_failures_win() {
        let of = Duration::from_millis;
        let limiter = MaxOf::new(FastSlow::new(of(1), of(30), 2)).and(TokenBucket::new(100.0, 2));
        assert_eq!(millis(&limiter, "a", 5), [1, 1, 30, 30, 30]);
        assert_eq!((limiter.when(&"b").as_millis(), limiter.num_requeues(&"a")), (40, 5));
        limiter.forget(&"a");
        assert_eq!(limiter.num_requeues(&"a"), 0);
        let short = WithMaxWait::new(limiter, of(20));
        assert_eq!(short.when(&"b").as_millis(), 20);
        assert_eq!(short.num_requeues(&"b"), 2);
    }
}
