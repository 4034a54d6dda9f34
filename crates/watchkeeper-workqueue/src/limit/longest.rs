//! Limiters of limiters.

use std::fmt;
use std::time::Duration;

use super::RateLimiter;

/// Of what several limiters say, the longest.
pub struct Longest<T> {
    all: Vec<Box<dyn RateLimiter<T>>>,
}

impl<T> Longest<T> {
    /// As long as this one says.
    pub fn of(limiter: impl RateLimiter<T> + 'static) -> Self {
        Self { all: vec![Box::new(limiter)] }
    }

    /// And as long as this one says.
    #[must_use]
    pub fn and(mut self, limiter: impl RateLimiter<T> + 'static) -> Self {
        self.all.push(Box::new(limiter));
        self
    }
}

impl<T> RateLimiter<T> for Longest<T> {
    fn when(&self, key: &T) -> Duration {
        self.all.iter().map(|limiter| limiter.when(key)).max().unwrap_or_default()
    }

    fn forget(&self, key: &T) {
        self.all.iter().for_each(|limiter| limiter.forget(key));
    }

    fn failures(&self, key: &T) -> u32 {
        self.all.iter().map(|limiter| limiter.failures(key)).max().unwrap_or_default()
    }
}

impl<T> fmt::Debug for Longest<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Longest").field("limiters", &self.all.len()).finish()
    }
}

/// What a limiter says, but never longer than so long.
#[derive(Debug)]
pub struct AtMost<L> {
    limiter: L,
    most: Duration,
}

impl<L> AtMost<L> {
    /// At most so long.
    pub fn new(most: Duration, limiter: L) -> Self {
        Self { limiter, most }
    }
}

impl<T, L: RateLimiter<T>> RateLimiter<T> for AtMost<L> {
    fn when(&self, key: &T) -> Duration {
        self.limiter.when(key).min(self.most)
    }

    fn forget(&self, key: &T) {
        self.limiter.forget(key);
    }

    fn failures(&self, key: &T) -> u32 {
        self.limiter.failures(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit::{FastSlow, TokenBucket};

    #[tokio::test(start_paused = true)]
    async fn the_longest_wait_and_the_most_failures_count() {
        let millis = Duration::from_millis;
        let limiter = Longest::of(FastSlow::new(millis(1), millis(30), 2)).and(TokenBucket::new(100.0, 2));
        let waits: Vec<_> = (0..5).map(|_| limiter.when(&"a").as_millis()).collect();
        assert_eq!(waits, [1, 1, 30, 30, 30]);
        assert_eq!((limiter.when(&"b").as_millis(), limiter.failures(&"a")), (40, 5));
        limiter.forget(&"a");
        assert_eq!(limiter.failures(&"a"), 0);
        let short = AtMost::new(millis(20), limiter);
        assert_eq!(short.when(&"b").as_millis(), 20);
        assert_eq!(short.failures(&"b"), 2);
    }
}
