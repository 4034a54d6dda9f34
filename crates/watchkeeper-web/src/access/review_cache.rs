//! Bounded cache of review results with an expiry (`access.A3`).

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// Digest of a review request.
pub(super) type Digest = [u8; 32];

/// Results that expire; beyond the limit the oldest is evicted.
pub(super) struct ReviewCache<V> {
    time: Duration,
    limit: usize,
    state: Mutex<State<V>>,
}

struct State<V> {
    answers: HashMap<Digest, (V, Instant)>,
    /// Insertion times, oldest first. A key that was inserted again is here twice, and the second entry counts.
    order: VecDeque<(Digest, Instant)>,
}

impl<V: Clone> ReviewCache<V> {
    pub(super) fn new(time: Duration, limit: usize) -> Self {
        Self { time, limit, state: Mutex::new(State { answers: HashMap::new(), order: VecDeque::new() }) }
    }

    /// Returns a result that has not expired.
    pub(super) fn get(&self, asked: &Digest) -> Option<V> {
        let state = self.state.lock();
        let (answer, since) = state.answers.get(asked)?;
        (since.elapsed() < self.time).then(|| answer.clone())
    }

    /// Inserts a result.
    pub(super) fn put(&self, asked: Digest, answer: V) {
        let now = Instant::now();
        let mut state = self.state.lock();
        state.answers.insert(asked, (answer, now));
        state.order.push_back((asked, now));
        while let Some(&(oldest, since)) = state.order.front() {
            if state.order.len() <= self.limit && now.duration_since(since) < self.time {
                break;
            }
            state.order.pop_front();
            if state.answers.get(&oldest).is_some_and(|(_, put)| *put == since) {
                state.answers.remove(&oldest);
            }
        }
    }
}

impl<V> std::fmt::Debug for ReviewCache<V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReviewCache").field("answers", &self.state.lock().answers.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: Duration = Duration::from_secs(10);

    #[tokio::test(start_paused = true)]
    async fn results_expire() {
        let recent = ReviewCache::new(TIME, 3);
        recent.put([1; 32], "one");
        tokio::time::advance(TIME - Duration::from_millis(1)).await;
        assert_eq!(recent.get(&[1; 32]), Some("one"));
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(recent.get(&[1; 32]), None);
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_result_is_evicted_beyond_the_limit() {
        let recent = ReviewCache::new(TIME, 3);
        for number in 0..100 {
            recent.put([number; 32], number);
            tokio::time::advance(Duration::from_millis(1)).await;
        }
        let state = recent.state.lock();
        assert_eq!((state.answers.len(), state.order.len()), (3, 3));
        assert!(state.answers.contains_key(&[99; 32]));
    }

    #[tokio::test(start_paused = true)]
    async fn inserting_again_renews_a_result() {
        let recent = ReviewCache::new(TIME, 3);
        recent.put([1; 32], "one");
        tokio::time::advance(TIME / 2).await;
        recent.put([1; 32], "two");
        tokio::time::advance(TIME / 2).await;
        recent.put([2; 32], "other");
        assert_eq!(recent.get(&[1; 32]), Some("two"));
    }
}
