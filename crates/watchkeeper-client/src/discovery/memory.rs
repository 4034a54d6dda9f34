//! Memory cache: asks once, and remembers.

use std::sync::Arc;

use parking_lot::Mutex;
use watchkeeper_core::GroupVersion;

use super::{ApiVersion, Awaited, Discovered, Discovery, DiscoveryError};

/// Remembers what it was told until [`invalidate`](Discovery::invalidate).
///
/// Group versions that could not be asked for are tried again by the next who wants to know, if the reason
/// may have passed (D3). An error, or an answer without any group, is not remembered at all.
#[derive(Debug)]
pub struct MemoryCache {
    source: Arc<dyn Discovery>,
    state: Mutex<State>,
    /// Held by the one who asks the source (D4). Taken before `state`.
    flight: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    known: Option<Arc<Discovered>>,
    /// Counts invalidations: what was asked for before the last one is not remembered.
    era: u64,
}

impl State {
    /// What is known, unless something of it should be asked for again.
    fn settled(&self) -> Option<Arc<Discovered>> {
        let known = self.known.as_ref()?;
        (!known.failures.values().any(DiscoveryError::is_transient)).then(|| known.clone())
    }
}

impl MemoryCache {
    /// Nothing is asked for yet.
    pub fn new(source: Arc<dyn Discovery>) -> Self {
        Self { source, state: Mutex::default(), flight: tokio::sync::Mutex::default() }
    }

    /// What is remembered, without asking anybody.
    pub fn known(&self) -> Option<Arc<Discovered>> {
        self.state.lock().known.clone()
    }

    async fn load(&self) -> Result<Arc<Discovered>, DiscoveryError> {
        if let Some(known) = self.state.lock().settled() {
            return Ok(known);
        }
        let _flight = self.flight.lock().await;
        let (known, era) = {
            let state = self.state.lock();
            if let Some(known) = state.settled() {
                return Ok(known); // somebody has asked meanwhile
            }
            (state.known.clone(), state.era)
        };
        let known = match known {
            None => self.source.discover().await?,
            Some(known) => Arc::new(self.again(&known).await),
        };
        let mut state = self.state.lock();
        if state.era == era && !known.groups.is_empty() {
            state.known = Some(known.clone());
        }
        Ok(known)
    }

    /// Asks again for what may go better now.
    async fn again(&self, known: &Discovered) -> Discovered {
        let mut known = known.clone();
        let failed = std::mem::take(&mut known.failures);
        for (of, error) in failed {
            if !error.is_transient() {
                known.failures.insert(of, error);
                continue;
            }
            match self.source.resources(&of).await {
                Err(error) => {
                    known.failures.insert(of, error);
                }
                Ok(version) => known.put(&of, &version),
            }
        }
        known
    }
}

impl Discovery for MemoryCache {
    fn discover(&self) -> Awaited<'_, Arc<Discovered>> {
        Box::pin(self.load())
    }

    fn resources<'a>(&'a self, of: &'a GroupVersion) -> Awaited<'a, ApiVersion> {
        Box::pin(async move { self.load().await?.known_resources(of) })
    }

    /// Whether something is known, which is then not older than the last invalidation.
    fn fresh(&self) -> bool {
        self.state.lock().known.is_some()
    }

    fn invalidate(&self) {
        let mut state = self.state.lock();
        state.era += 1;
        let dropped = state.known.take();
        drop(state);
        drop(dropped);
        self.source.invalidate();
    }
}
