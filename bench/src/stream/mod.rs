//! Benchmarks of event streams of the web service: readers that follow rows, and pod updates that carry the time at which
//! they were sent.

mod readers;
mod updates;

pub use readers::{Reader, Readers};
pub use updates::{StampedUpdates, now_micros};
