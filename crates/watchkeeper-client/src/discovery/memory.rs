//! Memory cache: one discovery per process.

use std::sync::Arc;

use parking_lot::Mutex;
use watchkeeper_core::GroupVersion;

use super::{ApiVersion, Discovered, Discovery, DiscoveryError, DiscoveryFuture};

/// A cache of the last result, until [`invalidate`](Discovery::invalidate).
///
/// The next caller retries group versions that failed for a transient reason (`discovery.D3`). An error, or a result
/// without any group, is not cached.
#[derive(Debug)]
pub struct MemoryCache {
    source: Arc<dyn Discovery>,
    state: Mutex<State>,
    /// Held while calling the source (`discovery.D4`). Taken before `state`.
    flight: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    cached: Option<Arc<Discovered>>,
    /// Number of invalidations; a result requested before the last one is not cached.
    era: u64,
}

impl State {
    /// Returns the cached result, unless part of it should be retried.
    fn settled(&self) -> Option<Arc<Discovered>> {
        let cached = self.cached.as_ref()?;
        (!cached.failures.values().any(DiscoveryError::is_transient)).then(|| cached.clone())
    }
}

impl MemoryCache {
    /// Creates an empty cache; nothing is requested yet.
    pub fn new(source: Arc<dyn Discovery>) -> Self {
        Self { source, state: Mutex::default(), flight: tokio::sync::Mutex::default() }
    }

    /// Returns the cached result, without requesting anything.
    pub fn known(&self) -> Option<Arc<Discovered>> {
        self.state.lock().cached.clone()
    }

    async fn load(&self) -> Result<Arc<Discovered>, DiscoveryError> {
        if let Some(cached) = self.state.lock().settled() {
            return Ok(cached);
        }
        let _flight = self.flight.lock().await;
        let (cached, era) = {
            let state = self.state.lock();
            if let Some(cached) = state.settled() {
                return Ok(cached); // filled while we waited for the lock
            }
            (state.cached.clone(), state.era)
        };
        let found = match cached {
            None => self.source.discover().await?,
            Some(cached) => Arc::new(self.retry_failures(&cached).await),
        };
        let mut state = self.state.lock();
        if state.era == era && !found.groups.is_empty() {
            state.cached = Some(found.clone());
        }
        Ok(found)
    }

    /// Retries the group versions that failed for a transient reason.
    async fn retry_failures(&self, cached: &Discovered) -> Discovered {
        let mut found = cached.clone();
        let failures = std::mem::take(&mut found.failures);
        for (of, error) in failures {
            if !error.is_transient() {
                found.failures.insert(of, error);
                continue;
            }
            match self.source.resources(&of).await {
                Err(error) => {
                    found.failures.insert(of, error);
                }
                Ok(version) => found.set_resources(&of, &version),
            }
        }
        found
    }
}

impl Discovery for MemoryCache {
    fn discover(&self) -> DiscoveryFuture<'_, Arc<Discovered>> {
        Box::pin(self.load())
    }

    fn resources<'a>(&'a self, of: &'a GroupVersion) -> DiscoveryFuture<'a, ApiVersion> {
        Box::pin(async move { self.load().await?.known_resources(of) })
    }

    /// Returns whether a result is cached; it is never older than the last invalidation.
    fn fresh(&self) -> bool {
        self.state.lock().cached.is_some()
    }

    fn invalidate(&self) {
        let mut state = self.state.lock();
        state.era += 1;
        let dropped = state.cached.take();
        drop(state);
        drop(dropped);
        self.source.invalidate();
    }
}
