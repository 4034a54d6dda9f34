//! Writer: the write side of a store.

use std::sync::Arc;

use watchkeeper_core::{Bookmark, Object, ObjectKey, ObjectMeta, ResourceVersion};

use super::Shared;
use super::stage::{Stage, is_same};
use super::state::State;
use crate::delta::Delta;
use crate::sink::Sink;

/// The write side of a [`Store`](super::Store); there is one for each store.
///
/// Dropping it closes the store: subscriptions end, and the objects stay readable.
#[derive(Debug)]
pub struct Writer {
    shared: Arc<Shared>,
    stage: Stage,
    /// Whether an object's version is also a version of the whole store.
    is_ordered: bool,
}

impl Writer {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, stage: Stage::default(), is_ordered: true }
    }

    /// Takes the store's version from lists and bookmarks only, because objects do not arrive in version order.
    #[must_use]
    pub fn unordered(mut self) -> Self {
        self.is_ordered = false;
        self
    }

    fn remove(&self, last: &ObjectMeta, delta: impl FnOnce(Arc<Object>) -> Delta<Arc<Object>>) {
        let mut subscribers = self.shared.subscribers.lock();
        let old = {
            let mut shared = self.shared.state.lock();
            let state = Arc::make_mut(&mut shared);
            if self.is_ordered {
                state.version = last.resource_version().clone();
            }
            state.remove(last.key())
        };
        match old {
            Some(old) => self.notify(&mut subscribers, &[delta(old)]),
            None => self.notify(&mut subscribers, &[]),
        }
    }

    fn notify(&self, subscribers: &mut super::Subscribers, deltas: &[Delta<Arc<Object>>]) {
        subscribers.notify(deltas);
        self.shared.changed.notify_waiters();
    }
}

impl Sink for Writer {
    fn begin(&mut self) {
        self.stage = Stage::default();
    }

    fn stage(&mut self, object: Object) {
        self.stage.add(object, &self.shared.state.lock());
    }

    fn stage_as_it_was(&mut self, key: &ObjectKey) {
        self.stage.add_as_it_was(key, &self.shared.state.lock());
    }

    fn unstage(&mut self, key: &ObjectKey) {
        self.stage.remove(key);
    }

    fn commit(&mut self, version: ResourceVersion) {
        let mut subscribers = self.shared.subscribers.lock();
        let is_first = !std::mem::replace(&mut subscribers.is_ready, true);
        let mut next = State::clone(&self.shared.state.lock());
        let deltas = std::mem::take(&mut self.stage).commit(&mut next, version, is_first);
        let before = std::mem::replace(&mut *self.shared.state.lock(), Arc::new(next));
        self.notify(&mut subscribers, &deltas);
        if is_first {
            for subscriber in subscribers.list.iter().filter_map(std::sync::Weak::upgrade) {
                subscriber.ready();
            }
        }
        drop(subscribers);
        drop(before); // frees replaced objects outside the lock
    }

    fn put(&mut self, object: Object) {
        let mut subscribers = self.shared.subscribers.lock();
        let new = Arc::new(object);
        let old = {
            let mut shared = self.shared.state.lock();
            let state = Arc::make_mut(&mut shared);
            if self.is_ordered {
                state.version = new.metadata.resource_version().clone();
            }
            state.put(&new)
        };
        match old {
            None => self.notify(&mut subscribers, &[Delta::Added { new, initial: false }]),
            Some(old) if is_same(&old, &new) => self.notify(&mut subscribers, &[]),
            Some(old) if old.metadata.uid() == new.metadata.uid() => {
                self.notify(&mut subscribers, &[Delta::Updated { old, new }]);
            }
            Some(old) => {
                self.notify(&mut subscribers, &[Delta::missed(old), Delta::Added { new, initial: false }]);
            }
        }
    }

    fn delete(&mut self, last: Object) {
        let last = Arc::new(last);
        self.remove(&last.metadata, |old| Delta::Deleted { old, last: Some(last.clone()) });
    }

    fn delete_unseen(&mut self, last: &ObjectMeta) {
        self.remove(last, Delta::missed);
    }

    fn bookmark(&mut self, bookmark: &Bookmark) {
        Arc::make_mut(&mut self.shared.state.lock()).version = bookmark.version.clone();
        self.shared.changed.notify_waiters();
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let mut subscribers = self.shared.subscribers.lock();
        subscribers.is_closed = true;
        for subscriber in subscribers.list.drain(..).filter_map(|subscriber| subscriber.upgrade()) {
            subscriber.close();
        }
    }
}
