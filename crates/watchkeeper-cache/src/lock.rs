//! The mutex that the cache uses. The interleaving tests replace this file with a lock that shuttle schedules.

pub(crate) use parking_lot::Mutex;
