//! The clock of events: the time of day, as the runtime's own clock goes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::time::Instant;
use watchkeeper_core::Timestamp;

/// Goes with the clock of the runtime, so that tests can have it stand still. Clones are the same clock.
#[derive(Debug, Clone)]
pub(super) struct Clock {
    begun: Instant,
    /// In nanoseconds since 1970.
    begun_at: u64,
    /// The last moment that was given out.
    last: Arc<AtomicU64>,
}

/// A moment that no other of the same clock is equal to, in nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Moment(pub(super) u64);

impl Clock {
    pub(super) fn new() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let begun_at = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
        Self { begun: Instant::now(), begun_at, last: Arc::default() }
    }

    /// Now, or a nanosecond after what was now last.
    pub(super) fn now(&self) -> Moment {
        let elapsed = u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let now = self.begun_at.saturating_add(elapsed);
        let last = self.last.fetch_max(now, Ordering::Relaxed);
        match last < now {
            true => Moment(now),
            false => Moment(self.last.fetch_add(1, Ordering::Relaxed) + 1),
        }
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
    async fn no_two_moments_are_equal_although_time_stands_still() {
        let clock = Clock::new();
        let moments: Vec<_> = (0..100).map(|_| clock.clone().now()).collect();
        assert!(moments.windows(2).all(|pair| pair[0] < pair[1]));
        tokio::time::advance(std::time::Duration::from_secs(60)).await;
        let later = clock.now();
        assert_eq!(later.timestamp().seconds - moments[0].timestamp().seconds, 60);
    }
}
