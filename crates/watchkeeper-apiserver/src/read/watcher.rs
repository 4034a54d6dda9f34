//! Watcher: an open watch.
//!
//! Input: the store: the current objects, then batches of changes.
//! Output: [`watch_body`](super::watch_body()), which encodes them, or a [`StoreSource`](super::StoreSource).
//!
//! Invariants:
//! - `watcher.F1`: initial events come in key order, each with its own version, followed by changes in revision
//!   order.
//! - `watcher.F2`: an object that leaves the selection is deleted, and one that enters it is added.
//! - `watcher.F3`: a failure is the last step. A watcher that falls behind the history fails like one that starts
//!   too late; nothing waits for it.

use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crate::http::{AtVersion, ListOptions};
use crate::store::{BoxWatch, ChangeType, Event, RangeQuery, Revision, Stored, WatchError, WatchQuery};
use futures_util::StreamExt as _;
use tokio::time::{Instant, Sleep, sleep_until};
use tokio_util::sync::CancellationToken;
use watchkeeper_core::Status;

use super::{Reader, Scope, Selection, read_status};

/// The maximum interval between bookmarks. Each interval is shortened by a random amount, at most a quarter.
pub const BOOKMARK_EVERY: Duration = Duration::from_secs(60);

/// The time before the end of a watch at which it sends a last bookmark.
const LAST_BOOKMARK: Duration = Duration::from_secs(2);

/// The minimum duration of a watch without a timeout; the maximum is twice as long.
const MINIMUM: Duration = Duration::from_secs(1800);

/// The longest watch, so that no number of seconds overflows a clock.
const MAXIMUM: Duration = Duration::from_secs(365 * 24 * 3600);

/// A change as seen by one watch.
#[derive(Debug, Clone)]
pub struct WatchChange {
    /// Added, modified or deleted.
    pub change_type: ChangeType,
    /// The change, shared with all watches.
    pub event: Arc<Event>,
}

/// The next output of a watch.
#[derive(Debug)]
pub enum Step {
    /// Some of the initial objects, in key order (`watcher.F1`).
    Initial(Vec<Arc<Stored>>),
    /// Changes, oldest first; never empty.
    Changes(Vec<WatchChange>),
    /// Everything up to a revision has been sent.
    Bookmark {
        /// The revision.
        revision: Revision,
        /// Whether this ends the initial events.
        initial_events_end: bool,
    },
    /// The last step (`watcher.F3`).
    Failed(Box<Status>),
}

/// An open watch.
pub struct Watcher {
    selection: Selection,
    initial: std::vec::IntoIter<Arc<Stored>>,
    /// The bookmark that ends the initial events.
    initial_end: Option<Revision>,
    /// `None` once it has ended.
    watch: Option<BoxWatch>,
    /// An error to report once.
    failure: Option<Box<Status>>,
    bookmarks: bool,
    deadline: Instant,
    /// Cancelled when the resource is no longer served.
    gone: CancellationToken,
    /// Fires for the next bookmark or at the deadline.
    alarm: Pin<Box<Sleep>>,
}

/// The number of initial events per step.
const INITIAL_STEP: usize = 256;

impl Watcher {
    pub(super) async fn open(reader: &Reader, scope: &Scope, options: &ListOptions) -> Result<Self, Status> {
        let selection = Selection::new(scope, options)?;
        let lasts =
            options.timeout.unwrap_or_else(|| MINIMUM + MINIMUM.mul_f64(fastrand::f64())).min(MAXIMUM);
        let deadline = Instant::now() + lasts;
        let mut watcher = Self {
            selection,
            initial: Vec::new().into_iter(),
            initial_end: None,
            watch: None,
            failure: None,
            bookmarks: options.allow_watch_bookmarks,
            deadline,
            gone: scope.resource.custom.as_ref().map(|kind| kind.gone().clone()).unwrap_or_default(),
            alarm: Box::pin(sleep_until(deadline)),
        };
        watcher.set_alarm();
        if let Err(status) = watcher.begin(reader, scope, options).await {
            watcher.failure = Some(Box::new(status));
        }
        Ok(watcher)
    }

    async fn begin(&mut self, reader: &Reader, scope: &Scope, options: &ListOptions) -> Result<(), Status> {
        let collection = scope.collection()?;
        let scope = &scope.narrow(&options.field_selector);
        let after = match (options.send_initial_events, options.resource_version) {
            (Some(true), version) => {
                reader.wait(version).await?;
                let one = scope.key();
                let query = RangeQuery {
                    namespace: scope.namespace.clone(),
                    start: one.as_ref().map(|one| one.as_str().to_owned()),
                    limit: one.as_ref().and_then(|_| NonZeroUsize::new(1)),
                    ..RangeQuery::all(collection.clone())
                };
                let mut range = reader.store().range(query).await.map_err(|error| read_status(&error))?;
                range.items.retain(|stored| self.selection.matches(stored));
                self.initial = range.items.into_iter();
                self.initial_end = self.bookmarks.then_some(range.revision);
                range.revision
            }
            (_, AtVersion::At(number)) => Revision::new(number),
            (_, AtVersion::Unset | AtVersion::Any) => {
                reader.store().current().await.map_err(|error| read_status(&error))?
            }
        };
        let query = WatchQuery { collection, namespace: scope.namespace.clone(), after };
        self.watch = Some(reader.store().watch(query).await.map_err(|error| watch_status(&error))?);
        Ok(())
    }

    /// Returns the bytes held for initial events, not counting the objects, which are shared with the store.
    pub fn held_bytes(&self) -> usize {
        self.initial.len() * size_of::<Arc<Stored>>()
    }

    /// Returns the next step; `None` once the watch has ended. Cancel-safe.
    pub async fn next(&mut self) -> Option<Step> {
        let initial: Vec<_> = self.initial.by_ref().take(INITIAL_STEP).collect();
        if !initial.is_empty() {
            return Some(Step::Initial(initial));
        }
        if let Some(revision) = self.initial_end.take() {
            return Some(Step::Bookmark { revision, initial_events_end: true });
        }
        if let Some(status) = self.failure.take() {
            self.watch = None;
            return Some(Step::Failed(status));
        }
        loop {
            let watch = self.watch.as_mut()?;
            tokio::select! {
                biased;
                () = self.gone.cancelled() => {
                    self.watch = None;
                    return None;
                }
                () = self.alarm.as_mut() => {
                    let revision = watch.progress();
                    if Instant::now() >= self.deadline {
                        self.watch = None;
                        return None;
                    }
                    self.set_alarm();
                    return Some(Step::Bookmark { revision, initial_events_end: false });
                }
                batch = watch.next() => match batch {
                    Some(Ok(events)) => {
                        let changes: Vec<_> = events.into_iter().filter_map(|event| self.change(event)).collect();
                        if !changes.is_empty() {
                            return Some(Step::Changes(changes));
                        }
                    }
                    Some(Err(error)) => {
                        self.watch = None;
                        return Some(Step::Failed(Box::new(watch_status(&error)))); // watcher.F3
                    }
                    None => {
                        self.watch = None;
                        return None;
                    }
                },
            }
        }
    }

    /// Returns a change as seen by this watch (`watcher.F2`).
    fn change(&self, event: Arc<Event>) -> Option<WatchChange> {
        let matches =
            |stored: Option<&Arc<Stored>>| stored.is_some_and(|stored| self.selection.matches(stored));
        let change_type = match (matches(event.previous()), matches(event.current())) {
            (false, false) => return None,
            (false, true) => ChangeType::Added,
            (true, true) => ChangeType::Modified,
            (true, false) => ChangeType::Deleted,
        };
        Some(WatchChange { change_type, event })
    }

    /// Sets the alarm for the next bookmark, the last bookmark, or the end.
    fn set_alarm(&mut self) {
        let now = Instant::now();
        let mut at = self.deadline;
        if self.bookmarks {
            let next = now + BOOKMARK_EVERY.mul_f64(1.0 - fastrand::f64() / 4.0);
            let last = self.deadline.checked_sub(LAST_BOOKMARK).filter(|last| *last > now);
            at = [Some(next), last].into_iter().flatten().filter(|it| *it < at).min().unwrap_or(at);
        }
        self.alarm.as_mut().reset(at);
    }
}

/// Converts a watch error into a status.
fn watch_status(error: &WatchError) -> Status {
    match error {
        WatchError::Compacted { after, oldest } => {
            Status::expired(format!("too old resource version: {after} ({oldest})"))
        }
        error => Status::internal_error(error),
    }
}
