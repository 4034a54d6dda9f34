//! Streaming: the whole state as the initial events of a watch that then goes on.

use std::pin::pin;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::{Either, select};
use tokio::task::coop::consume_budget;
use tokio::time::{Instant, sleep};
use watchkeeper_core::{ResourceVersion, WatchError, WatchEvent, WatchFrom, WatchRequest, WatchStream};

use super::watch::{Ending, Tally};
use super::{Failure, Next, Reflector, Relist, State};
use crate::Sink;

/// How often to see whether initial events still come.
const TICK: Duration = Duration::from_secs(10);

/// How often initial events begin anew in a round.
const RESTARTS: u32 = 3;

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
            Err(error) => return self.stream_refused(error, restarts),
        };
        self.last_failure.clear();
        self.observer.watch_begins();
        self.progress.contact();
        match self.initial_events(&mut watch, &mut tally).await {
            Ok(version) => self.commit(&version, tally.begun.elapsed(), Some(watch)),
            Err(ending) => {
                drop(watch);
                tally.end(&mut *self.observer);
                self.stream_broke(ending, &tally, restarts)
            }
        }
    }

    /// Stages what comes, up to the bookmark that ends the initial events. Returns its version.
    async fn initial_events(
        &mut self,
        watch: &mut WatchStream,
        tally: &mut Tally,
    ) -> Result<ResourceVersion, Ending> {
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
            consume_budget().await; // a source that is always ready must not keep `stop` from being seen
            if let Some(Ok(_)) = &event {
                self.progress.contact();
            }
            match event {
                None => return Err(Ending::Closed),
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

    /// The watch could not be opened.
    fn stream_refused(&mut self, error: WatchError, restarts: u32) -> State {
        self.progress.failed(&error);
        self.observer.relists(Relist::after_watch(&error, Relist::InitialEvents));
        let (state, next, after) = match &error {
            WatchError::ConnectionRefused(_) | WatchError::TooManyRequests(_) => {
                let delay = self.delay(error.status());
                (State::Streaming { restarts }.after(delay), Next::Relist, delay)
            }
            WatchError::Expired(_) | WatchError::TooLarge(_) => {
                self.position.is_unavailable();
                self.restart(restarts)
            }
            _ => (State::Listing, Next::List, Duration::ZERO),
        };
        self.failed(Failure::Watch(error), next, after);
        state
    }

    /// The watch ended before the initial events did.
    fn stream_broke(&mut self, ending: Ending, tally: &Tally, restarts: u32) -> State {
        tracing::debug!(reflector = self.name, %ending, "the initial events broke off");
        self.observer.relists(match &ending {
            Ending::Closed => Relist::InitialEvents,
            Ending::Failed(error) => Relist::after_watch(error, Relist::InitialEvents),
        });
        if let Ending::Failed(error) = &ending {
            self.progress.failed(error);
        }
        match ending {
            Ending::Closed if tally.is_short() => State::Listing,
            Ending::Closed => self.restart(restarts).0,
            Ending::Failed(WatchError::TooManyRequests(status)) => {
                let delay = self.delay(Some(&*status));
                State::Streaming { restarts }.after(delay)
            }
            Ending::Failed(WatchError::Expired(_) | WatchError::TooLarge(_)) => {
                self.position.is_unavailable();
                self.restart(restarts).0
            }
            Ending::Failed(_) => State::Listing,
        }
    }

    /// The first time at once. A server, or something on the way to it, that breaks off every time is not asked
    /// again without a pause, and in the end is asked for a list: its pages may be short enough.
    fn restart(&mut self, restarts: u32) -> (State, Next, Duration) {
        let again = State::Streaming { restarts: restarts.saturating_add(1) };
        match restarts {
            0 => (again, Next::Relist, Duration::ZERO),
            1..RESTARTS => {
                let delay = self.delay(None);
                (again.after(delay), Next::Relist, delay)
            }
            _ => (State::Listing, Next::List, Duration::ZERO),
        }
    }
}
