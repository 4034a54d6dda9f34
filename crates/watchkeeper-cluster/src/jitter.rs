//! Jitter: random delays, so that not everything happens at once.

use std::time::Duration;

/// Returns a random duration between two bounds.
pub(crate) fn between(least: Duration, most: Duration) -> Duration {
    least + most.saturating_sub(least).mul_f64(fastrand::f64())
}
