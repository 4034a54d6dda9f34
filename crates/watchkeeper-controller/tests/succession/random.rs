//! Seeded random numbers.

use std::sync::Arc;

use fastrand::Rng;
use parking_lot::Mutex;

/// A generator whose clones share their state.
#[derive(Debug, Clone)]
pub(crate) struct Random(Arc<Mutex<Rng>>);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(Rng::with_seed(seed))))
    }

    /// Returns a number less than `end`.
    pub(crate) fn below(&self, end: u64) -> u64 {
        self.0.lock().u64(..end)
    }
}
