//! Twice as long after each failure.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hash};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use super::RateLimiter;

/// Each key waits twice as long after each failure of its own, up to a limit.
#[derive(Debug)]
pub struct Exponential<T> {
    base: Duration,
    most: Duration,
    /// Up to which part of a wait is added by chance.
    jitter: f64,
    drawn: AtomicU64,
    random: RandomState,
    failures: Mutex<HashMap<T, u32>>,
}

impl<T> Exponential<T> {
    /// From `base`, to `most`.
    pub fn new(base: Duration, most: Duration) -> Self {
        Self {
            base,
            most,
            jitter: 0.0,
            drawn: AtomicU64::new(0),
            random: RandomState::new(),
            failures: Mutex::default(),
        }
    }

    /// Adds up to so much of itself to each wait, by chance, so that what has failed together does not come back
    /// together: 0.1 is up to a tenth. The limit holds all the same.
    #[must_use]
    pub fn jitter(mut self, part: f64) -> Self {
        self.jitter = if part.is_finite() { part.clamp(0.0, 1.0) } else { 0.0 };
        self
    }

    /// From 0 to 1.
    fn chance(&self) -> f64 {
        let bits = self.random.hash_one(self.drawn.fetch_add(1, Ordering::Relaxed));
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
            wait += wait * self.jitter * self.chance();
        }
        // What is too long for any clock is more than the limit too.
        Duration::try_from_secs_f64(wait).map_or(self.most, |wait| wait.min(self.most))
    }

    fn forget(&self, key: &T) {
        let gone = self.failures.lock().remove_entry(key);
        drop(gone);
    }

    fn failures(&self, key: &T) -> u32 {
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
    fn each_key_waits_twice_as_long_each_time_and_no_longer_than_the_limit() {
        let limiter = Exponential::new(Duration::from_millis(1), Duration::from_secs(1));
        assert_eq!(millis(&limiter, "a", 12), [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000, 1000]);
        assert_eq!(millis(&limiter, "b", 2), [1, 2]);
        assert_eq!((limiter.failures(&"a"), limiter.failures(&"b"), limiter.failures(&"c")), (12, 2, 0));
        limiter.forget(&"a");
        assert_eq!((limiter.failures(&"a"), millis(&limiter, "a", 1)), (0, vec![1]));
    }

    #[test]
    fn what_no_clock_can_show_is_the_limit() {
        let limiter = Exponential::new(Duration::from_secs(1000), Duration::MAX);
        let last = (0..5_000).map(|_| limiter.when(&"a")).last();
        assert_eq!(last, Some(Duration::MAX));
    }

    #[test]
    fn by_chance_it_is_longer_by_no_more_than_was_said() {
        let limiter = Exponential::new(Duration::from_secs(1), Duration::from_secs(1000)).jitter(0.5);
        let waits: Vec<_> = (0..100_u32).map(|key| limiter.when(&key)).collect();
        assert!(waits.iter().all(|wait| (1.0..=1.5).contains(&wait.as_secs_f64())), "{waits:?}");
        assert!(waits.iter().max() > waits.iter().min());
    }
}
