//! Jitter: random delays, so that not everything happens at once.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::time::Duration;

/// Returns a random duration between two bounds.
pub(crate) fn between(least: Duration, most: Duration) -> Duration {
    let fraction = (RandomState::new().build_hasher().finish() >> 11) as f64 / (1_u64 << 53) as f64;
    least + most.saturating_sub(least).mul_f64(fraction)
}
