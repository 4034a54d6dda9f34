//! Workload: the keys and their delays.

use std::time::Duration;

/// Returns the namespace and name of a key.
pub fn key(number: usize) -> (String, String) {
    (format!("team-{:03}", number % 50), format!("worker-{number:07}"))
}

/// Returns the delay of a key: less than a second, with a resolution of a microsecond, in scrambled order.
pub fn delay(number: usize) -> Duration {
    Duration::from_micros(number as u64 * 7_919 % 1_000_003 % 1_000_000)
}
