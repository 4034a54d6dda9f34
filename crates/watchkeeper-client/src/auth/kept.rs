//! Kept: a value that is fetched when it is needed, and used until it is no longer good.
//!
//! - One fetch goes on at a time, and all who need the value get what comes of it, be it an error (A3).
//! - A fetch that nobody waits for any more is dropped.

use std::future::Future;
use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt as _, WeakShared};
use parking_lot::Mutex;

use super::AuthError;

pub(super) struct Kept<T> {
    state: Arc<Mutex<State<T>>>,
}

struct State<T> {
    value: Option<T>,
    /// How many values have been fetched.
    generation: u64,
    /// Whether the server has refused the value.
    is_refused: bool,
    fetching: Option<WeakShared<Fetching<T>>>,
}

type Fetching<T> = BoxFuture<'static, Result<(T, u64), AuthError>>;

impl<T> Default for Kept<T> {
    fn default() -> Self {
        let state = State { value: None, generation: 0, is_refused: false, fetching: None };
        Self { state: Arc::new(Mutex::new(state)) }
    }
}

/// Tells nothing of the value (A2).
impl<T> std::fmt::Debug for Kept<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kept").field("generation", &self.state.lock().generation).finish_non_exhaustive()
    }
}

impl<T: Clone + Send + Sync + 'static> Kept<T> {
    /// The value and its generation; `fetch` makes another of the old one where there is none, or it was
    /// refused, or is not good. Dropped half-way, nothing is lost: whoever else waits goes on.
    pub(super) async fn get<F>(
        &self,
        is_good: impl FnOnce(&T) -> bool,
        fetch: impl FnOnce(Option<T>) -> F,
    ) -> Result<(T, u64), AuthError>
    where
        F: Future<Output = Result<T, AuthError>> + Send + 'static,
    {
        let fetching = {
            let mut state = self.state.lock();
            if let Some(value) = state.value.as_ref().filter(|_| !state.is_refused)
                && is_good(value)
            {
                return Ok((value.clone(), state.generation));
            }
            match state.fetching.as_ref().and_then(WeakShared::upgrade) {
                Some(fetching) => fetching,
                None => {
                    let fetched = fetch(state.value.clone());
                    let of = self.state.clone();
                    let fetching: Fetching<T> = Box::pin(async move {
                        let fetched = fetched.await;
                        of.lock().keep(fetched)
                    });
                    let fetching = fetching.shared();
                    state.fetching = fetching.downgrade();
                    fetching
                }
            }
        };
        fetching.await
    }

    /// The value of this generation is not good any more. That of another is.
    pub(super) fn refuse(&self, generation: u64) {
        let mut state = self.state.lock();
        if state.generation == generation {
            state.is_refused = true;
        }
    }
}

impl<T: Clone> State<T> {
    fn keep(&mut self, fetched: Result<T, AuthError>) -> Result<(T, u64), AuthError> {
        self.fetching = None; // who comes now and finds this value bad must not get it again
        let value = fetched?;
        self.generation += 1;
        self.is_refused = false;
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
    async fn many_who_need_a_value_share_one_fetch() {
        let (kept, fetches, go) =
            (Kept::<u32>::default(), Arc::new(AtomicU32::new(0)), Arc::new(Notify::new()));
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
        let ask = || kept.get(|_| true, fetch);
        let wake = async || go.notify_one();
        let (a, b, c, ()) = tokio::join!(ask(), ask(), ask(), wake());
        for failed in [a, b, c] {
            assert_eq!(failed.unwrap_err().what, "the first fails");
        }
        let (a, b, ()) = tokio::join!(ask(), ask(), wake());
        assert_eq!((a.unwrap(), b.unwrap()), ((11, 1), (11, 1)));
        assert_eq!(ask().await.unwrap(), (11, 1));
        kept.refuse(0);
        assert_eq!(ask().await.unwrap(), (11, 1), "another one was refused");
        kept.refuse(1);
        let (a, ()) = tokio::join!(ask(), wake());
        assert_eq!(a.unwrap(), (13, 2));
        assert_eq!(fetches.load(Ordering::Relaxed), 3);
    }

    #[tokio::test]
    async fn a_fetch_goes_on_for_those_who_still_wait_and_ends_with_the_last() {
        let kept = Kept::<u32>::default();
        let (go, alive) = (Arc::new(Notify::new()), Arc::new(()));
        let fetch = |_| {
            let (go, alive) = (go.clone(), alive.clone());
            async move {
                go.notified().await;
                drop(alive);
                Ok(1)
            }
        };
        let mut first = Box::pin(kept.get(|_| true, fetch));
        let mut second = Box::pin(kept.get(|_| true, fetch));
        assert!(futures_util::poll!(&mut first).is_pending());
        assert!(futures_util::poll!(&mut second).is_pending());
        drop(first);
        go.notify_one();
        assert_eq!(second.await.unwrap(), (1, 1));

        kept.refuse(1);
        let mut last = Box::pin(kept.get(|_| true, fetch));
        assert!(futures_util::poll!(&mut last).is_pending());
        assert_eq!(Arc::strong_count(&alive), 2);
        drop(last);
        assert_eq!(Arc::strong_count(&alive), 1, "nobody waits for it");
    }
}
