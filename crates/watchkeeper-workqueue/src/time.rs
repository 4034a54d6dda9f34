//! The clock of the queue; the interleaving tests replace this file.

pub(crate) use tokio::time::{Instant, Sleep, sleep_until};
