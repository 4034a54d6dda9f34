//! Time: the one that the queue goes by. Tests that go through interleavings put another in its place.

pub(crate) use tokio::time::{Instant, Sleep, sleep_until};
