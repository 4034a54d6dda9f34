//! A few fast retries per key, then slow ones.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

use parking_lot::Mutex;

use super::RateLimiter;

/// Delays the first failures of a key briefly and all later ones for long. client-go's `ItemFastSlowRateLimiter`.
#[derive(Debug)]
pub struct FastSlow<T> {
    fast: Duration,
    slow: Duration,
    fast_failures: u32,
    failures: Mutex<HashMap<T, u32>>,
}

impl<T> FastSlow<T> {
    /// Creates a limiter that returns `fast` for the first `fast_failures` of a key, then `slow`.
    pub fn new(fast: Duration, slow: Duration, fast_failures: u32) -> Self {
        Self { fast, slow, fast_failures, failures: Mutex::default() }
    }
}

impl<T: Hash + Eq + Clone + Send> RateLimiter<T> for FastSlow<T> {
    fn when(&self, key: &T) -> Duration {
        let mut failures = self.failures.lock();
        let failures = failures.entry(key.clone()).or_default();
        *failures = failures.saturating_add(1);
        if *failures <= self.fast_failures { self.fast } else { self.slow }
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

    #[test]
    fn the_first_failures_are_fast_and_later_ones_slow() {
        let limiter = FastSlow::new(Duration::from_millis(5), Duration::from_secs(10), 3);
        let waits = |key, times| (0..times).map(|_| limiter.when(&key).as_millis()).collect::<Vec<_>>();
        assert_eq!(waits("a", 5), [5, 5, 5, 10_000, 10_000]);
        assert_eq!(waits("b", 1), [5]);
        assert_eq!(limiter.num_requeues(&"a"), 5);
        limiter.forget(&"a");
        assert_eq!((limiter.num_requeues(&"a"), waits("a", 1)), (0, vec![5]));
    }
}
