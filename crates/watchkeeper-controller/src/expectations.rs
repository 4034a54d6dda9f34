//! Expectations: the writes that the cache must observe before a key is reconciled again (`controller.C3`).

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;

use parking_lot::Mutex;
use watchkeeper_cache::{Informer, Store};
use watchkeeper_client::rest::{WrittenObject, observe_writes};
use watchkeeper_core::{ObjectKey, ResourceVersion};

/// Versions written on behalf of each key, with the store that will observe them. Clones share their state.
#[derive(Clone)]
pub(crate) struct Expectations {
    /// The informers whose objects are tracked.
    informers: Arc<[Informer]>,
    by_key: Arc<Mutex<HashMap<ObjectKey, Vec<Expected>>>>,
}

/// A store, and the version it has to reach.
type Expected = (Store, ResourceVersion);

impl Expectations {
    pub(crate) fn new(informers: impl Iterator<Item = Informer>) -> Self {
        Self { informers: informers.collect(), by_key: Arc::default() }
    }

    /// Runs a call for `key`, and expects each object it writes in the informers that cover the object.
    pub(crate) async fn track<F: Future>(&self, key: &ObjectKey, call: F) -> F::Output {
        let (this, key) = (self.clone(), key.clone());
        let observer = move |object: &WrittenObject| {
            let covering = this.informers.iter().filter(|informer| covers(informer, object));
            covering.for_each(|informer| this.add(&key, informer.store(), object.resource_version.clone()));
        };
        observe_writes(observer, call).await
    }

    pub(crate) fn add(&self, key: &ObjectKey, store: &Store, version: ResourceVersion) {
        self.by_key.lock().entry(key.clone()).or_default().push((store.clone(), version));
    }

    /// Waits until all stores have observed what was written for a key. If the future is dropped, nothing is forgotten.
    pub(crate) async fn fulfilled(&self, key: &ObjectKey) {
        loop {
            let expected = self.by_key.lock().get(key).cloned().unwrap_or_default();
            for (store, version) in &expected {
                store.wait_for(version).await;
            }
            let mut by_key = self.by_key.lock();
            let Some(left) = by_key.get_mut(key) else { return };
            left.drain(..expected.len().min(left.len())); // later ones were added meanwhile, by tasks that a call has spawned
            if left.is_empty() {
                by_key.remove(key);
                return;
            }
        }
    }
}

/// Returns whether an informer is certain to observe an object.
fn covers(informer: &Informer, object: &WrittenObject) -> bool {
    let Some(collection) = informer.collection() else {
        let kind = informer.kind().name();
        return kind.group == object.resource.group && kind.kind == object.kind;
    };
    let namespaces = collection.in_namespaces();
    let is_in_namespace = || {
        let namespace = object.key.namespace();
        namespaces.is_empty() || namespaces.iter().any(|one| namespace == Some(one.as_str()))
    };
    let is_selected = || {
        let selector = collection.label_selector();
        selector.matches(|key| object.labels.get(key).map(String::as_str))
    };
    collection.group_version().group == object.resource.group
        && collection.resource() == object.resource.resource
        && is_in_namespace()
        && is_selected()
        && collection.field_selector().is_everything() // fields of the object are not known here
}

impl std::fmt::Debug for Expectations {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Expectations").field("keys", &self.by_key.lock().len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

    use futures_util::FutureExt as _;
    use watchkeeper_cache::Sink as _;
    use watchkeeper_core::Bookmark;

    use super::*;

    #[test]
    fn a_write_added_while_waiting_is_waited_for_too() {
        let (store, mut writer) = Store::new();
        let mut reach = |version: u64| {
            writer.bookmark(&Bookmark { version: version.into(), initial_events_end: false });
        };
        let (expectations, key) = (Expectations::new(std::iter::empty()), ObjectKey::cluster("a"));
        expectations.add(&key, &store, 5.into());
        let mut fulfilled = Box::pin(expectations.fulfilled(&key));
        assert!(fulfilled.as_mut().now_or_never().is_none());

        expectations.add(&key, &store, 7.into());
        reach(5);
        assert!(fulfilled.as_mut().now_or_never().is_none(), "version 7 has not been observed");
        reach(7);
        assert!(fulfilled.as_mut().now_or_never().is_some());
        assert!(expectations.fulfilled(&key).now_or_never().is_some(), "nothing is left to wait for");
    }
}
