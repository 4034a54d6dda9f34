//! Handler statistics.

use std::sync::Arc;
use std::time::Duration;

/// The counters of one handler or subscription at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HandlerStats {
    /// The name from [`SubscriptionOptions`](super::SubscriptionOptions); empty by default.
    pub name: Arc<str>,
    /// Number of pending keys; for [`RawEvents`](super::RawEvents), of buffered events.
    pub pending: usize,
    /// Time that the oldest pending change has waited.
    pub lag: Duration,
    /// Number of changes merged into a pending one of the same key.
    pub coalesced: u64,
    /// Number of events dropped because the buffer was full.
    pub dropped: u64,
    /// Number of panics.
    pub panics: u64,
}
