//! Written: what the cache has to have seen before a key is looked at again (C3).

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use watchkeeper_cache::Store;
use watchkeeper_core::{ObjectKey, ResourceVersion};

/// The versions that were written for each key, by the store that will have them. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Written {
    by_key: Arc<Mutex<HashMap<ObjectKey, Vec<Expected>>>>,
}

/// Which version which store will have.
type Expected = (Store, ResourceVersion);

impl Written {
    pub(crate) fn add(&self, key: &ObjectKey, store: &Store, version: ResourceVersion) {
        self.by_key.lock().entry(key.clone()).or_default().push((store.clone(), version));
    }

    /// Waits until all stores have what was written for a key. Dropped half-way, all of it is waited for again.
    pub(crate) async fn seen(&self, key: &ObjectKey) {
        let expected = self.by_key.lock().get(key).cloned().unwrap_or_default();
        for (store, version) in &expected {
            store.wait_for(version).await;
        }
        self.by_key.lock().remove(key);
    }
}
