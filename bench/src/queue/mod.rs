//! Benchmarks of work queues: throughput, delayed keys, and the latency from a write to a worker, each queue in its own
//! process.
//!
//! Input: a [`Job`], with the same [keys](key), [delays](delay) and [`Writes`] for all queues.
//! Output: a [`Report`], one line on stdout in the same format for all queues; [`Comparison`] builds a table from them.
//!
//! - `queue.Q1`: the process that does a job measures it: CPU time of all its threads. Creating the keys is not counted.
//! - `queue.Q2`: a job ends when every key has been handed out and marked done, each exactly once.
//! - `queue.Q3`: writes start once the program prints [`READY`]; each carries the time at which it was sent.

mod comparison;
mod job;
mod report;
mod workload;
mod writes;

pub use comparison::Comparison;
pub use job::{Arguments, Job};
pub use report::{Lateness, Report};
pub use workload::{delay, key};
pub use writes::{READY, Writes, age, sent};
