//! Watches: the changes after a version, each revision whole (S2), and bookmarks where there are none.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream;
use tokio::time::{Instant, sleep_until};
use watchkeeper_core::{Bookmark, Status, WatchError, WatchEvent, WatchFrom, WatchRequest, WatchStream};

use super::position::{revision, version};
use super::{Collection, errors};
use crate::{Change, Range, Watch, WatchResponse, Watching};

/// A time that does not come.
const NEVER: Duration = Duration::from_secs(60 * 60 * 24 * 365);

/// A watch while it goes on.
struct Following {
    collection: Arc<Collection>,
    watching: Watching,
    /// Of a revision of which more may come.
    held: Vec<Change>,
    ready: VecDeque<WatchEvent>,
    /// Everything up to here was told.
    reached: i64,
    bookmarks: bool,
    ends: Instant,
    /// When to ask how far etcd has got.
    asks: Instant,
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
        return Err(Status::bad_request("initial events are not to be had of etcd: list first").into());
    }
    let watch = Watch::prefix(collection.prefix.clone()).from(after.saturating_add(1)).previous().progress();
    let watching = collection.etcd.watch(&watch).await.map_err(errors::of_opening)?;
    if watching.created().revision < after {
        // Either this member is behind the others, and will tell when it has caught up; or all of them are behind
        // the version, as when an etcd is made from an old copy, and would tell of nothing for long.
        let newest = Range::prefix(collection.prefix.clone()).count_only();
        let newest = collection.etcd.range(newest).await.map_err(errors::of_opening)?.header.revision;
        if newest < after {
            return Err(errors::too_large(&version(after), &version(newest)).into());
        }
    }
    let now = Instant::now();
    let following = Following {
        watching,
        held: Vec::new(),
        ready: VecDeque::new(),
        reached: after,
        bookmarks: request.bookmarks,
        ends: later(now, request.timeout),
        asks: later(now, Some(collection.progress_every)),
        collection,
    };
    Ok(Box::pin(stream::try_unfold(following, |mut following| async {
        let event = following.next().await?;
        Ok(event.map(|event| (event, following)))
    })))
}

fn later(now: Instant, time: Option<Duration>) -> Instant {
    now + time.unwrap_or(NEVER).min(NEVER)
}

impl Following {
    /// `None` when its time is up, which it never is amid a revision (S2).
    async fn next(&mut self) -> Result<Option<WatchEvent>, WatchError> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                self.asks = later(Instant::now(), Some(self.collection.progress_every));
                return Ok(Some(event));
            }
            tokio::select! {
                biased;
                () = sleep_until(self.ends) => return Ok(None),
                () = sleep_until(self.asks), if self.bookmarks => {
                    self.watching.request_progress();
                    self.asks = later(Instant::now(), Some(self.collection.progress_every));
                }
                response = self.watching.next() => self.take(response.map_err(errors::of_watch)?),
            }
        }
    }

    fn take(&mut self, response: WatchResponse) {
        let is_progress = response.is_progress() && self.held.is_empty();
        self.held.extend(response.changes);
        let amid = self.held.last().filter(|_| response.fragment).map(|last| last.kv.mod_revision);
        let whole = match amid {
            None => self.held.len(),
            Some(revision) => self.held.partition_point(|change| change.kv.mod_revision < revision),
        };
        for change in self.held.drain(..whole) {
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
