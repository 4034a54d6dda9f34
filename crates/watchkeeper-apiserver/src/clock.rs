//! Clock: the current time, with the precision of object metadata.

use watchkeeper_core::Timestamp;

/// Returns the current time, truncated to the second.
pub(crate) fn now() -> Timestamp {
    Timestamp::now().truncate_to_second()
}
