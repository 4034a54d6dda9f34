//! Watches: the changes after a version, in whole revisions (`source.S2`), and bookmarks while idle.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream;
use tokio::time::{Instant, sleep_until};
use watchkeeper_core::{Bookmark, Status, WatchError, WatchEvent, WatchFrom, WatchRequest, WatchStream};

use super::position::{revision, version};
use super::{Collection, errors};
use crate::{Change, Range, Watch, WatchResponse, Watcher};

/// Longer than any watch lasts.
const NEVER: Duration = Duration::from_secs(60 * 60 * 24 * 365);

/// A running watch.
struct WatchState {
    collection: Arc<Collection>,
    watcher: Watcher,
    /// Changes of a revision that may be incomplete.
    held: Vec<Change>,
    ready: VecDeque<WatchEvent>,
    /// Everything up to this revision was delivered.
    reached: i64,
    bookmarks: bool,
    ends_at: Instant,
    /// When to request progress.
    progress_at: Instant,
}

pub(super) async fn open(
    collection: Arc<Collection>,
    request: WatchRequest,
) -> Result<WatchStream, WatchError> {
    let after = match &request.from {
        WatchFrom::After(version) => revision(version)?,
        WatchFrom::InitialEvents { .. } => 0,
    };
    if after == 0 {
        return Err(Status::bad_request("initial events are not supported by etcd: list first").into());
    }
    let watch = Watch::prefix(collection.prefix.clone()).from(after.saturating_add(1)).previous().progress();
    let watcher = collection.etcd.watch(&watch).await.map_err(errors::open_error)?;
    if watcher.created().revision < after {
        // Either this member lags behind the others, and will catch up; or the whole cluster is behind the version,
        // as after a restore from an old backup, and the watch would be silent for long.
        let newest = Range::prefix(collection.prefix.clone()).count_only();
        let newest = collection.etcd.range(newest).await.map_err(errors::open_error)?.header.revision;
        if newest < after {
            return Err(errors::too_large(&version(after), &version(newest)).into());
        }
    }
    let now = Instant::now();
    let state = WatchState {
        watcher,
        held: Vec::new(),
        ready: VecDeque::new(),
        reached: after,
        bookmarks: request.bookmarks,
        ends_at: later(now, request.timeout),
        progress_at: later(now, Some(collection.progress_every)),
        collection,
    };
    Ok(Box::pin(stream::try_unfold(state, |mut state| async {
        let event = state.next().await?;
        Ok(event.map(|event| (event, state)))
    })))
}

fn later(now: Instant, time: Option<Duration>) -> Instant {
    now + time.unwrap_or(NEVER).min(NEVER)
}

impl WatchState {
    /// Returns the next event; `None` at the timeout, which never splits a revision (`source.S2`).
    async fn next(&mut self) -> Result<Option<WatchEvent>, WatchError> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                self.progress_at = later(Instant::now(), Some(self.collection.progress_every));
                return Ok(Some(event));
            }
            tokio::select! {
                biased;
                () = sleep_until(self.ends_at) => return Ok(None),
                () = sleep_until(self.progress_at), if self.bookmarks => {
                    self.watcher.request_progress();
                    self.progress_at = later(Instant::now(), Some(self.collection.progress_every));
                }
                response = self.watcher.next() => self.take(response.map_err(errors::watch_error)?),
            }
        }
    }

    fn take(&mut self, response: WatchResponse) {
        let is_progress = response.is_progress() && self.held.is_empty();
        self.held.extend(response.changes);
        let incomplete = self.held.last().filter(|_| response.fragment).map(|last| last.kv.mod_revision);
        let complete = match incomplete {
            None => self.held.len(),
            Some(revision) => self.held.partition_point(|change| change.kv.mod_revision < revision),
        };
        for change in self.held.drain(..complete) {
            self.reached = self.reached.max(change.kv.mod_revision);
            self.ready.extend(self.collection.event(&change));
        }
        if is_progress && self.bookmarks && response.header.revision >= self.reached {
            self.reached = response.header.revision;
            let bookmark = Bookmark { version: version(self.reached), initial_events_end: false };
            self.ready.push_back(WatchEvent::Bookmark(bookmark));
        }
    }
}
