//! Measurements: what Watchkeeper costs, beside what its peers cost, in one run.
//!
//! The questions are binaries (`src/bin`), one a part of the line; this library makes the
//! workloads and does the timing.

pub mod client;
pub mod informer;
pub mod measure;
pub mod pods;
pub mod queue;
pub mod server;
pub mod store;
pub mod stream;
pub mod web;
