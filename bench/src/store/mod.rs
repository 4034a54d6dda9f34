//! Stores beside each other: the same objects and the same indexes, shared by readers and a writer in different
//! ways.
//!
//! From: [`Strain`], which reads on several threads while one writes.
//! To:   a [`Shelf`], which is the store or a small rival of it.

mod rivals;
mod shelf;
mod strain;
mod tables;

pub use rivals::{LeftRight, OneLock, Shards};
pub use shelf::{Shelf, Snapshots};
pub use strain::{Latencies, Strain, Strained};
