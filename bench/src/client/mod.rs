//! Benchmarks of clients: the same jobs against the same server, each client in its own process.
//!
//! Input: a [`Subject`], an adapter for the client to measure; [`run`] is the program around it.
//! Output: a [`Report`], one line on stdout in the same format for all clients; [`Comparison`] builds a table from them.
//!
//! - `client.C1`: the process that does a job measures it: CPU time of all threads and peak resident memory.
//!   Connecting is not counted.
//! - `client.C2`: the results of a job are checked for completeness, and are still in memory when the cost is read.

mod comparison;
mod cost;
mod fixture;
mod report;
mod subject;

pub use comparison::Comparison;
pub use cost::{Cost, Spent};
pub use fixture::{NAMESPACE, populate};
pub use report::{Latency, Report};
pub use subject::{Arguments, Fetched, Job, Subject, Types, run};
