//! Queue: the public handle.

use std::fmt;
use std::hash::{BuildHasher as _, Hash};
use std::sync::Arc;
use std::time::Duration;

use hashbrown::DefaultHashBuilder;
use tokio::sync::Notify;

use crate::limit::RateLimiter;
use crate::lock::{Held, Mutex};
use crate::state::{After, NewKey, Phase, State};
use crate::time::Instant;
use crate::{AddOpts, Builder, Drain, Get};

/// A key: `namespace/name`, a number, a tuple. Adding a key clones it, so it should be cheap to clone.
pub trait Key: Hash + Eq + Clone + Send + 'static {}

impl<T: Hash + Eq + Clone + Send + 'static> Key for T {}

/// A queue of keys to process. Clones are handles to the same queue. See the [crate] for its guarantees.
pub struct WorkQueue<T> {
    pub(crate) shared: Arc<Shared<T>>,
}

pub(crate) struct Shared<T> {
    pub(crate) state: Mutex<State<T>>,
    /// Notified one by one: there is something to do for a waiting getter.
    pub(crate) getters: Notify,
    /// Notified all at once: a drain has ended.
    pub(crate) drains: Notify,
    pub(crate) hasher: DefaultHashBuilder,
    pub(crate) group: Option<Group<T>>,
    pub(crate) limiter: Box<dyn RateLimiter<T>>,
}

/// Returns the hash of a key's fairness group.
pub(crate) type Group<T> = Box<dyn Fn(&T) -> u64 + Send + Sync>;

/// Replaces longer delays, which a clock may not be able to represent: 30 years.
pub(crate) const LONGEST_DELAY: Duration = Duration::from_secs(86_400 * 365 * 30);

/// Spins before each further attempt to take the lock: 2, 4 and 8 microseconds.
const BACKOFF: [u32; 3] = [100, 200, 400];

impl<T: Key> Shared<T> {
    /// Changes the state, and then wakes and drops without the lock what the change has left in [`After`]
    /// (`workqueue.Q6`).
    pub(crate) fn update<R>(&self, change: impl FnOnce(&mut State<T>, &mut After<T>) -> R) -> R {
        let mut after = After::default(); // declared before the guard, and so dropped after it
        let mut state = self.lock();
        let result = change(&mut state, &mut after);
        let wake_getter = after.wake_getter && state.has_waiting_getter();
        drop(state);
        if wake_getter {
            self.getters.notify_one();
        }
        if after.wake_drains {
            self.drains.notify_waiters();
        }
        result
    }

    /// Locks the state. Producers and workers on two cores take the lock in turns, and moving the state between their
    /// caches costs more than using it. So a thread that finds it locked first spins without touching it, which lets the
    /// other handle several keys (decision 23).
    fn lock(&self) -> Held<'_, State<T>> {
        for spins in BACKOFF {
            if let Some(state) = self.state.try_lock() {
                return state;
            }
            for _ in 0..spins {
                std::hint::spin_loop();
            }
        }
        self.state.lock()
    }
}

impl<T: Key> WorkQueue<T> {
    /// Creates a queue without metrics and fairness, with [client-go's rate
    /// limiter](crate::limit::default_controller_rate_limiter).
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// Returns a builder for a queue with other settings.
    pub fn builder() -> Builder<T> {
        Builder::default()
    }

    /// Adds a key, unless the queue is shut down.
    pub fn add(&self, key: T) {
        self.add_with_opts(key, AddOpts::default());
    }

    /// Adds a key after a delay. If the key is already delayed, the earlier deadline wins (`workqueue.Q4`); adding it
    /// in the meantime does not cancel the delay.
    pub fn add_after(&self, key: T, delay: Duration) {
        self.add_with_opts(key, AddOpts::default().after(delay));
    }

    /// Adds a key with a priority, a delay or both. The priority of a key that is already queued can rise, but not
    /// fall.
    pub fn add_with_opts(&self, key: T, opts: AddOpts) {
        let now = Instant::now();
        let new = NewKey {
            hash: self.shared.hasher.hash_one(&key),
            group: self.shared.group.as_ref().map_or(0, |group| group(&key)),
            copy: key.clone(),
            key,
            priority: opts.priority,
            now,
            deadline: opts.after.map(|delay| now + delay.min(LONGEST_DELAY)),
        };
        self.shared.update(|state, after| state.add(new, after));
    }

    /// Adds a key that has failed, after the delay of the [rate limiter](Builder::rate_limiter).
    pub fn add_rate_limited(&self, key: T) {
        let delay = self.shared.limiter.when(&key);
        self.add_after(key, delay);
    }

    /// Makes the rate limiter forget the failures of a key.
    pub fn forget(&self, key: &T) {
        self.shared.limiter.forget(key);
    }

    /// Returns how many times a key was [added after a failure](Self::add_rate_limited) since it was last
    /// [forgotten](Self::forget).
    pub fn num_requeues(&self, key: &T) -> u32 {
        self.shared.limiter.num_requeues(key)
    }

    /// Waits for the next key; `None` once the queue is shut down and empty. Dropping the future loses no key.
    pub fn get(&self) -> Get<'_, T> {
        Get::new(self)
    }

    /// Returns the number of keys that are ready, without those that are delayed or being processed.
    pub fn len(&self) -> usize {
        self.shared.state.lock().len()
    }

    /// Returns whether no key is ready.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Refuses new keys and drops delayed ones. Workers still receive what is ready, and then `None`. Ends a
    /// [drain](Self::shut_down_with_drain).
    pub fn shut_down(&self) {
        self.shared.update(|state, after| state.close(Phase::Closed, after));
    }

    /// Shuts down and drops the keys that are ready. Workers can finish what they hold.
    pub fn shut_down_now(&self) {
        self.shared.update(State::abandon);
    }

    /// [Shuts down](Self::shut_down) at once, and waits until every key is processed, which needs the workers to go
    /// on. If the future is dropped, the queue stays shut down.
    pub fn shut_down_with_drain(&self) -> Drain<'_, T> {
        self.shared.update(|state, after| state.close(Phase::Draining, after));
        Drain::new(self)
    }

    /// Returns whether new keys are refused.
    pub fn is_shut_down(&self) -> bool {
        !self.shared.state.lock().is_open()
    }
}

impl<T: Key> Default for WorkQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Clone for WorkQueue<T> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone() }
    }
}

impl<T> fmt::Debug for WorkQueue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkQueue").finish_non_exhaustive()
    }
}
