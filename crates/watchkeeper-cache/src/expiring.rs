//! Expiring: objects that are there for some time after they were put.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::lock::Mutex;
use tokio::time::Instant;

/// Objects by key, each for so long after it was last put. It is shared by reference.
///
/// What has expired is found by nobody, and is freed when it is looked for or when all are listed.
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
/// use std::time::Duration;
/// use watchkeeper_cache::Expiring;
///
/// let names = Expiring::new(Some(Duration::from_secs(60)));
/// names.put("10.0.0.1", "web-0");
/// tokio::time::advance(Duration::from_secs(60)).await;
/// assert_eq!(names.get(&"10.0.0.1").as_deref(), Some(&"web-0"));
/// tokio::time::advance(Duration::from_secs(1)).await;
/// assert_eq!(names.get(&"10.0.0.1"), None);
/// # }
/// ```
#[derive(Debug)]
pub struct Expiring<K, T> {
    /// `None`: for ever.
    lasts: Option<Duration>,
    entries: Mutex<BTreeMap<K, Entry<T>>>,
}

#[derive(Debug)]
struct Entry<T> {
    put: Instant,
    object: Arc<T>,
}

impl<K: Ord + Clone, T> Expiring<K, T> {
    /// Nothing yet. What is put is there for so long; for ever if that is `None`.
    pub fn new(lasts: Option<Duration>) -> Self {
        Self { lasts, entries: Mutex::default() }
    }

    /// Adds an object, or puts it where the one of its key was. Its time begins.
    pub fn put(&self, key: K, object: T) {
        let entry = Entry { put: Instant::now(), object: Arc::new(object) };
        let old = self.entries.lock().insert(key, entry);
        drop(old); // objects are freed while no lock is held
    }

    /// Has these objects and no others. The time of all of them begins now.
    pub fn replace(&self, objects: impl IntoIterator<Item = (K, T)>) {
        let put = Instant::now();
        let entries = objects.into_iter().map(|(key, object)| (key, Entry { put, object: Arc::new(object) }));
        let next = entries.collect();
        let old = std::mem::replace(&mut *self.entries.lock(), next);
        drop(old);
    }

    /// Takes an object out; returns it unless its time is over.
    pub fn delete(&self, key: &K) -> Option<Arc<T>> {
        let entry = self.entries.lock().remove(key)?;
        self.is_current(&entry).then_some(entry.object)
    }

    /// The object of a key.
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

    /// All objects, by key.
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

    /// All keys, in order; also of what has expired and was not looked for since.
    pub fn keys(&self) -> Vec<K> {
        self.entries.lock().keys().cloned().collect()
    }

    fn is_current(&self, entry: &Entry<T>) -> bool {
        self.lasts.is_none_or(|lasts| entry.put.elapsed() <= lasts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[tokio::test(start_paused = true)]
    async fn an_object_is_there_for_its_time_and_again_when_it_is_put_again() {
        let cache = Expiring::new(Some(seconds(10)));
        cache.put("a", 1);
        tokio::time::advance(seconds(10)).await;
        assert_eq!(cache.get(&"a").as_deref(), Some(&1), "on time is not late");
        tokio::time::advance(seconds(1)).await;
        assert_eq!(cache.keys(), ["a"], "nobody has looked for it yet");
        assert_eq!((cache.get(&"a"), cache.keys().len()), (None, 0));
        cache.put("a", 2);
        tokio::time::advance(seconds(6)).await;
        cache.put("a", 3);
        tokio::time::advance(seconds(6)).await;
        assert_eq!(cache.get(&"a").as_deref(), Some(&3), "its time began anew");
        assert_eq!(cache.delete(&"a").as_deref(), Some(&3));
        cache.put("a", 4);
        tokio::time::advance(seconds(11)).await;
        assert_eq!(cache.delete(&"a"), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_list_has_what_is_still_there_and_what_replaces_all_has_one_time() {
        let cache = Expiring::new(Some(seconds(10)));
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
    async fn without_a_time_nothing_expires() {
        let cache = Expiring::new(None);
        cache.put("a", 1);
        tokio::time::advance(seconds(1_000_000_000)).await;
        assert_eq!(cache.get(&"a").as_deref(), Some(&1));
    }
}
