//! Benchmarks of informers: initial sync, idle memory and following updates, each informer in its own process.
//!
//! Input: [`RunningPods`], which fill a server, and [`Updates`], which change them at a fixed rate.
//! Output: [`Report`]s, lines on stdout in the same format for all informers; [`Comparison`] builds a table from them.
//!
//! - `informer.I1`: the process of an informer measures itself: CPU time of all its threads, resident memory.
//! - `informer.I2`: updates start once the informer has reported `steady`; their number is the number it waits for.

mod comparison;
mod pods;
mod report;
mod updates;

pub use comparison::{Column, Comparison};
pub use pods::RunningPods;
pub use report::{Events, Memory, Report, Selected, Sync};
pub use updates::Updates;
