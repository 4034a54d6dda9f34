//! TTL store: objects that expire a fixed time after they were put.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::lock::Mutex;
use tokio::time::Instant;

/// A thread-safe map whose entries expire a fixed time after they were last put; client-go's `cache.NewTTLStore`.
///
/// An expired object is never returned. Expiry is lazy: its memory is freed by the next `get` of its key or by the next
/// [`list`](Self::list).
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
/// use std::time::Duration;
/// use watchkeeper_cache::TtlStore;
///
/// let names = TtlStore::new(Some(Duration::from_secs(60)));
/// names.put("10.0.0.1", "web-0");
/// tokio::time::advance(Duration::from_secs(60)).await;
/// assert_eq!(names.get(&"10.0.0.1").as_deref(), Some(&"web-0"));
/// tokio::time::advance(Duration::from_secs(1)).await;
/// assert_eq!(names.get(&"10.0.0.1"), None);
/// # }
/// ```
#[derive(Debug)]
pub struct TtlStore<K, T> {
    /// `None` if entries never expire.
    ttl: Option<Duration>,
    entries: Mutex<BTreeMap<K, Entry<T>>>,
}

#[derive(Debug)]
struct Entry<T> {
    put: Instant,
    object: Arc<T>,
}

impl<K: Ord + Clone, T> TtlStore<K, T> {
    /// Creates an empty store. Objects expire `ttl` after they were put; never if it is `None`.
    pub fn new(ttl: Option<Duration>) -> Self {
        Self { ttl, entries: Mutex::default() }
    }

    /// Inserts or replaces an object, and starts its time to live.
    pub fn put(&self, key: K, object: T) {
        let entry = Entry { put: Instant::now(), object: Arc::new(object) };
        let old = self.entries.lock().insert(key, entry);
        drop(old); // outside the lock
    }

    /// Atomically replaces all objects, and starts their time to live.
    pub fn replace(&self, objects: impl IntoIterator<Item = (K, T)>) {
        let put = Instant::now();
        let entries = objects.into_iter().map(|(key, object)| (key, Entry { put, object: Arc::new(object) }));
        let next = entries.collect();
        let old = std::mem::replace(&mut *self.entries.lock(), next);
        drop(old);
    }

    /// Removes an object, and returns it unless it has expired.
    pub fn delete(&self, key: &K) -> Option<Arc<T>> {
        let entry = self.entries.lock().remove(key)?;
        self.is_current(&entry).then_some(entry.object)
    }

    /// Returns the object with this key unless it has expired.
    pub fn get(&self, key: &K) -> Option<Arc<T>> {
        let mut entries = self.entries.lock();
        let entry = entries.get(key)?;
        if self.is_current(entry) {
            return Some(entry.object.clone());
        }
        let expired = entries.remove(key);
        drop(entries);
        drop(expired);
        None
    }

    /// Returns all objects that have not expired, in key order.
    pub fn list(&self) -> Vec<Arc<T>> {
        let mut expired = Vec::new();
        let mut entries = self.entries.lock();
        entries.retain(|_, entry| {
            let is_current = self.is_current(entry);
            if !is_current {
                expired.push(entry.object.clone());
            }
            is_current
        });
        let current = entries.values().map(|entry| entry.object.clone()).collect();
        drop(entries);
        drop(expired);
        current
    }

    /// Returns all keys, in order, including those of expired objects that have not been freed yet.
    pub fn keys(&self) -> Vec<K> {
        self.entries.lock().keys().cloned().collect()
    }

    fn is_current(&self, entry: &Entry<T>) -> bool {
        self.ttl.is_none_or(|ttl| entry.put.elapsed() <= ttl)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[tokio::test(start_paused = true)]
    async fn an_object_expires_after_its_ttl_and_putting_it_again_renews_it() {
        let cache = TtlStore::new(Some(seconds(10)));
        cache.put("a", 1);
        tokio::time::advance(seconds(10)).await;
        assert_eq!(cache.get(&"a").as_deref(), Some(&1), "exactly the ttl is not expired");
        tokio::time::advance(seconds(1)).await;
        assert_eq!(cache.keys(), ["a"], "not freed before it is looked up");
        assert_eq!((cache.get(&"a"), cache.keys().len()), (None, 0));
        cache.put("a", 2);
        tokio::time::advance(seconds(6)).await;
        cache.put("a", 3);
        tokio::time::advance(seconds(6)).await;
        assert_eq!(cache.get(&"a").as_deref(), Some(&3), "the second put renewed it");
        assert_eq!(cache.delete(&"a").as_deref(), Some(&3));
        cache.put("a", 4);
        tokio::time::advance(seconds(11)).await;
        assert_eq!(cache.delete(&"a"), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_list_omits_expired_objects_and_a_replacement_expires_as_a_whole() {
        let cache = TtlStore::new(Some(seconds(10)));
        cache.put("a", 1);
        tokio::time::advance(seconds(6)).await;
        cache.put("b", 2);
        tokio::time::advance(seconds(6)).await;
        assert_eq!(cache.keys(), ["a", "b"]);
        assert_eq!((cache.list(), cache.keys()), (vec![Arc::new(2)], vec!["b"]));
        cache.replace([("c", 3), ("d", 4)]);
        tokio::time::advance(seconds(10)).await;
        assert_eq!(cache.list(), [Arc::new(3), Arc::new(4)]);
        tokio::time::advance(seconds(1)).await;
        assert_eq!(cache.list(), Vec::<Arc<i32>>::new());
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_ttl_nothing_expires() {
        let cache = TtlStore::new(None);
        cache.put("a", 1);
        tokio::time::advance(seconds(1_000_000_000)).await;
        assert_eq!(cache.get(&"a").as_deref(), Some(&1));
    }
}
