//! Figures: how a handler is doing.

use std::sync::Arc;
use std::time::Duration;

/// How one who hears of changes is doing, at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Figures {
    /// What it is called; empty unless it was named.
    pub name: Arc<str>,
    /// How many keys wait to be handled; of one who wants [every event](super::EveryEvent), how many events.
    pub pending: usize,
    /// How long the oldest of them has waited: how far the handler is behind.
    pub lag: Duration,
    /// How many changes became one with another of their key, because they were not taken in time.
    pub coalesced: u64,
    /// How many events were dropped, because they were not taken in time.
    pub dropped: u64,
    /// How often it has panicked.
    pub panics: u64,
}
