//! Reflector: keeps a copy of a collection up to date.
//!
//! Input:  a [`ListWatch`].
//! Output: a [`Sink`].
//!
//! Each round fetches the whole state and then watches from its version. A round ends when changes may have been missed;
//! the next one starts after a delay.
//!
//! ```text
//! Idle -> Streaming -> Watching      initial events and changes in one watch (WatchList)
//!      -> Listing   -> Watching      if the server does not send initial events, or failed to
//! ```
//!
//! Invariants:
//! - `reflector.R1`: a list is committed as a whole, at one version, or not at all.
//! - `reflector.R2`: a watch starts at the version of the copy.
//! - `reflector.R3`: at most one request is in flight. Dropping [`run`](Reflector::run) cancels it.
//! - `reflector.R4`: after several watches in a row that end within a second, the next one is delayed, whatever they
//!   delivered.

mod backoff;
mod exit;
mod internal_error_retry;
mod list;
mod observer;
mod position;
mod progress;
mod relist;
mod stream;
mod watch;

use std::num::NonZeroU32;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use tokio::sync::{Notify, watch as channel};
pub use watchkeeper_core::Backoff;
use watchkeeper_core::{BoxError, ListWatch, Object, ObjectMeta, ResourceVersion, Status, WatchStream};

use backoff::Delays;
pub use exit::{ExitReason, Exited, OnGone};
use internal_error_retry::InternalErrorRetry;
pub use observer::{Failure, Next, Observer};
use position::Position;
use progress::ProgressSender;
pub use progress::{Phase, Progress};
pub use relist::Relist;

use crate::{Sink, transform};

/// The smallest watch timeout; the actual one is random, between this and twice this.
const MIN_WATCH_TIMEOUT: Duration = Duration::from_secs(300);

type Transform = Box<dyn FnMut(&mut Object) -> Result<(), BoxError> + Send>;
type Check = Box<dyn Fn(&Object) -> Result<(), BoxError> + Send>;

/// A loop that keeps a [`Sink`] in step with a collection; client-go's `Reflector`.
///
/// # Guarantees
/// The sink receives a whole list at one version, and then the changes after that version, in order. After an
/// interruption the reflector resumes the watch where it stopped; if the server no longer has that version, it lists
/// again, and the sink receives the difference. Nothing is missed but intermediate states.
///
/// # Requests
/// At most one request is in flight. Timeouts, paging, consistency levels and backoff are client-go's. Initial events
/// (`WatchList`) are used where the source [supports](ListWatch::sends_initial_events) them.
///
/// # Failure
/// No error ends a reflector: requests are retried with [backoff](Self::backoff), and reported to its
/// [`Observer`](Self::observer). It ends when stopped, or when the collection is removed and
/// [`OnGone::Exit`] is set.
///
/// ```
/// # use watchkeeper_cache::{Reflector, Sink};
/// # use watchkeeper_core::ListWatch;
/// # async fn example(pods: impl ListWatch + 'static, copy: impl Sink, stop: impl Future<Output = ()>) {
/// let reflector = Reflector::new(pods, copy).name("pods");
/// let progress = reflector.progress(); // a tokio watch channel
/// let ended = reflector.run(stop).await;
/// # }
/// ```
pub struct Reflector<S> {
    source: Box<dyn ListWatch>,
    sink: S,
    name: String,
    observer: Box<dyn Observer>,
    filter: Option<Check>,
    transforms: Vec<Transform>,
    page_size: Option<NonZeroU32>,
    min_watch_timeout: Duration,
    max_internal_error_retry: Duration,
    on_gone: OnGone,
    backoff: Backoff,
    random: Rng,
    delays: Delays,
    progress: ProgressSender,
    position: Position,
    presence: Presence,
    reconnect: Arc<Notify>,
    /// Number of watches in a row that ended within a second (`reflector.R4`).
    quick_watches: u32,
}

/// Whether the collection exists on the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Presence {
    /// Not listed yet.
    Unknown,
    /// Listed successfully.
    Present,
    /// Listed before, and not found now.
    Gone,
}

/// The next step.
enum State {
    /// Start a round.
    Idle,
    /// Fetch the whole state as initial events, which have been restarted `restarts` times in this round.
    Streaming { restarts: u32 },
    /// Fetch the whole state as a list.
    Listing,
    /// Watch for changes, on the watch that delivered the initial events if there is one.
    Watching { open: Option<WatchStream>, retry: InternalErrorRetry },
    /// Wait, and continue with another state.
    Waiting { delay: Duration, then: Box<State> },
    /// Exit.
    Exited(ExitReason),
}

impl<S: Sink> Reflector<S> {
    /// Creates a reflector with client-go's defaults. Sends no request before [`run`](Self::run).
    pub fn new(source: impl ListWatch + 'static, sink: S) -> Self {
        Self {
            source: Box::new(source),
            sink,
            name: String::new(),
            observer: Box::new(()),
            filter: None,
            transforms: Vec::new(),
            page_size: None,
            min_watch_timeout: MIN_WATCH_TIMEOUT,
            max_internal_error_retry: Duration::ZERO,
            on_gone: OnGone::default(),
            backoff: Backoff::default(),
            random: Rng::new(),
            delays: Delays::new(Backoff::default()),
            progress: ProgressSender::new(),
            position: Position::default(),
            presence: Presence::Unknown,
            reconnect: Arc::default(),
            quick_watches: 0,
        }
    }

    /// Sets the name in logs and metrics; empty by default.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the observer of failures and requests. The default logs failures.
    #[must_use]
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.observer = Box::new(observer);
        self
    }

    /// Sets a check for objects, all of which pass by default. An object for which it returns an error is ignored,
    /// together with its resource version, and reported to the observer.
    #[must_use]
    pub fn filter(mut self, filter: impl Fn(&Object) -> Result<(), BoxError> + Send + 'static) -> Self {
        self.filter = Some(Box::new(filter));
        self
    }

    /// Adds a function that changes every object before it reaches the sink: see [`transform`]. Several run in the order
    /// in which they were added.
    #[must_use]
    pub fn transform(
        mut self,
        transform: impl FnMut(&mut Object) -> Result<(), BoxError> + Send + 'static,
    ) -> Self {
        self.transforms.push(Box::new(transform));
        self
    }

    /// Sets the page size of lists. By default 500 for the first list, and no paging for a list at a known version,
    /// which the server can then serve from its watch cache; a server that paged the first list is paged again.
    #[must_use]
    pub fn page_size(mut self, items: NonZeroU32) -> Self {
        self.page_size = Some(items);
        self
    }

    /// Sets the smallest watch timeout; the actual one is random, between this and twice this. 5 minutes by default, and
    /// at least.
    #[must_use]
    pub fn min_watch_timeout(mut self, time: Duration) -> Self {
        self.min_watch_timeout = time.max(MIN_WATCH_TIMEOUT);
        self
    }

    /// Sets for how long a watch that ends with an internal server error is reopened instead of relisting; zero by
    /// default. The time starts over with an error that comes a minute or more after the previous one.
    #[must_use]
    pub fn max_internal_error_retry(mut self, time: Duration) -> Self {
        self.max_internal_error_retry = time;
        self
    }

    /// Sets the delays between rounds, and before requests to a server that is busy or unreachable. They restart two
    /// minutes after the first one, even without a success in between.
    #[must_use]
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.backoff = backoff;
        self
    }

    /// Sets the behaviour when the collection is removed from the server. By default it retries.
    #[must_use]
    pub fn on_gone(mut self, then: OnGone) -> Self {
        self.on_gone = then;
        self
    }

    /// Makes jitter and watch timeouts reproducible.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.random = Rng::with_seed(seed);
        self
    }

    /// Returns a receiver of the reflector's progress.
    pub fn progress(&self) -> channel::Receiver<Progress> {
        self.progress.receiver()
    }

    /// Returns a handle that, when notified, cancels the current request or delay, resets the backoff and sends the next
    /// request immediately. A watch resumes after the last version that it delivered.
    pub(crate) fn reconnect(&self) -> Arc<Notify> {
        self.reconnect.clone()
    }

    /// Runs until `stop` completes, or until the collection is removed and [`OnGone::Exit`] is set. Cancels a request in
    /// flight and discards a partially staged list. If dropped half-way, the same holds, and the sink is dropped.
    pub async fn run(mut self, stop: impl Future<Output = ()>) -> Exited<S> {
        self.delays = Delays::new(self.backoff);
        let mut stop = pin!(stop);
        let reconnect = self.reconnect.clone();
        let mut state = State::Idle;
        let reason = loop {
            if let State::Exited(reason) = state {
                break reason;
            }
            let watches = state.watches();
            let step = Box::pin(self.step(state));
            let next = tokio::select! {
                biased;
                () = stop.as_mut() => break ExitReason::Stopped,
                () = reconnect.notified() => None,
                next = step => Some(next),
            };
            state = next.unwrap_or_else(|| self.after_reconnect(watches));
        };
        Exited { sink: self.sink, reason }
    }

    async fn step(&mut self, state: State) -> State {
        match state {
            State::Idle if self.source.sends_initial_events() => State::Streaming { restarts: 0 },
            State::Idle => State::Listing,
            State::Streaming { restarts } => self.stream(restarts).await,
            State::Listing => self.list().await,
            State::Watching { open, retry } => self.watch(open, retry).await,
            State::Waiting { delay, then } => {
                self.progress.phase(if self.presence == Presence::Gone {
                    Phase::Gone
                } else {
                    Phase::Waiting
                });
                tokio::time::sleep(delay).await;
                *then
            }
            State::Exited(_) => state,
        }
    }

    /// Returns the state after a request or delay was cancelled by `reconnect`.
    fn after_reconnect(&mut self, watches: bool) -> State {
        self.delays = Delays::new(self.backoff);
        if watches {
            State::Watching { open: None, retry: InternalErrorRetry::new(self.max_internal_error_retry) }
        } else {
            State::Idle
        }
    }

    /// Returns the next delay, or the server's `Retry-After` if that is longer, up to the backoff's cap.
    fn delay(&mut self, status: Option<&Status>) -> Duration {
        let asked = status.and_then(Status::retry_after).unwrap_or_default();
        self.delays.next(&mut self.random).max(asked.min(self.delays.cap()))
    }

    fn watch_timeout(&mut self) -> Duration {
        let least = self.min_watch_timeout.as_secs();
        let more = (least as f64 * self.random.f64()) as u64;
        Duration::from_secs(least.saturating_add(more))
    }

    fn accepts(&mut self, object: &Object) -> bool {
        match self.filter.as_ref().map_or(Ok(()), |filter| filter(object)) {
            Ok(()) => true,
            Err(reason) => {
                self.observer.skipped(&self.name, object, &reason);
                false
            }
        }
    }

    /// Reports a failure to the observer and in the progress.
    fn report_failure(&mut self, failure: Failure, next: Next, after: Duration) {
        self.observer.failed(&self.name, &failure, next, after);
        self.progress.set_failure(failure);
    }

    pub(crate) fn called(&self) -> &str {
        &self.name
    }

    /// Wraps the observer in another.
    pub(crate) fn observe_also<O: Observer + 'static>(
        &mut self,
        wrap: impl FnOnce(&str, Box<dyn Observer>) -> O,
    ) {
        let inner = std::mem::replace(&mut self.observer, Box::new(()));
        self.observer = Box::new(wrap(&self.name, inner));
    }

    /// Applies the transforms. If one fails, reports it and returns the metadata of the object.
    fn apply_transforms(&mut self, mut object: Object) -> Result<Object, Box<ObjectMeta>> {
        if self.transforms.is_empty() {
            return Ok(object);
        }
        let before = object.metadata.clone();
        match transform::apply(&mut self.transforms, &mut object) {
            Ok(()) => Ok(object),
            Err(reason) => {
                self.observer.transform_failed(&self.name, &before, &reason);
                Err(Box::new(before))
            }
        }
    }

    /// Stages a listed object, and returns whether it was accepted.
    fn stage(&mut self, object: Object) -> bool {
        let accepted = self.accepts(&object);
        if accepted {
            match self.apply_transforms(object) {
                Ok(object) => self.sink.stage(object),
                Err(head) => self.sink.stage_as_it_was(head.key()),
            }
            self.progress.item();
        }
        accepted
    }

    /// Commits the staged list (`reflector.R1`), and continues with a watch from its version (`reflector.R2`).
    fn commit(&mut self, version: &ResourceVersion, took: Duration, open: Option<WatchStream>) -> State {
        self.sink.commit(version.clone());
        self.position.set_listed(version);
        self.presence = Presence::Present;
        let items = self.progress.list_ends(version);
        self.observer.list_ends(took, items);
        self.observer.version(version);
        State::Watching { open, retry: InternalErrorRetry::new(self.max_internal_error_retry) }
    }
}

impl State {
    /// Returns whether this is a watch, possibly after a delay.
    fn watches(&self) -> bool {
        match self {
            Self::Watching { .. } => true,
            Self::Waiting { then, .. } => then.watches(),
            Self::Idle | Self::Streaming { .. } | Self::Listing | Self::Exited(_) => false,
        }
    }

    fn after(self, delay: Duration) -> Self {
        if delay.is_zero() {
            return self;
        }
        Self::Waiting { delay, then: Box::new(self) }
    }
}
