//! Tracking queue: a delta queue that derives deltas from states.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;

use super::{Delta, DeltaQueue, Incarnation};
use crate::lock::Mutex;

/// A [`DeltaQueue`] for producers without a store. It remembers the last state of each key, and derives from it whether
/// an object was added or updated, and which ones a new list no longer contains.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// use watchkeeper_cache::delta::{Delta, Incarnation, TrackingQueue};
///
/// #[derive(Clone, Debug, PartialEq)]
/// struct Lamp(&'static str);
/// impl Incarnation for Lamp {}
///
/// let queue = TrackingQueue::default();
/// queue.replace([("hall", Lamp("off")), ("yard", Lamp("on"))]);
/// assert_eq!(queue.pop().await, Some(("hall", Delta::Added { new: Lamp("off"), initial: true })));
/// assert_eq!(queue.pop().await, Some(("yard", Delta::Added { new: Lamp("on"), initial: true })));
///
/// queue.put("hall", Lamp("on"));
/// queue.replace([("hall", Lamp("on"))]);
/// assert_eq!(queue.pop().await, Some(("hall", Delta::Updated { old: Lamp("off"), new: Lamp("on") })));
/// assert_eq!(queue.pop().await, Some(("yard", Delta::Deleted { old: Lamp("on"), last: None })));
/// # }
/// ```
#[derive(Debug)]
pub struct TrackingQueue<K, T> {
    known: Mutex<Known<K, T>>,
    queue: DeltaQueue<K, T>,
}

#[derive(Debug)]
struct Known<K, T> {
    objects: HashMap<K, T>,
    /// Whether `replace` has been called.
    is_populated: bool,
}

impl<K, T> Default for TrackingQueue<K, T> {
    fn default() -> Self {
        let known = Known { objects: HashMap::new(), is_populated: false };
        Self { known: Mutex::new(known), queue: DeltaQueue::default() }
    }
}

impl<K: Hash + Eq + Clone, T: Incarnation + Clone> TrackingQueue<K, T> {
    /// Adds or updates an object.
    pub fn put(&self, key: K, new: T) {
        let mut known = self.known.lock();
        let deltas = known.put(key.clone(), new, false);
        self.queue.push_all(std::iter::repeat(key).zip(deltas));
    }

    /// Deletes an object, with its final state. Ignored for an unknown key.
    pub fn delete(&self, key: K, last: T) {
        let mut known = self.known.lock();
        if let Some(old) = known.objects.remove(&key) {
            self.queue.push(key, Delta::Deleted { old, last: Some(last) });
        }
    }

    /// Atomically replaces all objects. Deletions are queued first.
    pub fn replace(&self, objects: impl IntoIterator<Item = (K, T)>) {
        let mut known = self.known.lock();
        let mut before = std::mem::take(&mut known.objects);
        let initial = !known.is_populated;
        known.is_populated = true;
        let mut deltas = Vec::new();
        let mut order = Vec::new();
        for (key, new) in objects {
            if let Some(old) = before.remove(&key) {
                known.objects.insert(key.clone(), old);
            }
            order.push((key.clone(), known.put(key, new, initial)));
        }
        deltas.extend(before.into_iter().map(|(key, old)| (key, Delta::missed(old))));
        for (key, changes) in order {
            deltas.extend(std::iter::repeat(key).zip(changes));
        }
        self.queue.push_all(deltas);
    }

    /// Queues a [`Delta::Resync`] for each object without a pending delta.
    pub fn resync(&self) {
        let known = self.known.lock();
        self.queue.resync(known.objects.iter().map(|(key, object)| (key.clone(), object.clone())));
    }

    /// Waits for the next delta: see [`DeltaQueue::pop`].
    pub async fn pop(&self) -> Option<(K, Delta<T>)> {
        self.queue.pop().await
    }

    /// Closes the queue: see [`DeltaQueue::close`].
    pub fn close(&self) {
        self.queue.close();
    }

    /// Returns the number of pending keys.
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Returns whether no key is pending.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}

impl<K: Hash + Eq, T: Incarnation + Clone> Known<K, T> {
    fn put(&mut self, key: K, new: T, initial: bool) -> Vec<Delta<T>> {
        match self.objects.entry(key) {
            Entry::Vacant(entry) => {
                entry.insert(new.clone());
                vec![Delta::Added { new, initial }]
            }
            Entry::Occupied(mut entry) => {
                let old = entry.insert(new.clone());
                if old.same_uid(&new) {
                    vec![Delta::Updated { old, new }]
                } else {
                    vec![Delta::missed(old), Delta::Added { new, initial: false }]
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A UID and a state.
    #[derive(Debug, Clone, PartialEq)]
    struct Lamp(u8, &'static str);

    impl Incarnation for Lamp {
        fn same_uid(&self, other: &Self) -> bool {
            self.0 == other.0
        }
    }

    fn all(queue: &TrackingQueue<&'static str, Lamp>) -> Vec<(&'static str, Delta<Lamp>)> {
        std::iter::from_fn(|| queue.queue.try_pop()).collect()
    }

    fn gone(old: Lamp) -> Delta<Lamp> {
        Delta::Deleted { old, last: None }
    }

    #[test]
    fn deleting_an_unknown_key_is_not_reported() {
        let queue = TrackingQueue::default();
        queue.delete("hall", Lamp(1, "on"));
        assert_eq!(all(&queue), []);
    }

    #[test]
    fn an_object_missing_from_the_next_list_is_reported_as_deleted() {
        let queue = TrackingQueue::default();
        queue.replace([("yard", Lamp(2, "on"))]);
        queue.replace([]);
        queue.delete("yard", Lamp(2, "off"));
        assert_eq!(all(&queue), [("yard", gone(Lamp(2, "on")))]);
    }

    #[test]
    fn several_empty_lists_are_one_deletion_with_the_last_received_state() {
        let queue = TrackingQueue::default();
        queue.put("hall", Lamp(1, "on"));
        all(&queue);
        queue.put("hall", Lamp(1, "dim"));
        queue.delete("hall", Lamp(1, "dim"));
        queue.put("hall", Lamp(1, "off"));
        for _ in 0..3 {
            queue.replace([]);
        }
        assert_eq!(all(&queue), [("hall", gone(Lamp(1, "on")))]);
        queue.replace([]);
        assert_eq!(all(&queue), []);
    }

    #[test]
    fn a_deletion_and_a_successor_with_another_uid_are_both_reported() {
        let queue = TrackingQueue::default();
        queue.replace([("hall", Lamp(1, "on"))]);
        all(&queue);
        queue.delete("hall", Lamp(1, "off"));
        queue.replace([("hall", Lamp(2, "on"))]);
        let deleted = Delta::Deleted { old: Lamp(1, "on"), last: Some(Lamp(1, "off")) };
        let added = Delta::Added { new: Lamp(2, "on"), initial: false };
        assert_eq!(all(&queue), [("hall", deleted), ("hall", added)]);
    }

    #[test]
    fn a_popped_key_that_changes_again_queues_behind_the_others() {
        let queue = TrackingQueue::default();
        queue.put("hall", Lamp(1, "on"));
        queue.put("yard", Lamp(2, "on"));
        let (first, _) = queue.queue.try_pop().unwrap();
        queue.put(first, Lamp(1, "off"));
        let order: Vec<_> = all(&queue).into_iter().map(|(key, _)| key).collect();
        assert_eq!((first, order), ("hall", vec!["yard", "hall"]));
    }

    #[test]
    fn a_resync_skips_keys_that_are_already_pending() {
        let queue = TrackingQueue::default();
        queue.replace([("hall", Lamp(1, "on")), ("yard", Lamp(2, "on"))]);
        all(&queue);
        queue.put("hall", Lamp(1, "off"));
        queue.resync();
        let updated = Delta::Updated { old: Lamp(1, "on"), new: Lamp(1, "off") };
        assert_eq!(all(&queue), [("hall", updated), ("yard", Delta::Resync(Lamp(2, "on")))]);
    }
}
