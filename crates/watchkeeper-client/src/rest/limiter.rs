//! Limiter: no more requests than so many a second.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// A bucket of tokens: each request takes one, and they come back at a steady rate.
///
/// Whoever comes first is served first, also while nobody waits: a request takes its place in time at once.
#[derive(Debug)]
pub struct Limiter {
    /// From one token to the next.
    every: Duration,
    burst: u32,
    /// When the bucket would be full again.
    full_at: Mutex<Option<Instant>>,
    /// When a long wait was told of last.
    told_at: Mutex<Option<Instant>>,
}

/// How often at most long waits are told of.
const TELL_AGAIN_AFTER: Duration = Duration::from_secs(10);

impl Limiter {
    /// So many a second, and so many at once. A rate that is not positive lets one through, and then none for
    /// ever, so it counts as one in a thousand seconds.
    pub fn new(per_second: f64, burst: u32) -> Self {
        let rate = if per_second > 0.001 { per_second } else { 0.001 };
        let (every, burst) = (Duration::from_secs_f64(1.0 / rate), burst.max(1));
        Self { every, burst, full_at: Mutex::default(), told_at: Mutex::default() }
    }

    /// Returns once a request may be sent. Dropped half-way, its token is lost.
    pub async fn wait(&self) {
        tokio::time::sleep_until(self.take()).await;
    }

    /// Whether a long wait is to be told of now.
    pub(super) fn is_news(&self) -> bool {
        let mut told_at = self.told_at.lock();
        let is_news = told_at.is_none_or(|told_at| told_at.elapsed() >= TELL_AGAIN_AFTER);
        if is_news {
            *told_at = Some(Instant::now());
        }
        is_news
    }

    /// Takes a token; when it is there.
    fn take(&self) -> Instant {
        let now = Instant::now();
        let mut full_at = self.full_at.lock();
        let taken = full_at.unwrap_or(now).max(now) + self.every;
        *full_at = Some(taken);
        // The bucket is empty when it takes as long to be full again as all tokens need.
        let due = taken.checked_sub(self.every * self.burst).unwrap_or(now);
        due.max(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_burst_goes_at_once_and_the_rest_at_the_rate() {
        let limiter = Limiter::new(10.0, 3);
        let begun = Instant::now();
        let mut times = Vec::new();
        for _ in 0..6 {
            limiter.wait().await;
            times.push(begun.elapsed().as_millis());
        }
        assert_eq!(times, [0, 0, 0, 100, 200, 300]);
        tokio::time::advance(Duration::from_secs(10)).await;
        let begun = Instant::now();
        for _ in 0..3 {
            limiter.wait().await;
        }
        assert_eq!(begun.elapsed().as_millis(), 0, "the bucket is full again, and no fuller than that");
        limiter.wait().await;
        assert_eq!(begun.elapsed().as_millis(), 100);
    }

    #[tokio::test(start_paused = true)]
    async fn long_waits_are_told_of_now_and_then() {
        let limiter = Limiter::new(1.0, 1);
        assert!(limiter.is_news() && !limiter.is_news());
        tokio::time::advance(TELL_AGAIN_AFTER).await;
        assert!(limiter.is_news() && !limiter.is_news());
    }
}
