//! The format of timestamps in cells.

use watchkeeper_core::{Timestamp, elapsed};

/// The format of timestamps in cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimestampFormat {
    /// The elapsed time, as kubectl shows it: `5m7s`.
    Age {
        /// The current time.
        now: Timestamp,
    },
    /// RFC 3339, for clients that compute the elapsed time themselves. A cell is a timestamp (`2026-11-15T09:55:00Z`),
    /// has one in parentheses (`3 (2026-11-15T09:55:00Z ago)`), or is other text.
    Absolute,
}

impl TimestampFormat {
    pub(crate) fn format(self, time: Timestamp) -> String {
        match self {
            Self::Age { now } => elapsed(time, now),
            Self::Absolute => time.to_string(),
        }
    }
}
