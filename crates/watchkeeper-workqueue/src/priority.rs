//! Priority: what goes first.

/// How urgent it is to work on a key.
///
/// A key of a lower priority is not left waiting for ever: after it has waited for the
/// [aging time](crate::Builder::aging), it counts as one of the next higher priority that was added just now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// Nobody waits for it: an object of the first list, a resync.
    Low,
    /// Something has changed.
    #[default]
    Normal,
    /// Somebody waits for it.
    High,
}

impl Priority {
    /// From the one that goes first.
    pub(crate) const ALL: [Self; 3] = [Self::High, Self::Normal, Self::Low];

    /// For how many aging times a key of the highest priority goes before one of this.
    pub(crate) fn steps(self) -> u32 {
        match self {
            Self::High => 0,
            Self::Normal => 1,
            Self::Low => 2,
        }
    }
}
