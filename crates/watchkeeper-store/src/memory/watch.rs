//! Watches: a cursor into the history of a collection.
//!
//! Input: the events of a [`CollectionStore`], read under its lock one batch at a time.
//! Output: one watcher, as a stream.
//!
//! Invariants:
//! - `watch.N1`: the wait for the next change is registered before the check that finds nothing, so that no change
//!   falls between the two.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use tokio::sync::futures::OwnedNotified;

use super::collection_store::{CollectionStore, Taken};
use crate::{Event, Revision, Watch, WatchError};

/// A watch on a memory store.
pub(super) struct MemoryWatch {
    collection_store: Arc<CollectionStore>,
    namespace: Option<String>,
    cursor: u64,
    /// Events up to this revision are not wanted, or have been yielded.
    after: Revision,
    /// `watch.N1`.
    changed: Pin<Box<OwnedNotified>>,
    ended: bool,
}

impl MemoryWatch {
    pub(super) fn open(
        collection_store: Arc<CollectionStore>,
        namespace: Option<String>,
        after: Revision,
    ) -> Result<Self, WatchError> {
        let changed = Box::pin(collection_store.changed().clone().notified_owned()); // watch.N1
        let cursor =
            collection_store.cursor_after(after).map_err(|oldest| WatchError::Compacted { after, oldest })?;
        Ok(Self { collection_store, namespace, cursor, after, changed, ended: false })
    }

    fn take(&self) -> Taken {
        self.collection_store.take(self.cursor, |event: &Event| {
            event.revision() > self.after
                && self
                    .namespace
                    .as_deref()
                    .is_none_or(|namespace| event.key().namespace() == Some(namespace))
        })
    }
}

impl Stream for MemoryWatch {
    type Item = Result<Vec<Arc<Event>>, WatchError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        while !this.ended {
            match this.take() {
                Taken::Events(events, cursor) => {
                    this.cursor = cursor;
                    if let Some(last) = events.last() {
                        this.after = last.revision();
                        return Poll::Ready(Some(Ok(events)));
                    }
                }
                Taken::Nothing => {
                    ready!(this.changed.as_mut().poll(context));
                    this.changed.set(this.collection_store.changed().clone().notified_owned()); // watch.N1
                }
                Taken::Lagged(oldest) => {
                    this.ended = true;
                    return Poll::Ready(Some(Err(WatchError::Compacted { after: this.after, oldest })));
                }
            }
        }
        Poll::Ready(None)
    }
}

impl Watch for MemoryWatch {
    fn progress(&self) -> Revision {
        self.collection_store.progress(self.cursor).map_or(self.after, |seen| seen.max(self.after))
    }
}
