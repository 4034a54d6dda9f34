//! Rate limiters: how long a key that failed waits until it is added again.

mod bucket;
mod exponential;
mod fast_slow;
mod max_of;

use std::time::Duration;

use crate::Key;

pub use bucket::{Bucket, TokenBucket};
pub use exponential::Exponential;
pub use fast_slow::FastSlow;
pub use max_of::{MaxOf, WithMaxWait};

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
