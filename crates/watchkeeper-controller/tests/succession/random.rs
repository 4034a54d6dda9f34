//! Seeded random numbers.

use std::sync::Arc;

use parking_lot::Mutex;

/// SplitMix64. Clones share their state.
#[derive(Debug, Clone)]
pub(crate) struct Random(Arc<Mutex<u64>>);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(seed)))
    }

    /// Returns a number less than `end`.
    pub(crate) fn below(&self, end: u64) -> u64 {
        let mut state = self.0.lock();
        *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % end
    }
}
