//! Shelf: where objects are put and found by several threads at once.

use std::sync::Arc;

use parking_lot::Mutex;
use watchkeeper_cache::store::Writer;
use watchkeeper_cache::{Sink as _, Store};
use watchkeeper_core::{LabelSelector, Object, ObjectKey};

/// By what objects are indexed besides their labels: what stands in for the node of a pod.
pub(super) fn indexed(object: &Object) -> &str {
    object.metadata.label("pod-template-hash").map_or("", |hash| &hash[..2.min(hash.len())])
}

/// Objects that several threads read while one writes.
pub trait Shelf: Send + Sync {
    /// One object.
    fn get(&self, key: &ObjectKey) -> Option<Arc<Object>>;

    /// Those with a label.
    fn with_label(&self, key: &str, value: &str) -> Vec<Arc<Object>>;

    /// Those with a value in the index.
    fn with_value(&self, value: &str) -> Vec<Arc<Object>>;

    /// Goes through all of them, and returns how many bytes they have.
    fn scan(&self) -> usize;

    /// Adds or replaces one. There is one writer.
    fn put(&self, object: Object);

    /// Has these and no others.
    fn replace(&self, objects: Vec<Object>);
}

/// Watchkeeper's store: readers take a snapshot each time.
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
        let added = store.add_index("node", |object: &Object| vec![indexed(object).to_owned()]);
        added.expect("a new store has no indexes");
        Self { store, writer: Mutex::new(writer) }
    }
}

impl Shelf for Snapshots {
    fn get(&self, key: &ObjectKey) -> Option<Arc<Object>> {
        self.store.snapshot().get(key).cloned()
    }

    fn with_label(&self, key: &str, value: &str) -> Vec<Arc<Object>> {
        let selector: LabelSelector = format!("{key}={value}").parse().expect("a label of a pod");
        self.store.snapshot().select(&selector, None)
    }

    fn with_value(&self, value: &str) -> Vec<Arc<Object>> {
        let now = self.store.snapshot();
        now.by_index("node", value).expect("it was added").cloned().collect()
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
