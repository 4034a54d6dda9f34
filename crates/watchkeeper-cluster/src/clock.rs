//! Arithmetic on timestamps.

use std::time::Duration;

use watchkeeper_core::Timestamp;

/// Returns the time from one moment to a later one, or `None` if it is not later.
pub(crate) fn between(earlier: Timestamp, later: Timestamp) -> Option<Duration> {
    if later <= earlier {
        return None;
    }
    let nanos = |moment: Timestamp| i128::from(moment.seconds) * 1_000_000_000 + i128::from(moment.nanos);
    u64::try_from(nanos(later) - nanos(earlier)).ok().map(Duration::from_nanos)
}

/// Returns the moment `seconds` after another.
pub(crate) fn after(moment: Timestamp, seconds: i32) -> Timestamp {
    Timestamp { seconds: moment.seconds.saturating_add(seconds.into()), ..moment }
}
