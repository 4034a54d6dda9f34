//! Rate limiters that combine others.

use std::fmt;
use std::time::Duration;

use super::RateLimiter;

/// Returns the longest delay of several limiters. client-go's `MaxOfRateLimiter`.
pub struct MaxOf<T> {
    all: Vec<Box<dyn RateLimiter<T>>>,
}

impl<T> MaxOf<T> {
    /// Creates a limiter with the delays of one limiter.
    pub fn new(limiter: impl RateLimiter<T> + 'static) -> Self {
        Self { all: vec![Box::new(limiter)] }
    }

    /// Adds a limiter.
    #[must_use]
    pub fn and(mut self, limiter: impl RateLimiter<T> + 'static) -> Self {
        self.all.push(Box::new(limiter));
        self
    }
}

impl<T> RateLimiter<T> for MaxOf<T> {
    fn when(&self, key: &T) -> Duration {
        self.all.iter().map(|limiter| limiter.when(key)).max().unwrap_or_default()
    }

    fn forget(&self, key: &T) {
        self.all.iter().for_each(|limiter| limiter.forget(key));
    }

    fn num_requeues(&self, key: &T) -> u32 {
        self.all.iter().map(|limiter| limiter.num_requeues(key)).max().unwrap_or_default()
    }
}

impl<T> fmt::Debug for MaxOf<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MaxOf").field("limiters", &self.all.len()).finish()
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
    use crate::limit::{FastSlow, TokenBucket};

    #[tokio::test(start_paused = true)]
    async fn the_longest_delay_and_the_most_failures_win() {
        let millis = Duration::from_millis;
        let limiter = MaxOf::new(FastSlow::new(millis(1), millis(30), 2)).and(TokenBucket::new(100.0, 2));
        let waits: Vec<_> = (0..5).map(|_| limiter.when(&"a").as_millis()).collect();
        assert_eq!(waits, [1, 1, 30, 30, 30]);
        assert_eq!((limiter.when(&"b").as_millis(), limiter.num_requeues(&"a")), (40, 5));
        limiter.forget(&"a");
        assert_eq!(limiter.num_requeues(&"a"), 0);
        let short = WithMaxWait::new(limiter, millis(20));
        assert_eq!(short.when(&"b").as_millis(), 20);
        assert_eq!(short.num_requeues(&"b"), 2);
    }
}
