//! Clock: what time it is, as objects tell it.

use watchkeeper_core::Timestamp;

/// This moment, to the second.
pub(crate) fn now() -> Timestamp {
    Timestamp::now().to_the_second()
}
