//! Indexer: a thread-safe indexed map of caller-owned objects, without a server.

use std::sync::Arc;

use watchkeeper_core::ObjectKey;

use super::index::{Index, IndexExists, UnknownIndex};
use super::table::Table;
use crate::lock::Mutex;

/// A thread-safe map of objects of any type, with secondary indexes; client-go's `cache.Indexer`.
///
/// All methods take `&self`. Lists are built from a copy-on-write snapshot, outside the lock. The key and index
/// functions must be deterministic.
///
/// ```
/// use watchkeeper_cache::Indexer;
/// use watchkeeper_core::ObjectKey;
///
/// struct Pod {
///     namespace: &'static str,
///     name: &'static str,
///     node: &'static str,
/// }
///
/// let pods = Indexer::new(|pod: &Pod| ObjectKey::namespaced(pod.namespace, pod.name));
/// pods.add_index("node", |pod| vec![pod.node.to_owned()])?;
/// pods.add_index("namespace", |pod| vec![pod.namespace.to_owned()])?;
/// pods.put(Pod { namespace: "shop", name: "web-0", node: "n1" });
/// pods.put(Pod { namespace: "shop", name: "web-1", node: "n2" });
/// pods.put(Pod { namespace: "bank", name: "db-0", node: "n1" });
///
/// let on_n1: Vec<_> = pods.by_index("node", "n1")?.iter().map(|pod| pod.name).collect();
/// assert_eq!(on_n1, ["db-0", "web-0"]);
/// assert_eq!(pods.by_index("namespace", "shop")?.len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Indexer<T, F> {
    key: F,
    table: Mutex<Table<T>>,
}

impl<T, F: Fn(&T) -> ObjectKey> Indexer<T, F> {
    /// Creates an empty indexer. `key` returns an object's key.
    pub fn new(key: F) -> Self {
        Self { key, table: Mutex::default() }
    }

    /// Adds an index, and fills it from the objects already present.
    ///
    /// # Errors
    /// If an index with this name exists.
    pub fn add_index(
        &self,
        name: &str,
        values: impl Fn(&T) -> Vec<String> + Send + Sync + 'static,
    ) -> Result<(), IndexExists> {
        self.table.lock().add_index(Index::new(name, values))
    }

    /// Inserts an object, and returns the one it replaces.
    pub fn put(&self, object: T) -> Option<Arc<T>> {
        let key = (self.key)(&object);
        self.table.lock().put(&key, &Arc::new(object))
    }

    /// Removes and returns the object with this key.
    pub fn delete(&self, key: &ObjectKey) -> Option<Arc<T>> {
        self.table.lock().remove(key)
    }

    /// Atomically replaces all objects. Where two have the same key, the last one wins.
    pub fn replace(&self, objects: impl IntoIterator<Item = T>) {
        let keyed: std::collections::BTreeMap<_, _> =
            objects.into_iter().map(|object| ((self.key)(&object), Arc::new(object))).collect();
        let mut table = self.table.lock(); // until the swap: an index added in between would be lost
        let mut next = table.clone();
        let gone: Vec<_> = next.objects().iter().map(|(key, _)| key.clone()).collect();
        for key in gone.iter().filter(|key| !keyed.contains_key(key)) {
            next.remove(key);
        }
        for (key, object) in keyed {
            next.put(&key, &object);
        }
        let before = std::mem::replace(&mut *table, next);
        drop(table);
        drop(before); // frees replaced objects outside the lock
    }

    /// Returns the object with this key.
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<T>> {
        self.table.lock().objects().get(key).cloned()
    }

    /// Returns all objects, ordered by namespace and name.
    pub fn list(&self) -> Vec<Arc<T>> {
        let now = self.table.lock().clone();
        now.objects().iter().map(|(_, object)| object.clone()).collect()
    }

    /// Returns the objects with this index value, ordered by namespace and name.
    ///
    /// # Errors
    /// If the index does not exist.
    pub fn by_index(&self, index: &str, value: &str) -> Result<Vec<Arc<T>>, UnknownIndex> {
        let now = self.table.lock().clone();
        Ok(now.by_index(index, value)?.cloned().collect())
    }

    /// Returns all values of an index, in order.
    ///
    /// # Errors
    /// If the index does not exist.
    pub fn index_values(&self, index: &str) -> Result<Vec<String>, UnknownIndex> {
        let now = self.table.lock().clone();
        Ok(now.index_values(index)?.map(str::to_owned).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(objects: &[Arc<(u8, Vec<&'static str>)>]) -> Vec<u8> {
        objects.iter().map(|object| object.0).collect()
    }

    #[test]
    fn an_index_follows_updates_deletions_and_replacements() {
        let indexer =
            Indexer::new(|object: &(u8, Vec<&'static str>)| ObjectKey::cluster(&object.0.to_string()));
        let users = |object: &(u8, Vec<&'static str>)| object.1.iter().map(ToString::to_string).collect();
        indexer.add_index("early", users).unwrap();
        assert!(indexer.put((1, vec!["ernie", "bert"])).is_none());
        indexer.put((2, vec!["bert", "oscar"]));
        indexer.put((3, vec!["ernie", "elmo"]));
        indexer.add_index("late", users).unwrap();
        for index in ["early", "late"] {
            assert_eq!(names(&indexer.by_index(index, "bert").unwrap()), [1, 2]);
        }
        assert_eq!(indexer.put((1, vec!["elmo"])).unwrap().1, ["ernie", "bert"]);
        indexer.delete(&ObjectKey::cluster("3"));
        indexer.put((2, vec!["bert", "oscar", "elmo"]));
        for index in ["early", "late"] {
            assert_eq!(names(&indexer.by_index(index, "elmo").unwrap()), [1, 2]);
            assert_eq!(names(&indexer.by_index(index, "ernie").unwrap()), [0; 0]);
            assert_eq!(indexer.index_values(index).unwrap(), ["bert", "elmo", "oscar"]);
        }
        indexer.replace([(2, vec!["oscar"]), (9, vec!["ernie"]), (9, vec!["bert"])]);
        assert_eq!(names(&indexer.list()), [2, 9]);
        assert_eq!(indexer.index_values("early").unwrap(), ["bert", "oscar"]);
        assert_eq!(indexer.get(&ObjectKey::cluster("9")).unwrap().1, ["bert"]);
        assert_eq!(indexer.by_index("none", "x").unwrap_err().known, ["early", "late"]);
    }
}
