//! Streaming list (WatchList): fetches the whole state as the initial events of a watch, which then continues.

use std::pin::pin;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::{Either, select};
use tokio::task::coop::consume_budget;
use tokio::time::{Instant, sleep};
use watchkeeper_core::{ResourceVersion, WatchError, WatchEvent, WatchFrom, WatchRequest, WatchStream};

use super::watch::{Tally, WatchEnd};
use super::{Failure, Next, Reflector, Relist, State};
use crate::Sink;

/// Interval of the check for stalled initial events.
const TICK: Duration = Duration::from_secs(10);

/// The largest number of restarts in one round; then the reflector falls back to a list.
const MAX_RESTARTS: u32 = 3;

impl<S: Sink> Reflector<S> {
    pub(super) async fn stream(&mut self, restarts: u32) -> State {
        let from = WatchFrom::InitialEvents { not_older_than: self.position.stream_from() };
        let timeout = Some(self.watch_timeout());
        let mut tally = Tally::begin();
        self.observer.list_begins();
        self.sink.begin();
        self.progress.list_begins();
        let opened = self.source.watch(WatchRequest { from, timeout, bookmarks: true }).await;
        let mut watch = match opened {
            Ok(watch) => watch,
            Err(error) => return self.after_stream_refused(error, restarts),
        };
        self.observer.watch_begins();
        self.progress.record_contact();
        match self.initial_events(&mut watch, &mut tally).await {
            Ok(version) => self.commit(&version, tally.begun.elapsed(), Some(watch)),
            Err(end) => {
                drop(watch);
                tally.end(&mut *self.observer);
                self.after_stream_end(end, &tally, restarts)
            }
        }
    }

    /// Stages events up to the bookmark that ends the initial events. Returns its version.
    async fn initial_events(
        &mut self,
        watch: &mut WatchStream,
        tally: &mut Tally,
    ) -> Result<ResourceVersion, WatchEnd> {
        let mut tick = pin!(sleep(TICK));
        loop {
            let event = match select(watch.next(), tick.as_mut()).await {
                Either::Left((event, _)) => event,
                Either::Right(((), _)) => {
                    let last = tally.last.map(|last| last.elapsed());
                    if last.is_none_or(|last| last >= TICK) {
                        self.observer.stalled(&self.name, tally.begun.elapsed(), last);
                    }
                    tick.as_mut().reset(Instant::now() + TICK);
                    continue;
                }
            };
            consume_budget().await; // so that a source that is always ready cannot starve `stop`
            if let Some(Ok(_)) = &event {
                self.progress.record_contact();
            }
            match event {
                None => return Err(WatchEnd::Closed),
                Some(Err(error)) => return Err(error.into()),
                Some(Ok(WatchEvent::Added(object) | WatchEvent::Modified(object))) => {
                    if self.stage(object) {
                        tally.count();
                    }
                }
                Some(Ok(WatchEvent::Deleted(object))) => {
                    if self.accepts(&object) {
                        tally.count();
                        self.sink.unstage(object.metadata.key());
                    }
                }
                Some(Ok(WatchEvent::Bookmark(bookmark))) => {
                    tally.count();
                    if bookmark.initial_events_end {
                        return Ok(bookmark.version);
                    }
                }
            }
        }
    }

    /// Returns the state after the watch could not be opened.
    fn after_stream_refused(&mut self, error: WatchError, restarts: u32) -> State {
        self.observer.relists(Relist::after_watch(&error, Relist::InitialEvents));
        let (state, next, after) = match &error {
            WatchError::ConnectionRefused(_) | WatchError::TooManyRequests(_) => {
                let delay = self.delay(error.status());
                (State::Streaming { restarts }.after(delay), Next::Relist, delay)
            }
            WatchError::Expired(_) | WatchError::TooLarge(_) => {
                self.position.mark_unavailable();
                self.restart(restarts)
            }
            _ => (State::Listing, Next::List, Duration::ZERO),
        };
        self.report_failure(Failure::Watch(error), next, after);
        state
    }

    /// Returns the state after the watch ended within the initial events.
    fn after_stream_end(&mut self, end: WatchEnd, tally: &Tally, restarts: u32) -> State {
        tracing::debug!(reflector = self.name, %end, "initial events interrupted");
        self.observer.relists(match &end {
            WatchEnd::Closed => Relist::InitialEvents,
            WatchEnd::Failed(error) => Relist::after_watch(error, Relist::InitialEvents),
        });
        let state = match &end {
            WatchEnd::Closed if tally.is_short() => State::Listing,
            WatchEnd::Closed => self.restart(restarts).0,
            WatchEnd::Failed(WatchError::TooManyRequests(status)) => {
                let delay = self.delay(Some(&**status));
                State::Streaming { restarts }.after(delay)
            }
            WatchEnd::Failed(WatchError::Expired(_) | WatchError::TooLarge(_)) => {
                self.position.mark_unavailable();
                self.restart(restarts).0
            }
            WatchEnd::Failed(_) => State::Listing,
        };
        if let WatchEnd::Failed(error) = end {
            self.progress.set_failure(Failure::Watch(error));
        }
        state
    }

    /// Restarts the initial events: immediately the first time, then with backoff. A server or proxy that interrupts them
    /// every time is finally asked for a list, whose pages may be short enough.
    fn restart(&mut self, restarts: u32) -> (State, Next, Duration) {
        let again = State::Streaming { restarts: restarts.saturating_add(1) };
        match restarts {
            0 => (again, Next::Relist, Duration::ZERO),
            1..MAX_RESTARTS => {
                let delay = self.delay(None);
                (again.after(delay), Next::Relist, delay)
            }
            _ => (State::Listing, Next::List, Duration::ZERO),
        }
    }
}
