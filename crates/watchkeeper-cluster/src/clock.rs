//! Clock: what time it is for everybody.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use watchkeeper_core::Timestamp;

/// This moment.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp { seconds: i64::try_from(since.as_secs()).unwrap_or(i64::MAX), nanos: since.subsec_nanos() }
}

/// How long it is from one moment to a later one; `None` if it is not later.
pub(crate) fn between(earlier: Timestamp, later: Timestamp) -> Option<Duration> {
    if later <= earlier {
        return None;
    }
    let nanos = |moment: Timestamp| i128::from(moment.seconds) * 1_000_000_000 + i128::from(moment.nanos);
    u64::try_from(nanos(later) - nanos(earlier)).ok().map(Duration::from_nanos)
}

/// So many seconds after a moment.
pub(crate) fn after(moment: Timestamp, seconds: i32) -> Timestamp {
    Timestamp { seconds: moment.seconds.saturating_add(seconds.into()), ..moment }
}
