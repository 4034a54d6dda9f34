//! Writer: the one who changes a store.

use std::sync::Arc;

use watchkeeper_core::{Bookmark, Object, ObjectKey, ObjectMeta, ResourceVersion};

use super::Shared;
use super::stage::{Stage, is_same};
use super::state::State;
use crate::delta::Delta;
use crate::sink::Sink;

/// Writes to a [`Store`](super::Store).
#[derive(Debug)]
pub struct Writer {
    shared: Arc<Shared>,
    stage: Stage,
    /// Whether the version of an object is one of the whole store.
    is_ordered: bool,
}

impl Writer {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, stage: Stage::default(), is_ordered: true }
    }

    /// Objects come in no order of versions: only lists and bookmarks say which version the store has.
    #[must_use]
    pub fn unordered(mut self) -> Self {
        self.is_ordered = false;
        self
    }

    fn remove(&self, last: &ObjectMeta, delta: impl FnOnce(Arc<Object>) -> Delta<Arc<Object>>) {
        let mut telling = self.shared.telling.lock();
        let old = {
            let mut shared = self.shared.state.lock();
            let state = Arc::make_mut(&mut shared);
            if self.is_ordered {
                state.version = last.resource_version().clone();
            }
            state.remove(last.key())
        };
        match old {
            Some(old) => self.tell(&mut telling, &[delta(old)]),
            None => self.tell(&mut telling, &[]),
        }
    }

    fn tell(&self, telling: &mut super::Telling, deltas: &[Delta<Arc<Object>>]) {
        telling.tell(deltas);
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
        let mut telling = self.shared.telling.lock();
        let is_first = !std::mem::replace(&mut telling.is_synced, true);
        let mut next = State::clone(&self.shared.state.lock());
        let deltas = std::mem::take(&mut self.stage).commit(&mut next, version, is_first);
        let before = std::mem::replace(&mut *self.shared.state.lock(), Arc::new(next));
        self.tell(&mut telling, &deltas);
        if is_first {
            for subscriber in telling.subscribers.iter().filter_map(std::sync::Weak::upgrade) {
                subscriber.synced();
            }
        }
        drop(telling);
        drop(before); // what nobody needs any more is freed while nobody waits
    }

    fn put(&mut self, object: Object) {
        let mut telling = self.shared.telling.lock();
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
            None => self.tell(&mut telling, &[Delta::Added { new, initial: false }]),
            Some(old) if is_same(&old, &new) => self.tell(&mut telling, &[]),
            Some(old) if old.metadata.uid() == new.metadata.uid() => {
                self.tell(&mut telling, &[Delta::Updated { old, new }]);
            }
            Some(old) => {
                self.tell(&mut telling, &[Delta::missed(old), Delta::Added { new, initial: false }]);
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

/// Without its writer a store stays as it is.
impl Drop for Writer {
    fn drop(&mut self) {
        let mut telling = self.shared.telling.lock();
        telling.has_ended = true;
        for subscriber in telling.subscribers.drain(..).filter_map(|subscriber| subscriber.upgrade()) {
            subscriber.ended();
        }
    }
}
