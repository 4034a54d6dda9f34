//! Streams: tabs that read what changes, and pods that change and say when.

mod readers;
mod stamps;

pub use readers::{Reader, Readers};
pub use stamps::{Stamps, stamp};
