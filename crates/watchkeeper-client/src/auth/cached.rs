//! Cached credential: a value that is fetched on demand and reused while it is valid.
//!
//! - One fetch runs at a time; every caller that waits for it gets its result, error or not (`auth.A3`).
//! - A fetch is dropped when its last waiter is.

use std::future::Future;
use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt as _, WeakShared};
use parking_lot::Mutex;

use super::AuthError;

pub(super) struct CachedCredential<T> {
    state: Arc<Mutex<State<T>>>,
}

struct State<T> {
    value: Option<T>,
    /// Number of values fetched so far.
    generation: u64,
    /// Whether the server has rejected the value.
    is_rejected: bool,
    fetching: Option<WeakShared<Fetching<T>>>,
}

type Fetching<T> = BoxFuture<'static, Result<(T, u64), AuthError>>;

impl<T> Default for CachedCredential<T> {
    fn default() -> Self {
        let state = State { value: None, generation: 0, is_rejected: false, fetching: None };
        Self { state: Arc::new(Mutex::new(state)) }
    }
}

/// Omits the value (`auth.A2`).
impl<T> std::fmt::Debug for CachedCredential<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CachedCredential")
            .field("generation", &self.state.lock().generation)
            .finish_non_exhaustive()
    }
}

impl<T: Clone + Send + Sync + 'static> CachedCredential<T> {
    /// Returns the value and its generation. Calls `fetch` with the old value when there is none, when it was
    /// rejected, or when `is_valid` returns false.
    ///
    /// Cancel safe: other waiters keep the fetch alive.
    pub(super) async fn get<F>(
        &self,
        is_valid: impl FnOnce(&T) -> bool,
        fetch: impl FnOnce(Option<T>) -> F,
    ) -> Result<(T, u64), AuthError>
    where
        F: Future<Output = Result<T, AuthError>> + Send + 'static,
    {
        let fetching = {
            let mut state = self.state.lock();
            if let Some(value) = state.value.as_ref().filter(|_| !state.is_rejected)
                && is_valid(value)
            {
                return Ok((value.clone(), state.generation));
            }
            match state.fetching.as_ref().and_then(WeakShared::upgrade) {
                Some(fetching) => fetching,
                None => {
                    let fetch = fetch(state.value.clone());
                    let state_of_cache = self.state.clone();
                    let fetching: Fetching<T> = Box::pin(async move {
                        let fetched = fetch.await;
                        state_of_cache.lock().store(fetched)
                    });
                    let fetching = fetching.shared();
                    state.fetching = fetching.downgrade();
                    fetching
                }
            }
        };
        fetching.await
    }

    /// Marks the value of this generation as rejected; has no effect on a newer one.
    pub(super) fn invalidate(&self, generation: u64) {
        let mut state = self.state.lock();
        if state.generation == generation {
            state.is_rejected = true;
        }
    }
}

impl<T: Clone> State<T> {
    fn store(&mut self, fetched: Result<T, AuthError>) -> Result<(T, u64), AuthError> {
        self.fetching = None; // a caller that finds this value invalid must start a new fetch
        let value = fetched?;
        self.generation += 1;
        self.is_rejected = false;
        self.value = Some(value.clone());
        Ok((value, self.generation))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};
    use tokio::sync::Notify;

    #[tokio::test]
    async fn concurrent_callers_share_one_fetch() {
        let (cached, fetches, go) =
            (CachedCredential::<u32>::default(), Arc::new(AtomicU32::new(0)), Arc::new(Notify::new()));
        let fetch = |old: Option<u32>| {
            let (fetches, go) = (fetches.clone(), go.clone());
            async move {
                let number = fetches.fetch_add(1, Ordering::Relaxed);
                go.notified().await;
                match number {
                    0 => Err(AuthError::new("the first fails")),
                    number => Ok(old.unwrap_or(10) + number),
                }
            }
        };
        let ask = || cached.get(|_| true, fetch);
        let wake = async || go.notify_one();
        let (a, b, c, ()) = tokio::join!(ask(), ask(), ask(), wake());
        for failure in [a, b, c] {
            assert_eq!(failure.unwrap_err().message, "the first fails");
        }
        let (a, b, ()) = tokio::join!(ask(), ask(), wake());
        assert_eq!((a.unwrap(), b.unwrap()), ((11, 1), (11, 1)));
        assert_eq!(ask().await.unwrap(), (11, 1));
        cached.invalidate(0);
        assert_eq!(ask().await.unwrap(), (11, 1), "a different generation was rejected");
        cached.invalidate(1);
        let (a, ()) = tokio::join!(ask(), wake());
        assert_eq!(a.unwrap(), (13, 2));
        assert_eq!(fetches.load(Ordering::Relaxed), 3);
    }

    #[tokio::test]
    async fn a_fetch_outlives_a_dropped_waiter_and_ends_with_the_last() {
        let cached = CachedCredential::<u32>::default();
        let (go, alive) = (Arc::new(Notify::new()), Arc::new(()));
        let fetch = |_| {
            let (go, alive) = (go.clone(), alive.clone());
            async move {
                go.notified().await;
                drop(alive);
                Ok(1)
            }
        };
        let mut first = Box::pin(cached.get(|_| true, fetch));
        let mut second = Box::pin(cached.get(|_| true, fetch));
        assert!(futures_util::poll!(&mut first).is_pending());
        assert!(futures_util::poll!(&mut second).is_pending());
        drop(first);
        go.notify_one();
        assert_eq!(second.await.unwrap(), (1, 1));

        cached.invalidate(1);
        let mut last = Box::pin(cached.get(|_| true, fetch));
        assert!(futures_util::poll!(&mut last).is_pending());
        assert_eq!(Arc::strong_count(&alive), 2);
        drop(last);
        assert_eq!(Arc::strong_count(&alive), 1, "dropped with its last waiter");
    }
}
