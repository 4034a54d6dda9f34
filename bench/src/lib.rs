//! Benchmarks: CPU time, memory and latency of Watchkeeper and of comparable programs, measured in one run.
//!
//! Each binary in `src/bin` asks one question; this library generates the workloads and takes the measurements.

pub mod client;
pub mod informer;
pub mod measure;
pub mod pods;
pub mod queue;
pub mod server;
pub mod store;
pub mod stream;
pub mod web;
