//! Shared store: objects that several threads read while one writes.

use std::sync::Arc;

use parking_lot::Mutex;
use watchkeeper_cache::store::Writer;
use watchkeeper_cache::{Sink as _, Store};
use watchkeeper_core::{LabelSelector, Object, ObjectKey};

/// The index function beside the label index. Stands in for an index of pods by node.
pub(super) fn index_value(object: &Object) -> &str {
    object.metadata.label("pod-template-hash").map_or("", |hash| &hash[..2.min(hash.len())])
}

/// A store that several threads read while one writes.
pub trait SharedStore: Send + Sync {
    /// Returns the object with this key.
    fn get(&self, key: &ObjectKey) -> Option<Arc<Object>>;

    /// Lists the objects with this label.
    fn with_label(&self, key: &str, value: &str) -> Vec<Arc<Object>>;

    /// Lists the objects with this value in the index.
    fn with_value(&self, value: &str) -> Vec<Arc<Object>>;

    /// Iterates over all objects, and returns the total length of their bodies.
    fn scan(&self) -> usize;

    /// Adds or replaces an object. Called by a single writer.
    fn put(&self, object: Object);

    /// Replaces all objects.
    fn replace(&self, objects: Vec<Object>);
}

/// Watchkeeper's store. Every read takes a snapshot.
pub struct Snapshots {
    store: Store,
    writer: Mutex<Writer>,
}

impl std::fmt::Debug for Snapshots {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshots").field("store", &self.store).finish_non_exhaustive()
    }
}

impl Default for Snapshots {
    fn default() -> Self {
        let (store, writer) = Store::new();
        let added = store.add_index("node", |object: &Object| vec![index_value(object).to_owned()]);
        added.expect("a new store has no indexes");
        Self { store, writer: Mutex::new(writer) }
    }
}

impl SharedStore for Snapshots {
    fn get(&self, key: &ObjectKey) -> Option<Arc<Object>> {
        self.store.snapshot().get(key).cloned()
    }

    fn with_label(&self, key: &str, value: &str) -> Vec<Arc<Object>> {
        let selector: LabelSelector = format!("{key}={value}").parse().expect("a label of a pod");
        self.store.snapshot().select(&selector, None)
    }

    fn with_value(&self, value: &str) -> Vec<Arc<Object>> {
        let snapshot = self.store.snapshot();
        snapshot.by_index("node", value).expect("the index was added").cloned().collect()
    }

    fn scan(&self) -> usize {
        self.store.snapshot().iter().map(|object| object.encoded.body.len()).sum()
    }

    fn put(&self, object: Object) {
        self.writer.lock().put(object);
    }

    fn replace(&self, objects: Vec<Object>) {
        let mut writer = self.writer.lock();
        let version = objects.last().map(|last| last.metadata.resource_version().clone()).unwrap_or_default();
        writer.begin();
        for object in objects {
            writer.stage(object);
        }
        writer.commit(version);
    }
}
