//! Benchmarks of stores: the same objects and indexes, shared between readers and a writer in different ways.
//!
//! Input: a [`Workload`], which reads on several threads while another one writes.
//! Output: [`Measurements`] of a [`SharedStore`], which is our store or a simple alternative.

mod alternatives;
mod shared_store;
mod tables;
mod workload;

pub use alternatives::{LeftRight, OneLock, Shards};
pub use shared_store::{SharedStore, Snapshots};
pub use workload::{Measurements, Samples, Workload};
