//! Builder: how a queue is to be.

use std::fmt;
use std::hash::{BuildHasher as _, Hash, RandomState};
use std::sync::Arc;
use std::time::Duration;

use hashbrown::DefaultHashBuilder;
use watchkeeper_metrics::{RegisterError, Registry};

use crate::limit::{self, RateLimiter};
use crate::lock::Mutex;
use crate::metrics::Metrics;
use crate::queue::{Group, Shared};
use crate::ready::Ready;
use crate::state::State;
use crate::turns::Turns;
use crate::{Key, WorkQueue};

/// After how long a key counts as one of the next higher priority, unless said otherwise.
const AGING: Duration = Duration::from_secs(10);

/// Makes a [`WorkQueue`].
///
/// ```
/// use std::time::Duration;
/// use watchkeeper_metrics::Registry;
/// use watchkeeper_workqueue::WorkQueue;
/// use watchkeeper_workqueue::limit::Exponential;
///
/// let registry = Registry::new();
/// let queue = WorkQueue::<(String, String)>::builder()
///     .metrics(&registry, "shops")?
///     .limiter(Exponential::new(Duration::from_millis(100), Duration::from_secs(60)))
///     .fair_by(|(namespace, _)| namespace.clone())
///     .build();
/// queue.add(("shop".to_owned(), "web".to_owned()));
/// assert!(registry.render().contains("workqueue_depth{name=\"shops\"} 1\n"));
/// # Ok::<(), watchkeeper_metrics::RegisterError>(())
/// ```
pub struct Builder<T> {
    limiter: Option<Box<dyn RateLimiter<T>>>,
    group: Option<Group<T>>,
    aging: Duration,
    metrics: Option<(Metrics, Registry)>,
}

impl<T: Key> Builder<T> {
    /// How long a key waits after it has failed; [as client-go's controllers](limit::standard) unless said.
    #[must_use]
    pub fn limiter(mut self, limiter: impl RateLimiter<T> + 'static) -> Self {
        self.limiter = Some(Box::new(limiter));
        self
    }

    /// Keys of which the same is said here take turns with those of which something else is said: one namespace
    /// with thousands of keys does not hold up one with a few.
    #[must_use]
    pub fn fair_by<G: Hash>(mut self, group: impl Fn(&T) -> G + Send + Sync + 'static) -> Self {
        // Two groups with the same hash would share their turns, and that is all.
        let hasher = RandomState::new();
        self.group = Some(Box::new(move |key| hasher.hash_one(group(key))));
        self
    }

    /// After how long of waiting a key counts as one of the next higher [priority](crate::Priority) that was added
    /// just now; 10 seconds unless said.
    #[must_use]
    pub fn aging(mut self, aging: Duration) -> Self {
        self.aging = aging;
        self
    }

    /// Counts, under the names that client-go has for it and with this name as their label.
    ///
    /// # Errors
    /// If one of the names means something else in this registry.
    pub fn metrics(mut self, registry: &Registry, name: &str) -> Result<Self, RegisterError> {
        self.metrics = Some((Metrics::new(registry, name)?, registry.clone()));
        Ok(self)
    }

    /// The queue.
    pub fn build(self) -> WorkQueue<T> {
        let (metrics, registry) = self.metrics.unzip();
        let ready = Ready::new(self.group.is_some(), self.aging);
        let shared = Arc::new(Shared {
            state: Mutex::new(State::new(ready, metrics)),
            turns: Turns::default(),
            hasher: DefaultHashBuilder::default(),
            group: self.group,
            limiter: self.limiter.unwrap_or_else(|| Box::new(limit::standard())),
        });
        if let Some(registry) = registry {
            let queue = Arc::downgrade(&shared);
            registry.before_render(move || {
                let Some(queue) = queue.upgrade() else { return false };
                let state = queue.state.lock();
                if let Some(metrics) = state.metrics() {
                    metrics.refresh(state.running());
                }
                true
            });
        }
        WorkQueue { shared }
    }
}

impl<T> Default for Builder<T> {
    fn default() -> Self {
        Self { limiter: None, group: None, aging: AGING, metrics: None }
    }
}

impl<T> fmt::Debug for Builder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").field("aging", &self.aging).finish_non_exhaustive()
    }
}
