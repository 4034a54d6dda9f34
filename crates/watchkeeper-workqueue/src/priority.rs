//! Priorities, and other options for adding a key.

use std::time::Duration;

/// The order in which workers receive keys: higher priorities first.
///
/// Lower priorities do not starve: after waiting for the [aging time](crate::Builder::aging), a key ranks like a key of
/// the next higher priority that was just added.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// Background work: an object of the initial list, a resync.
    Low,
    /// A change to an object.
    #[default]
    Normal,
    /// Work that a caller waits for.
    High,
}

impl Priority {
    pub(crate) const ALL: [Self; 3] = [Self::Low, Self::Normal, Self::High];
}

/// Options of [`WorkQueue::add_with_opts`](crate::WorkQueue::add_with_opts), as in controller-runtime's priority
/// queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AddOpts {
    /// The priority; [`Priority::Normal`] by default.
    pub priority: Priority,
    /// Delay after which the key is added; none by default.
    pub after: Option<Duration>,
}

impl AddOpts {
    /// Creates options with this priority and no delay.
    pub fn priority(priority: Priority) -> Self {
        Self { priority, after: None }
    }

    /// Sets the delay.
    #[must_use]
    pub fn after(self, delay: Duration) -> Self {
        Self { after: Some(delay), ..self }
    }
}
