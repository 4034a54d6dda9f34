//! Builder: the settings of a queue.

use std::fmt;
use std::hash::{BuildHasher as _, Hash, RandomState};
use std::sync::Arc;
use std::time::Duration;

use hashbrown::DefaultHashBuilder;
use tokio::sync::Notify;
use watchkeeper_metrics::{RegisterError, Registry};

use crate::limit::{self, RateLimiter};
use crate::lock::Mutex;
use crate::metrics::Metrics;
use crate::queue::{Group, LONGEST_DELAY, Shared};
use crate::ready::Ready;
use crate::state::State;
use crate::{Key, WorkQueue};

const DEFAULT_AGING: Duration = Duration::from_secs(10);

/// Builds a [`WorkQueue`].
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
///     .rate_limiter(Exponential::new(Duration::from_millis(100), Duration::from_secs(60)))
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
    /// Sets the rate limiter for keys that fail; [client-go's](limit::default_controller_rate_limiter) by default.
    #[must_use]
    pub fn rate_limiter(mut self, limiter: impl RateLimiter<T> + 'static) -> Self {
        self.limiter = Some(Box::new(limiter));
        self
    }

    /// Groups keys, and lets the groups of a priority take turns: a namespace with thousands of keys does not starve
    /// one with a few. Off by default.
    #[must_use]
    pub fn fair_by<G: Hash>(mut self, group: impl Fn(&T) -> G + Send + Sync + 'static) -> Self {
        // Groups whose hashes collide share their turns, which is harmless.
        let hasher = RandomState::new();
        self.group = Some(Box::new(move |key| hasher.hash_one(group(key))));
        self
    }

    /// Sets how long a key waits until it counts as one of the next higher [priority](crate::Priority); 10 seconds
    /// by default.
    #[must_use]
    pub fn aging(mut self, aging: Duration) -> Self {
        self.aging = aging;
        self
    }

    /// Registers client-go's work queue metrics, with `name` as their label.
    ///
    /// # Errors
    /// Fails if one of the metric names is registered with another meaning.
    pub fn metrics(mut self, registry: &Registry, name: &str) -> Result<Self, RegisterError> {
        self.metrics = Some((Metrics::new(registry, name)?, registry.clone()));
        Ok(self)
    }

    /// Creates the queue.
    pub fn build(self) -> WorkQueue<T> {
        let (metrics, registry) = self.metrics.unzip();
        let ready = Ready::new(self.group.is_some(), self.aging.min(LONGEST_DELAY));
        let shared = Arc::new(Shared {
            state: Mutex::new(State::new(ready, metrics)),
            getters: Notify::new(),
            drains: Notify::new(),
            hasher: DefaultHashBuilder::default(),
            group: self.group,
            limiter: self.limiter.unwrap_or_else(|| Box::new(limit::default_controller_rate_limiter())),
        });
        if let Some(registry) = registry {
            let queue = Arc::downgrade(&shared);
            registry.before_render(move || {
                let queue = queue.upgrade();
                queue.inspect(|queue| queue.state.lock().refresh_metrics()).is_some()
            });
        }
        WorkQueue { shared }
    }
}

impl<T> Default for Builder<T> {
    fn default() -> Self {
        Self { limiter: None, group: None, aging: DEFAULT_AGING, metrics: None }
    }
}

impl<T> fmt::Debug for Builder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").field("aging", &self.aging).finish_non_exhaustive()
    }
}
