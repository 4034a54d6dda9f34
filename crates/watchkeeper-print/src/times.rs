//! Times: how moments are shown.

use watchkeeper_core::{Timestamp, elapsed};

/// How moments are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Times {
    /// As the time since then, which is what `kubectl` shows: `5m7s`.
    Ages {
        /// Until when.
        now: Timestamp,
    },
    /// As they are, in RFC 3339, for a client that shows the time since then and keeps it current: a cell is a moment
    /// (`2026-11-15T09:55:00Z`), or has one in parentheses (`3 (2026-11-15T09:55:00Z ago)`), or is shown as it is.
    Moments,
}

impl Times {
    pub(crate) fn show(self, moment: Timestamp) -> String {
        match self {
            Self::Ages { now } => elapsed(moment, now),
            Self::Moments => moment.to_string(),
        }
    }
}
