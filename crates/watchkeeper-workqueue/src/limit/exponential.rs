//! Exponential backoff per key.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hash};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use super::RateLimiter;

/// Doubles the delay of a key with each of its failures, up to a maximum. client-go's
/// `ItemExponentialFailureRateLimiter`.
#[derive(Debug)]
pub struct Exponential<T> {
    base: Duration,
    max: Duration,
    /// Largest random addition to a delay, as a fraction of it.
    jitter: f64,
    drawn: AtomicU64,
    hasher: RandomState,
    failures: Mutex<HashMap<T, u32>>,
}

impl<T> Exponential<T> {
    /// Creates a limiter whose delays grow from `base` to `max`.
    pub fn new(base: Duration, max: Duration) -> Self {
        Self {
            base,
            max,
            jitter: 0.0,
            drawn: AtomicU64::new(0),
            hasher: RandomState::new(),
            failures: Mutex::default(),
        }
    }

    /// Adds a random part of up to `fraction` to each delay, so that keys that failed together do not return
    /// together. The maximum still holds.
    #[must_use]
    pub fn jitter(mut self, fraction: f64) -> Self {
        self.jitter = if fraction.is_finite() { fraction.clamp(0.0, 1.0) } else { 0.0 };
        self
    }

    /// Returns a random number in 0..1.
    fn random(&self) -> f64 {
        let bits = self.hasher.hash_one(self.drawn.fetch_add(1, Ordering::Relaxed));
        (bits >> 11) as f64 / (1_u64 << 53) as f64
    }
}

impl<T: Hash + Eq + Clone + Send> RateLimiter<T> for Exponential<T> {
    fn when(&self, key: &T) -> Duration {
        let failed = {
            let mut failures = self.failures.lock();
            let failures = failures.entry(key.clone()).or_default();
            std::mem::replace(failures, failures.saturating_add(1))
        };
        let exponent = i32::try_from(failed).unwrap_or(i32::MAX);
        let mut wait = self.base.as_secs_f64() * 2_f64.powi(exponent);
        if self.jitter > 0.0 {
            wait += wait * self.jitter * self.random();
        }
        // A delay that overflows exceeds the maximum too.
        Duration::try_from_secs_f64(wait).map_or(self.max, |wait| wait.min(self.max))
    }

    fn forget(&self, key: &T) {
        let gone = self.failures.lock().remove_entry(key);
        drop(gone);
    }

    fn num_requeues(&self, key: &T) -> u32 {
        self.failures.lock().get(key).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(limiter: &Exponential<&str>, key: &'static str, times: usize) -> Vec<u128> {
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
    }
}
