//! The queue.

use std::fmt;
use std::hash::BuildHasher as _;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use hashbrown::DefaultHashBuilder;

use crate::after::After;
use crate::limit::RateLimiter;
use crate::lock::{Held, Mutex};
use crate::node::Hashes;
use crate::state::{State, Taken};
use crate::time::Instant;
use crate::turns::{Side, Turns};
use crate::waiters::Ticket;
use crate::{Builder, Drain, Get, Key, Priority};

/// Keys that want to be worked on. Clones are the same queue. See the [crate] for what it promises.
pub struct WorkQueue<T> {
    pub(crate) shared: Arc<Shared<T>>,
}

/// Apart from the count of those who hold it, which workers change all the time.
#[repr(align(128))]
pub(crate) struct Shared<T> {
    pub(crate) state: Mutex<State<T>>,
    pub(crate) turns: Turns,
    pub(crate) hasher: DefaultHashBuilder,
    pub(crate) group: Option<Group<T>>,
    pub(crate) limiter: Box<dyn RateLimiter<T>>,
}

impl<T: Key> Shared<T> {
    /// The lock, in turns with those on the other side.
    pub(crate) fn lock(&self, side: Side) -> Held<'_, State<T>> {
        self.state.try_lock().unwrap_or_else(|| self.turns.stand_back(&self.state, side))
    }

    /// What there is for a getter.
    pub(crate) fn take(&self, ticket: &mut Option<Ticket>, waker: &Waker, key: &mut Option<T>) -> Taken {
        let mut after = After::default();
        let mut state = self.lock(Side::Take);
        let taken = state.take(ticket, waker, key, &mut after);
        self.turns.note(state.waiting());
        if matches!(taken, Taken::Wait(_)) {
            self.turns.calm_down();
        }
        taken
    }
}

/// Whose turn a key waits for.
pub(crate) type Group<T> = Box<dyn Fn(&T) -> u64 + Send + Sync>;

impl<T: Key> WorkQueue<T> {
    /// Without metrics and fairness, and with [client-go's limits](crate::limit::standard) for retries.
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// With all that one likes.
    pub fn builder() -> Builder<T> {
        Builder::default()
    }

    /// There is something to do about a key. Once the queue is shut down nothing happens.
    pub fn add(&self, key: T) {
        self.add_as(key, Priority::default());
    }

    /// There is something to do about a key, and it is so urgent. One that waits already is as urgent as the most
    /// urgent that was said of it.
    pub fn add_as(&self, key: T, priority: Priority) {
        let hashes = self.hashes(&key);
        let mut after = After::default();
        let mut state = self.shared.lock(Side::Add);
        state.add(key, hashes, priority, &mut after);
        self.shared.turns.note(state.waiting());
    }

    /// There will be something to do about a key. Of several delays the earliest counts (Q4); that it is added
    /// meanwhile does not change them.
    pub fn add_after(&self, key: T, delay: Duration) {
        self.add_after_as(key, delay, Priority::default());
    }

    /// There will be something to do about a key, and it will be so urgent.
    pub fn add_after_as(&self, key: T, delay: Duration, priority: Priority) {
        let hashes = self.hashes(&key);
        let now = Instant::now();
        // A time that no clock will show is far enough.
        let when = now.checked_add(delay).unwrap_or_else(|| now + FAR);
        let mut after = After::default();
        self.shared.lock(Side::Add).add_at(key, hashes, when, priority, &mut after);
    }

    /// It has failed: there will be something to do about it after as long as the [limiter](Builder::limiter) says.
    pub fn add_limited(&self, key: T) {
        let delay = self.shared.limiter.when(&key);
        self.add_after(key, delay);
    }

    /// The limiter forgets the failures of a key.
    pub fn forget(&self, key: &T) {
        self.shared.limiter.forget(key);
    }

    /// How often a key was [added after a failure](Self::add_limited) since it was [forgotten](Self::forget).
    pub fn failures(&self, key: &T) -> u32 {
        self.shared.limiter.failures(key)
    }

    /// The next key to work on; `None` once the queue is shut down and empty. Dropped half-way, nothing is lost.
    pub fn get(&self) -> Get<'_, T> {
        Get::new(self)
    }

    /// How many wait to be handed out: not those that are delayed or worked on.
    pub fn len(&self) -> usize {
        self.shared.state.lock().len()
    }

    /// Whether none waits to be handed out.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes no more keys, and drops those that are delayed. Those that wait are still handed out, and then nobody
    /// gets anything any more. Whoever [drains](Self::drain) waits no longer.
    pub fn shut_down(&self) {
        let mut after = After::default();
        self.shared.state.lock().close(false, &mut after);
    }

    /// Takes no more keys, and hands out none: what waits is forgotten. What is worked on can be finished.
    pub fn abandon(&self) {
        let mut after = After::default();
        self.shared.state.lock().abandon(&mut after);
    }

    /// Takes no more keys, as [`shut_down`](Self::shut_down), and returns when all that waited is worked on and
    /// done. The workers have to go on for that. Dropped half-way, the queue stays shut down.
    pub fn drain(&self) -> Drain<'_, T> {
        {
            let mut after = After::default();
            self.shared.state.lock().close(true, &mut after);
        }
        Drain::new(self)
    }

    /// Whether no more keys are taken.
    pub fn is_shut_down(&self) -> bool {
        !self.shared.state.lock().is_open()
    }

    fn hashes(&self, key: &T) -> Hashes {
        let group = self.shared.group.as_ref().map_or(0, |group| group(key));
        Hashes { key: self.shared.hasher.hash_one(key) as u32, group }
    }
}

/// Longer than anybody waits.
const FAR: Duration = Duration::from_secs(86_400 * 365 * 30);

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
