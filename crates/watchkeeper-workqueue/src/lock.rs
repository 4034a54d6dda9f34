//! The lock of the queue; the interleaving tests replace this file.

pub(crate) use parking_lot::{Mutex, MutexGuard as Held};
