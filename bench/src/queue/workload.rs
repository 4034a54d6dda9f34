//! Workload: which keys, and how long they are delayed.

use std::time::Duration;

/// The namespace and the name of the key of this number.
pub fn key(number: usize) -> (String, String) {
    (format!("team-{:03}", number % 50), format!("worker-{number:07}"))
}

/// How long the key of this number is delayed: less than a second, to the microsecond, in no order.
pub fn delay(number: usize) -> Duration {
    Duration::from_micros(number as u64 * 7_919 % 1_000_003 % 1_000_000)
}
