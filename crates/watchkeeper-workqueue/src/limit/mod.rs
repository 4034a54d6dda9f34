//! Limits: how long a key waits after it has failed.

mod bucket;
mod exponential;
mod fast_slow;
mod longest;

use std::time::Duration;

use crate::Key;

pub use bucket::{Bucket, TokenBucket};
pub use exponential::Exponential;
pub use fast_slow::FastSlow;
pub use longest::{AtMost, Longest};

/// Says how long a key that has failed is to wait. Limiters are shared and must not block.
pub trait RateLimiter<T>: Send + Sync {
    /// A key has failed once more: how long it waits.
    fn when(&self, key: &T) -> Duration;

    /// A key has worked: its next failure is its first.
    fn forget(&self, key: &T);

    /// How often a key has failed since it was forgotten.
    fn failures(&self, key: &T) -> u32;
}

/// What client-go's controllers have: for each key from 5 ms, twice as long after each failure, to 1000 s at most;
/// and 10 a second for all keys together, after a burst of 100.
pub fn standard<T: Key>() -> Longest<T> {
    let each = Exponential::new(Duration::from_millis(5), Duration::from_secs(1000));
    Longest::of(each).and(TokenBucket::new(10.0, 100))
}
