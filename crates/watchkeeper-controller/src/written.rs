//! Expectations: the writes that the cache must observe before a key is reconciled again (`controller.C3`).

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use watchkeeper_cache::Store;
use watchkeeper_core::{ObjectKey, ResourceVersion};

/// Versions written on behalf of each key, with the store that will observe them. Clones share their state.
#[derive(Debug, Clone, Default)]
pub(crate) struct Written {
    by_key: Arc<Mutex<HashMap<ObjectKey, Vec<Expected>>>>,
}

/// A store, and the version it has to reach.
type Expected = (Store, ResourceVersion);

impl Written {
    pub(crate) fn add(&self, key: &ObjectKey, store: &Store, version: ResourceVersion) {
        self.by_key.lock().entry(key.clone()).or_default().push((store.clone(), version));
    }

    /// Waits until all stores have observed what was written for a key. If the future is dropped, nothing is
    /// forgotten.
    pub(crate) async fn seen(&self, key: &ObjectKey) {
        let expected = self.by_key.lock().get(key).cloned().unwrap_or_default();
        for (store, version) in &expected {
            store.wait_for(version).await;
        }
        self.by_key.lock().remove(key);
    }
}
