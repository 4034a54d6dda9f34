//! Lock: the one that the queue uses. Tests that go through interleavings put another in its place.

pub(crate) use parking_lot::{Mutex, MutexGuard as Held};
