//! Over the cache: how objects belong together, for people to look at.
//!
//! From: informers.
//! To:   answers that are read from memory.

pub mod workload;
