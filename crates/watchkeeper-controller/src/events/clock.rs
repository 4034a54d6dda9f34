//! Clock: wall-clock time that advances with tokio's clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::time::Instant;
use watchkeeper_core::Timestamp;

/// A wall clock driven by [`tokio::time::Instant`], so that tests can pause it. Clones share their state.
#[derive(Debug, Clone)]
pub(super) struct Clock {
    begun: Instant,
    /// Wall-clock time at `begun`, in nanoseconds since 1970.
    begun_at: u64,
    /// The last moment returned.
    last: Arc<AtomicU64>,
}

/// A moment in nanoseconds since 1970, unique per clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Moment(pub(super) u64);

impl Clock {
    pub(super) fn new() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let begun_at = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
        Self { begun: Instant::now(), begun_at, last: Arc::default() }
    }

    /// Returns the current moment, or one nanosecond after the last one returned if that is later.
    pub(super) fn now(&self) -> Moment {
        let elapsed = u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let now = self.begun_at.saturating_add(elapsed);
        let last = self.last.fetch_max(now, Ordering::Relaxed);
        if last < now { Moment(now) } else { Moment(self.last.fetch_add(1, Ordering::Relaxed) + 1) }
    }
}

impl Moment {
    pub(super) fn timestamp(self) -> Timestamp {
        const NANOS: u64 = 1_000_000_000;
        let seconds = i64::try_from(self.0 / NANOS).unwrap_or(i64::MAX);
        Timestamp { seconds, nanos: u32::try_from(self.0 % NANOS).unwrap_or_default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn moments_are_unique_even_while_the_clock_is_paused() {
        let clock = Clock::new();
        let moments: Vec<_> = (0..100).map(|_| clock.clone().now()).collect();
        assert!(moments.windows(2).all(|pair| pair[0] < pair[1]));
        tokio::time::advance(std::time::Duration::from_secs(60)).await;
        let later = clock.now();
        assert_eq!(later.timestamp().seconds - moments[0].timestamp().seconds, 60);
    }
}
