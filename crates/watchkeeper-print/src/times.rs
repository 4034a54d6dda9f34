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
    /// As they are, in RFC 3339, for who shows the time since then and does so again as it passes. What a cell says of a
    /// moment besides something else is left out; what still runs has run until `now`.
    Moments {
        /// Until when.
        now: Timestamp,
    },
}

impl Times {
    pub(crate) fn now(self) -> Timestamp {
        let (Self::Ages { now } | Self::Moments { now }) = self;
        now
    }

    pub(crate) fn show(self, moment: Timestamp) -> String {
        match self {
            Self::Ages { now } => elapsed(moment, now),
            Self::Moments { .. } => moment.to_string(),
        }
    }
}
