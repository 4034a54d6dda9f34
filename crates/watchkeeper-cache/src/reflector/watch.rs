//! Watch: applies the changes after the copy's version.

use std::cmp::Ordering;
use std::fmt;
use std::time::Duration;

use futures_util::StreamExt as _;
use tokio::task::coop::consume_budget;
use tokio::time::Instant;
use watchkeeper_core::{
    Bookmark, ErrorChain, Object, ResourceVersion, WatchError, WatchEvent, WatchFrom, WatchRequest,
    WatchStream,
};

use super::{Failure, InternalErrorRetry, Next, Observer, Reflector, Relist, State};
use crate::Sink;

/// A watch that ends within this time without an event counts as failed.
const SHORT: Duration = Duration::from_secs(1);

/// After more watches in a row that end within [`SHORT`], the next one is delayed (`reflector.R4`).
const MAX_QUICK_WATCHES: u32 = 1;

/// The times and events of one watch.
pub(super) struct Tally {
    /// Time of the request, not of the response: some proxies hold back the response until the first event.
    pub(super) begun: Instant,
    pub(super) last: Option<Instant>,
    events: u64,
}

/// The end of an open watch.
pub(super) enum WatchEnd {
    /// It timed out or was disconnected, and can be resumed.
    Closed,
    /// It ended with an error.
    Failed(WatchError),
}

impl<S: Sink> Reflector<S> {
    pub(super) async fn watch(&mut self, open: Option<WatchStream>, retry: InternalErrorRetry) -> State {
        let mut tally = Tally::begin();
        let has_initial_events = open.is_none() && self.position.is_unset();
        let mut watch = match open {
            Some(watch) => watch,
            None => {
                let from = WatchFrom::After(self.position.version().clone());
                let timeout = Some(self.watch_timeout());
                let opened = self.source.watch(WatchRequest { from, timeout, bookmarks: true }).await;
                match opened {
                    Ok(watch) => {
                        self.observer.watch_begins();
                        self.progress.record_contact();
                        watch
                    }
                    Err(error) => return self.after_watch_refused(error, retry),
                }
            }
        };
        self.progress.phase(super::Phase::Watching);
        let from = self.position.version().clone();
        let end = self.apply_events(&mut watch, &mut tally, has_initial_events).await;
        drop(watch);
        tally.end(&mut *self.observer);
        self.quick_watches = if tally.is_quick() { self.quick_watches.saturating_add(1) } else { 0 };
        match self.after_watch_end(end, &tally, retry) {
            State::Watching { open, retry } => {
                let pause = self.pause(&tally, &from);
                State::Watching { open, retry }.after(pause)
            }
            state => state,
        }
    }

    /// Returns the delay before the next watch (`reflector.R4`). A server or proxy may end every watch after an event or
    /// two. While the version advances, one watch per second is opened; if it does not, because the same events are sent
    /// again, the delays grow.
    fn pause(&mut self, tally: &Tally, from: &ResourceVersion) -> Duration {
        if self.quick_watches <= MAX_QUICK_WATCHES {
            return Duration::ZERO;
        }
        let reached = self.position.version();
        let advances = from.compare(reached).map_or(from != reached, Ordering::is_lt);
        // Without ordered events, an unchanged version does not mean that nothing was delivered.
        if advances || !self.source.is_ordered() {
            return SHORT.saturating_sub(tally.begun.elapsed());
        }
        let delay = self.delay(None);
        tracing::debug!(
            reflector = self.name,
            ?delay,
            "watches end at once without a newer version; backing off"
        );
        delay
    }

    async fn apply_events(
        &mut self,
        watch: &mut WatchStream,
        tally: &mut Tally,
        has_initial_events: bool,
    ) -> WatchEnd {
        // Initial events are not in version order, so that a watch cannot resume from one of them.
        let mut initial = has_initial_events;
        loop {
            let event = match watch.next().await {
                None => return WatchEnd::Closed,
                Some(Err(error)) => return error.into(),
                Some(Ok(event)) => event,
            };
            consume_budget().await; // so that a source that is always ready cannot starve `stop`
            self.progress.record_contact();
            let version = event.version().clone();
            let is_resumable = self.source.is_ordered() || matches!(event, WatchEvent::Bookmark(_));
            match event {
                WatchEvent::Added(object) | WatchEvent::Modified(object) | WatchEvent::Deleted(object)
                    if !self.accepts(&object) =>
                {
                    continue;
                }
                WatchEvent::Added(object) => self.put(object),
                WatchEvent::Modified(object) => {
                    initial = false;
                    self.put(object);
                }
                WatchEvent::Deleted(object) => {
                    initial = false;
                    match self.apply_transforms(object) {
                        Ok(last) => self.sink.delete(last),
                        Err(head) => self.sink.delete_unseen(&head),
                    }
                }
                WatchEvent::Bookmark(bookmark) => {
                    initial = false;
                    self.sink.bookmark(&bookmark);
                }
            }
            tally.count();
            if is_resumable && !initial {
                self.advance_to(&version);
            }
        }
    }

    fn put(&mut self, object: Object) {
        match self.apply_transforms(object) {
            Ok(object) => self.sink.put(object),
            Err(head) if self.source.is_ordered() => {
                let version = head.resource_version().clone();
                self.sink.bookmark(&Bookmark { version, initial_events_end: false });
            }
            Err(_) => {}
        }
    }

    fn advance_to(&mut self, version: &ResourceVersion) {
        self.position.move_to(version);
        let reached = self.position.version();
        self.progress.version(reached);
        self.observer.version(reached);
    }

    /// Returns the state after the watch could not be opened. If the server is busy or unreachable, the version is still
    /// good, and no relist is needed.
    fn after_watch_refused(&mut self, error: WatchError, retry: InternalErrorRetry) -> State {
        let delay = self.delay(error.status());
        if let WatchError::Expired(_) = error {
            self.position.mark_expired();
        }
        let (state, next) = match error {
            WatchError::ConnectionRefused(_) | WatchError::TooManyRequests(_) => {
                (State::Watching { open: None, retry }, Next::Rewatch)
            }
            _ => {
                self.observer.relists(Relist::after_watch(&error, Relist::WatchRefused));
                (State::Idle, Next::Relist)
            }
        };
        self.report_failure(Failure::Watch(error), next, delay);
        state.after(delay)
    }

    /// Returns the state after an open watch ended.
    fn after_watch_end(&mut self, end: WatchEnd, tally: &Tally, retry: InternalErrorRetry) -> State {
        match end {
            WatchEnd::Closed if !tally.is_short() => State::Watching { open: None, retry },
            WatchEnd::Closed => {
                let reflector = &self.name;
                tracing::warn!(reflector, "watch closed within a second without an event; listing again");
                self.observer.relists(Relist::ShortWatch);
                let delay = self.delay(None);
                State::Idle.after(delay)
            }
            WatchEnd::Failed(error) => {
                let state = self.after_watch_error(&error, retry);
                self.progress.set_failure(Failure::Watch(error));
                state
            }
        }
    }

    /// Returns the state after an open watch ended with an error.
    fn after_watch_error(&mut self, error: &WatchError, mut retry: InternalErrorRetry) -> State {
        let reflector = &self.name;
        match error {
            WatchError::TooManyRequests(status) => {
                let delay = self.delay(Some(&**status));
                return State::Watching { open: None, retry }.after(delay);
            }
            WatchError::Internal(status) if retry.should_retry() => {
                tracing::debug!(reflector, error = %status, "watch failed with an internal error; watching again");
                return State::Watching { open: None, retry };
            }
            // The next list still requests the last version: the server may be able to serve it, even though it cannot
            // be watched from.
            WatchError::Expired(status) => {
                tracing::debug!(reflector, error = %status, "watch expired; listing again");
                self.position.mark_expired();
            }
            error => match error.status() {
                Some(status) => tracing::warn!(reflector, error = %status, "watch failed; listing again"),
                None => {
                    tracing::warn!(reflector, error = %ErrorChain(error), "watch failed; listing again");
                }
            },
        }
        self.observer.relists(Relist::after_watch(error, Relist::WatchFailed));
        let delay = self.delay(error.status());
        State::Idle.after(delay)
    }
}

impl Tally {
    pub(super) fn begin() -> Self {
        Self { begun: Instant::now(), last: None, events: 0 }
    }

    pub(super) fn count(&mut self) {
        self.events += 1;
        self.last = Some(Instant::now());
    }

    pub(super) fn is_short(&self) -> bool {
        self.events == 0 && self.begun.elapsed() < SHORT
    }

    fn is_quick(&self) -> bool {
        self.begun.elapsed() < SHORT
    }

    pub(super) fn end(&self, observer: &mut dyn Observer) {
        observer.watch_ends(self.begun.elapsed(), self.events, self.is_short());
    }
}

impl From<WatchError> for WatchEnd {
    fn from(error: WatchError) -> Self {
        match error {
            WatchError::Interrupted(cause) => {
                tracing::debug!(cause, "watch interrupted");
                Self::Closed
            }
            error => Self::Failed(error),
        }
    }
}

impl fmt::Display for WatchEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("watch closed"),
            Self::Failed(error) => error.fmt(f),
        }
    }
}
