//! Watches: a cursor into the history of a shelf.
//!
//! From: the events of a [`Shelf`], read under its lock a batch at a time.
//! To:   one watcher, as a stream.
//!
//! - N1: the wait for the next change begins before the look that finds nothing, so that no change
//!   falls between the two.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use tokio::sync::futures::OwnedNotified;

use super::shelf::{Shelf, Taken};
use crate::store::{Event, Revision, Watch, WatchError};

/// A watch on a memory store.
pub(super) struct MemoryWatch {
    shelf: Arc<Shelf>,
    namespace: Option<String>,
    cursor: u64,
    /// Where it has got to: events up to here are not wanted, or have been yielded.
    after: Revision,
    /// N1.
    changed: Pin<Box<OwnedNotified>>,
    ended: bool,
}

impl MemoryWatch {
    pub(super) fn open(
        shelf: Arc<Shelf>,
        namespace: Option<String>,
        after: Revision,
    ) -> Result<Self, WatchError> {
        let changed = Box::pin(shelf.changed().clone().notified_owned()); // N1
        let cursor = shelf.cursor_after(after).map_err(|oldest| WatchError::Compacted { after, oldest })?;
        Ok(Self { shelf, namespace, cursor, after, changed, ended: false })
    }

    fn take(&self) -> Taken {
        self.shelf.take(self.cursor, |event: &Event| {
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
                    this.changed.set(this.shelf.changed().clone().notified_owned()); // N1
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
        self.shelf.progress(self.cursor).map_or(self.after, |seen| seen.max(self.after))
    }
}
