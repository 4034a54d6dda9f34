//! The queue.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::pending::Pending;
use super::{Delta, Incarnation, Transient};
use crate::lock::Mutex;

/// The largest capacity, in keys, that an empty queue keeps.
const KEPT_CAPACITY: usize = 16;

/// A queue of deltas that coalesces changes to the same key; client-go's `DeltaFIFO`.
///
/// # Guarantees
/// Each key is queued at most once, in the order of its oldest pending change. However many changes a key goes through,
/// the consumer receives at most two deltas for it, and their `old` is the state it received before; see the
/// [module](super) for the rules and for the memory that the queue of a slow consumer takes.
///
/// # Threads
/// All methods take `&self`. Producers never wait, neither for consumers nor for room. Several consumers can pop; each
/// delta goes to one of them.
///
/// # Ending
/// After [`close`](Self::close) pushes are ignored, pending deltas can still be popped, and then [`pop`](Self::pop)
/// returns `None` to every consumer.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// use watchkeeper_cache::delta::{Delta, DeltaQueue, Incarnation};
///
/// #[derive(Clone, Debug, PartialEq)]
/// struct Lamp(&'static str);
/// impl Incarnation for Lamp {}
///
/// let queue = DeltaQueue::default();
/// queue.push("hall", Delta::Added { new: Lamp("off"), initial: false });
/// queue.push("yard", Delta::Added { new: Lamp("off"), initial: false });
/// queue.push("hall", Delta::Updated { old: Lamp("off"), new: Lamp("on") });
/// queue.push("yard", Delta::Deleted { old: Lamp("off"), last: None });
/// queue.close();
///
/// assert_eq!(queue.pop().await, Some(("hall", Delta::Added { new: Lamp("on"), initial: false })));
/// // An object that was added and deleted is reported, too.
/// assert_eq!(queue.pop().await, Some(("yard", Delta::Deleted { old: Lamp("off"), last: None })));
/// assert_eq!(queue.pop().await, None);
/// # }
/// ```
#[derive(Debug)]
pub struct DeltaQueue<K, T> {
    inner: Mutex<Inner<K, T>>,
    pushed: Notify,
}

#[derive(Debug)]
struct Inner<K, T> {
    transient: Transient,
    pending: HashMap<K, Queued<T>>,
    /// The pending keys by position (`delta.Q1`).
    order: BTreeMap<u64, K>,
    next_position: u64,
    coalesced: u64,
    is_closed: bool,
}

#[derive(Debug)]
struct Queued<T> {
    position: u64,
    since: Instant,
    what: Pending<T>,
}

impl<K, T> Default for DeltaQueue<K, T> {
    fn default() -> Self {
        Self::new(Transient::Report)
    }
}

impl<K, T> DeltaQueue<K, T> {
    /// Creates an empty queue. The [default](Self::default) reports transient objects.
    pub fn new(transient: Transient) -> Self {
        let inner = Inner {
            transient,
            pending: HashMap::new(),
            order: BTreeMap::new(),
            next_position: 0,
            coalesced: 0,
            is_closed: false,
        };
        Self { inner: Mutex::new(inner), pushed: Notify::new() }
    }
}

impl<K: Hash + Eq + Clone, T: Incarnation> DeltaQueue<K, T> {
    /// Adds a delta, and merges it with the pending one of its key. Ignored after [`close`](Self::close).
    pub fn push(&self, key: K, delta: Delta<T>) {
        self.push_all([(key, delta)]);
    }

    /// Adds several deltas atomically: a consumer sees none or all of them.
    pub fn push_all(&self, deltas: impl IntoIterator<Item = (K, Delta<T>)>) {
        let mut inner = self.inner.lock();
        if inner.is_closed {
            return;
        }
        let now = Instant::now();
        for (key, delta) in deltas {
            inner.push(key, delta, now);
        }
        drop(inner);
        self.pushed.notify_one();
    }

    /// Adds a [`Delta::Resync`] for each key that has no pending delta.
    pub fn resync(&self, objects: impl IntoIterator<Item = (K, T)>) {
        self.push_all(objects.into_iter().map(|(key, object)| (key, Delta::Resync(object))));
    }

    /// Waits for the next delta. Returns `None` once the queue is closed and empty. Cancel safe: if dropped, no delta is
    /// lost.
    pub async fn pop(&self) -> Option<(K, Delta<T>)> {
        loop {
            let pushed = self.pushed.notified();
            {
                let mut inner = self.inner.lock();
                if let Some(popped) = inner.pop() {
                    if !inner.order.is_empty() {
                        self.pushed.notify_one(); // wakes another consumer
                    }
                    return Some(popped);
                }
                if inner.is_closed {
                    self.pushed.notify_one();
                    return None;
                }
            }
            pushed.await;
        }
    }

    /// Returns the next delta without waiting.
    pub fn try_pop(&self) -> Option<(K, Delta<T>)> {
        self.inner.lock().pop()
    }

    /// Returns up to `most` pending deltas without waiting. Returns `None` once the queue is closed and empty.
    pub fn take(&self, most: usize) -> Option<Vec<(K, Delta<T>)>> {
        let mut inner = self.inner.lock();
        if inner.order.is_empty() && inner.is_closed {
            return None;
        }
        let mut taken = Vec::with_capacity(most.min(inner.order.len()));
        while taken.len() < most
            && let Some(popped) = inner.pop()
        {
            taken.push(popped);
        }
        Some(taken)
    }
}

impl<K, T> DeltaQueue<K, T> {
    /// Closes the queue: later pushes are ignored, pending deltas can still be popped.
    pub fn close(&self) {
        self.inner.lock().is_closed = true;
        self.pushed.notify_one();
    }

    /// Returns the number of pending keys.
    pub fn len(&self) -> usize {
        self.inner.lock().order.len()
    }

    /// Returns whether no key is pending.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of deltas merged into a pending one since the queue was created.
    pub fn coalesced(&self) -> u64 {
        self.inner.lock().coalesced
    }

    /// Returns the position that the next new key will get.
    pub(crate) fn next_position(&self) -> u64 {
        self.inner.lock().next_position
    }

    /// Returns the position of the first pending key.
    pub(crate) fn first_position(&self) -> Option<u64> {
        self.inner.lock().order.first_key_value().map(|(position, _)| *position)
    }
}

impl<K: Hash + Eq, T> DeltaQueue<K, T> {
    /// Returns the time since which the first pending key has waited.
    pub fn waiting_since(&self) -> Option<Instant> {
        let inner = self.inner.lock();
        let (_, key) = inner.order.first_key_value()?;
        Some(inner.pending.get(key)?.since)
    }
}

impl<K: Hash + Eq + Clone, T: Incarnation> Inner<K, T> {
    fn push(&mut self, key: K, delta: Delta<T>, now: Instant) {
        let (position, since, what) = match self.pending.remove(&key) {
            None => {
                let position = self.next_position;
                self.next_position += 1;
                (position, now, Pending::One(delta))
            }
            Some(queued) => {
                self.coalesced += 1;
                (queued.position, queued.since, queued.what.then(delta))
            }
        };
        if self.transient == Transient::Skip && matches!(what, Pending::Transient { .. }) {
            self.order.remove(&position);
            return;
        }
        self.order.insert(position, key.clone());
        self.pending.insert(key, Queued { position, since, what });
    }

    fn pop(&mut self) -> Option<(K, Delta<T>)> {
        let (position, key) = self.order.pop_first()?;
        let queued = self.pending.remove(&key)?;
        let (delta, rest) = queued.what.split();
        if let Some(what) = rest {
            self.order.insert(position, key.clone());
            self.pending.insert(key.clone(), Queued { what, ..queued });
        }
        if self.order.is_empty() && self.pending.capacity() > KEPT_CAPACITY {
            self.pending = HashMap::new();
        }
        Some((key, delta))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delta::TrackingQueue;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// A state of an object.
    #[derive(Debug, Clone, PartialEq, Eq)]
    struct State {
        uid: u8,
        version: u32,
    }

    impl Incarnation for State {
        fn same_uid(&self, other: &Self) -> bool {
            self.uid == other.uid
        }
    }

    fn state(uid: u8, version: u32) -> State {
        State { uid, version }
    }

    fn added(new: State) -> Delta<State> {
        Delta::Added { new, initial: false }
    }

    fn updated(old: State, new: State) -> Delta<State> {
        Delta::Updated { old, new }
    }

    fn deleted(old: State, last: State) -> Delta<State> {
        Delta::Deleted { old, last: Some(last) }
    }

    fn all(queue: &DeltaQueue<&'static str, State>) -> Vec<Delta<State>> {
        std::iter::from_fn(|| queue.try_pop().map(|(_, delta)| delta)).collect()
    }

    #[test]
    fn pending_deltas_of_a_key_are_coalesced() {
        let (one, two, three) = (state(1, 1), state(1, 2), state(1, 3));
        let (new, newer) = (state(2, 4), state(2, 5));
        let gone = || deleted(one.clone(), two.clone());
        let table = [
            (vec![added(one.clone()), updated(one.clone(), two.clone())], vec![added(two.clone())]),
            (vec![added(one.clone()), gone()], vec![gone()]),
            (
                vec![
                    added(one.clone()),
                    updated(one.clone(), two.clone()),
                    deleted(two.clone(), three.clone()),
                ],
                vec![deleted(two.clone(), three.clone())],
            ),
            (vec![added(one.clone()), gone(), added(new.clone())], vec![added(new.clone())]),
            (vec![added(one.clone()), gone(), added(three.clone())], vec![added(three.clone())]),
            (
                vec![added(one.clone()), gone(), added(new.clone()), deleted(new.clone(), newer.clone())],
                vec![deleted(new.clone(), newer.clone())],
            ),
            (vec![added(one.clone()), gone(), Delta::Resync(one.clone())], vec![gone()]),
            (
                vec![updated(one.clone(), two.clone()), updated(two.clone(), three.clone())],
                vec![updated(one.clone(), three.clone())],
            ),
            (
                vec![updated(one.clone(), two.clone()), deleted(two.clone(), three.clone())],
                vec![deleted(one.clone(), three.clone())],
            ),
            (vec![gone(), added(new.clone())], vec![gone(), added(new.clone())]),
            (vec![gone(), added(three.clone())], vec![updated(one.clone(), three.clone())]),
            (
                vec![gone(), added(new.clone()), updated(new.clone(), newer.clone())],
                vec![gone(), added(newer.clone())],
            ),
            (vec![gone(), added(new.clone()), deleted(new, newer)], vec![gone()]),
            (
                vec![Delta::Resync(one.clone()), updated(one.clone(), two.clone())],
                vec![updated(one.clone(), two.clone())],
            ),
            (
                vec![Delta::Resync(two.clone()), deleted(two.clone(), three.clone())],
                vec![deleted(two.clone(), three)],
            ),
            (vec![added(one.clone()), Delta::Resync(one.clone())], vec![added(one.clone())]),
            (vec![Delta::Resync(one.clone()), Delta::Resync(two.clone())], vec![Delta::Resync(two)]),
        ];
        for (pushed, popped) in table {
            let queue = DeltaQueue::default();
            for delta in pushed.clone() {
                queue.push("key", delta);
            }
            assert_eq!(all(&queue), popped, "{pushed:?}");
        }
    }

    #[test]
    fn a_key_keeps_its_position_until_its_last_delta_is_dropped() {
        for (transient, expected) in
            [(Transient::Report, ["a", "b", "c"]), (Transient::Skip, ["a", "c", "b"])]
        {
            let queue = DeltaQueue::new(transient);
            queue.push("a", added(state(1, 1)));
            queue.push("b", added(state(2, 1)));
            queue.push("a", updated(state(1, 1), state(1, 2)));
            queue.push("b", deleted(state(2, 1), state(2, 2)));
            queue.push("c", added(state(3, 1)));
            queue.push("b", added(state(4, 1)));
            let keys: Vec<_> = std::iter::from_fn(|| queue.try_pop().map(|(key, _)| key)).collect();
            assert_eq!(keys, expected);
        }
    }

    #[test]
    fn every_transient_object_is_reported_once() {
        let queue = DeltaQueue::default();
        for key in 0..1_000_u32 {
            queue.push(key, added(state(1, key)));
            queue.push(key, deleted(state(1, key), state(1, key + 1)));
        }
        for key in 0..1_000_u32 {
            assert_eq!(queue.try_pop(), Some((key, deleted(state(1, key), state(1, key + 1)))));
        }
        assert_eq!(queue.try_pop(), None);
    }

    #[test]
    fn a_queue_that_skips_transient_objects_keeps_nothing_of_them() {
        let queue = DeltaQueue::new(Transient::Skip);
        for key in 0..10_000_u32 {
            queue.push(key, added(state(1, key)));
            queue.push(key, deleted(state(1, key), state(1, key)));
        }
        let inner = queue.inner.lock();
        assert_eq!((inner.order.len(), inner.pending.len()), (0, 0));
    }

    #[test]
    fn an_emptied_queue_releases_its_capacity() {
        let queue = DeltaQueue::default();
        (0..10_000_u32).for_each(|key| queue.push(key, added(state(1, key))));
        assert_eq!(queue.take(9_999).unwrap().len(), 9_999);
        assert!(queue.inner.lock().pending.capacity() >= 9_999);
        assert_eq!(queue.take(9_999), Some(vec![(9_999, added(state(1, 9_999)))]));
        assert!(queue.inner.lock().pending.capacity() <= KEPT_CAPACITY);
        assert_eq!(queue.take(1), Some(vec![]));
        queue.push(1, added(state(1, 1)));
        queue.close();
        assert_eq!(queue.take(7).map(|taken| taken.len()), Some(1));
        assert_eq!(queue.take(7), None);
    }

    #[tokio::test]
    async fn a_waiting_consumer_is_woken_by_a_push_and_by_close() {
        let queue = std::sync::Arc::new(DeltaQueue::default());
        let consumer = tokio::spawn({
            let queue = queue.clone();
            async move {
                let first = queue.pop().await;
                (first, queue.pop().await, queue.pop().await)
            }
        });
        tokio::task::yield_now().await;
        queue.push("a", added(state(1, 1)));
        tokio::task::yield_now().await;
        queue.close();
        queue.push("b", added(state(2, 1)));
        assert_eq!(consumer.await.unwrap(), (Some(("a", added(state(1, 1)))), None, None));
    }

    #[tokio::test]
    async fn close_wakes_every_consumer() {
        let queue = std::sync::Arc::new(DeltaQueue::<&str, State>::default());
        let consumers: Vec<_> = (0..3)
            .map(|_| {
                let queue = queue.clone();
                tokio::spawn(async move { queue.pop().await })
            })
            .collect();
        tokio::task::yield_now().await;
        queue.close();
        for consumer in consumers {
            assert_eq!(consumer.await.unwrap(), None);
        }
    }

    #[derive(Debug, Clone)]
    enum Step {
        Put(u8, u8),
        Delete(u8),
        Replace(Vec<(u8, u8)>),
        Resync,
        Pop(u8),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            8 => (0..6_u8, 0..3_u8).prop_map(|(key, uid)| Step::Put(key, uid)),
            4 => (0..6_u8).prop_map(Step::Delete),
            1 => prop::collection::btree_map(0..6_u8, 0..3_u8, 0..6)
                .prop_map(|objects| Step::Replace(objects.into_iter().collect())),
            1 => Just(Step::Resync),
            4 => (0..5_u8).prop_map(Step::Pop),
        ]
    }

    /// A consumer that mirrors the objects from the deltas it receives.
    #[derive(Default)]
    struct Copy {
        objects: BTreeMap<u8, State>,
        /// The newest version received of each key.
        newest: BTreeMap<u8, u32>,
        /// The keys that have changed since their last delta was received (`delta.Q3`).
        changed: std::collections::BTreeSet<u8>,
    }

    impl Copy {
        fn apply(&mut self, key: u8, delta: Delta<State>) -> Result<(), TestCaseError> {
            self.changed.remove(&key);
            let newest = self.newest.insert(key, delta.newest().version);
            match delta {
                Delta::Added { new, .. } => prop_assert_eq!(self.objects.insert(key, new), None),
                Delta::Updated { old, new } => {
                    prop_assert!(old.same_uid(&new));
                    prop_assert_eq!(self.objects.insert(key, new), Some(old), "delta.Q4");
                }
                Delta::Deleted { old, .. } => match self.objects.remove(&key) {
                    Some(known) => prop_assert_eq!(known, old),
                    // Transient: nothing of this object has been received.
                    None => prop_assert!(newest.is_none_or(|newest| old.version > newest)),
                },
                Delta::Resync(object) => prop_assert_eq!(self.objects.get(&key), Some(&object)),
            }
            Ok(())
        }
    }

    proptest! {
        #[test]
        fn a_mirror_that_applies_all_deltas_equals_the_source(steps in prop::collection::vec(step(), 0..60)) {
            let queue = TrackingQueue::default();
            let (mut world, mut seen) = (BTreeMap::<u8, State>::new(), Copy::default());
            for (version, step) in steps.into_iter().enumerate() {
                // Versions are even, so that the last state of an object has a version of its own.
                let version = u32::try_from(2 * version).unwrap();
                match step {
                    Step::Put(key, uid) => {
                        seen.changed.insert(key);
                        world.insert(key, state(uid, version));
                        queue.put(key, state(uid, version));
                    }
                    Step::Delete(key) => {
                        if let Some(last) = world.remove(&key) {
                            seen.changed.insert(key);
                            queue.delete(key, State { version: version + 1, ..last });
                        }
                    }
                    Step::Replace(objects) => {
                        seen.changed.extend(world.keys().copied().chain(objects.iter().map(|(key, _)| *key)));
                        world = objects.into_iter().map(|(key, uid)| (key, state(uid, version))).collect();
                        queue.replace(world.clone());
                    }
                    Step::Resync => queue.resync(),
                    Step::Pop(count) => {
                        for _ in 0..count.min(u8::try_from(queue.len()).unwrap()) {
                            let (key, delta) = pop_now(&queue);
                            seen.apply(key, delta)?;
                        }
                    }
                }
            }
            while !queue.is_empty() {
                let (key, delta) = pop_now(&queue);
                seen.apply(key, delta)?;
            }
            prop_assert_eq!(seen.objects, world);
            prop_assert!(seen.changed.is_empty(), "delta.Q3: {:?}", seen.changed);
        }
    }

    /// Pops without waiting.
    fn pop_now(queue: &TrackingQueue<u8, State>) -> (u8, Delta<State>) {
        use futures_util::FutureExt as _;
        queue.pop().now_or_never().unwrap().unwrap()
    }
}
