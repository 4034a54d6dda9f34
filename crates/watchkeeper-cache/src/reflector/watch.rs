//! Watching: the changes after the state that the copy has.

use std::cmp::Ordering;
use std::fmt;
use std::time::Duration;

use futures_util::StreamExt as _;
use tokio::task::coop::consume_budget;
use tokio::time::Instant;
use watchkeeper_core::{
    Bookmark, Object, ResourceVersion, WatchError, WatchEvent, WatchFrom, WatchRequest, WatchStream,
};

use super::{Failure, Next, Observer, Patience, Reflector, Relist, State};
use crate::Sink;

/// A watch that is over sooner and brought nothing was none.
const SHORT: Duration = Duration::from_secs(1);

/// After more watches in a row that were over within [`SHORT`], the next one is not opened at once.
const QUICK_WATCHES: u32 = 1;

/// What a watch has brought so far.
pub(super) struct Tally {
    /// Before it was asked for: some proxies hold back the answer until the first event.
    pub(super) begun: Instant,
    pub(super) last: Option<Instant>,
    events: u64,
}

/// How a watch that was open has ended.
pub(super) enum Ending {
    /// Its time was up, or the connection broke: what comes next can be asked for.
    Closed,
    Failed(WatchError),
}

impl<S: Sink> Reflector<S> {
    pub(super) async fn watch(&mut self, open: Option<WatchStream>, patience: Patience) -> State {
        let mut tally = Tally::begin();
        let from_nowhere = open.is_none() && self.position.is_nowhere();
        let mut watch = match open {
            Some(watch) => watch,
            None => {
                let from = WatchFrom::After(self.position.version().clone());
                let timeout = Some(self.watch_timeout());
                let opened = self.source.watch(WatchRequest { from, timeout, bookmarks: true }).await;
                match opened {
                    Ok(watch) => {
                        self.last_failure.clear();
                        self.observer.watch_begins();
                        self.progress.contact();
                        watch
                    }
                    Err(error) => return self.watch_refused(error, patience),
                }
            }
        };
        self.progress.phase(super::Phase::Watching);
        let from = self.position.version().clone();
        let ending = self.changes(&mut watch, &mut tally, from_nowhere).await;
        drop(watch);
        tally.end(&mut *self.observer);
        self.quick_watches = if tally.is_quick() { self.quick_watches.saturating_add(1) } else { 0 };
        match self.watch_ended(ending, &tally, patience) {
            State::Watching { open, patience } => {
                let pause = self.pause(&tally, &from);
                State::Watching { open, patience }.after(pause)
            }
            state => state,
        }
    }

    /// Returns how long to wait before the next watch (R4). A server, or a proxy, may end every watch after an event
    /// or two. As long as the version moves forward, one watch per second is opened; if it does not, because the same
    /// events come again and again, the delays grow.
    fn pause(&mut self, tally: &Tally, from: &ResourceVersion) -> Duration {
        if self.quick_watches <= QUICK_WATCHES {
            return Duration::ZERO;
        }
        let reached = self.position.version();
        let moves_forward = from.compare(reached).map_or(from != reached, Ordering::is_lt);
        // Where events are not ordered, the version says little.
        match moves_forward || !self.source.is_ordered() {
            true => SHORT.saturating_sub(tally.begun.elapsed()),
            false => {
                let delay = self.delay(None);
                tracing::debug!(
                    reflector = self.name,
                    ?delay,
                    "watches end at once without a newer version; backing off"
                );
                delay
            }
        }
    }

    async fn changes(&mut self, watch: &mut WatchStream, tally: &mut Tally, from_nowhere: bool) -> Ending {
        // Initial events come in no order of versions: none of them is a place to go on from.
        let mut initial = from_nowhere;
        loop {
            let event = match watch.next().await {
                None => return Ending::Closed,
                Some(Err(error)) => return error.into(),
                Some(Ok(event)) => event,
            };
            consume_budget().await; // a source that is always ready must not keep `stop` from being seen
            self.progress.contact();
            let version = event.version().clone();
            let tells_version = self.source.is_ordered() || matches!(event, WatchEvent::Bookmark(_));
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
                    match self.transformed(object) {
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
            if tells_version && !initial {
                self.reach(&version);
            }
        }
    }

    fn put(&mut self, object: Object) {
        match self.transformed(object) {
            Ok(object) => self.sink.put(object),
            Err(head) if self.source.is_ordered() => {
                let version = head.resource_version().clone();
                self.sink.bookmark(&Bookmark { version, initial_events_end: false });
            }
            Err(_) => {}
        }
    }

    fn reach(&mut self, version: &ResourceVersion) {
        self.position.move_to(version);
        let reached = self.position.version();
        self.progress.version(reached);
        self.observer.version(reached);
    }

    /// The watch could not be opened. A server that is busy or away has not forgotten anything.
    fn watch_refused(&mut self, error: WatchError, patience: Patience) -> State {
        self.progress.failed(&error);
        let delay = self.delay(error.status());
        if let WatchError::Expired(_) = error {
            self.position.has_expired();
        }
        let (state, next) = match error {
            WatchError::ConnectionRefused(_) | WatchError::TooManyRequests(_) => {
                (State::Watching { open: None, patience }, Next::Rewatch)
            }
            _ => {
                self.observer.relists(Relist::after_watch(&error, Relist::WatchRefused));
                (State::Idle, Next::Relist)
            }
        };
        self.failed(Failure::Watch(error), next, delay);
        state.after(delay)
    }

    fn watch_ended(&mut self, ending: Ending, tally: &Tally, mut patience: Patience) -> State {
        let reflector = &self.name;
        let error = match ending {
            Ending::Closed if !tally.is_short() => return State::Watching { open: None, patience },
            Ending::Closed => {
                tracing::warn!(reflector, "a watch was closed at once, and brought nothing");
                self.observer.relists(Relist::ShortWatch);
                let delay = self.delay(None);
                return State::Idle.after(delay);
            }
            Ending::Failed(error) => error,
        };
        self.progress.failed(&error);
        match &error {
            WatchError::TooManyRequests(status) => {
                let delay = self.delay(Some(&**status));
                return State::Watching { open: None, patience }.after(delay);
            }
            WatchError::Internal(status) if patience.bears() => {
                tracing::debug!(reflector, error = %status, "watching again after an internal error");
                return State::Watching { open: None, patience };
            }
            // The next list is of the last version: that it cannot be watched from does not mean that the
            // server has nothing as new.
            WatchError::Expired(status) => {
                tracing::debug!(reflector, error = %status, "a watch has expired");
                self.position.has_expired();
            }
            error => match error.status() {
                Some(status) => tracing::warn!(reflector, error = %status, "a watch has failed"),
                None => tracing::warn!(reflector, %error, "a watch has failed"),
            },
        }
        self.observer.relists(Relist::after_watch(&error, Relist::WatchFailed));
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

impl From<WatchError> for Ending {
    fn from(error: WatchError) -> Self {
        match error {
            WatchError::Interrupted(cause) => {
                tracing::debug!(cause, "a watch broke off");
                Self::Closed
            }
            error => Self::Failed(error),
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("the watch was closed"),
            Self::Failed(error) => error.fmt(f),
        }
    }
}
