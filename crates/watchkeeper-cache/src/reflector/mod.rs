//! Reflector: keeps a copy of a collection up to date.
//!
//! From: a [`ListWatch`], the collection.
//! To:   a [`Sink`], the copy.
//!
//! A round asks for the whole state and then for the changes after it. It ends when changes may have been
//! missed; the next round begins after a delay.
//!
//! ```text
//! Idle -> Streaming -> Watching      initial events and changes in one watch
//!      -> Listing   -> Watching      where initial events are not to be had, this time
//! ```
//!
//! - R1: a list is committed whole, of one version, or not at all.
//! - R2: a watch begins at the version that the copy has.
//! - R3: at most one request goes on at any time. Dropping [`run`](Reflector::run) ends it.
//! - R4: watches that end within a second are not reopened without a pause, whatever they brought.

mod backoff;
mod ended;
mod last_failure;
mod list;
mod observer;
mod patience;
mod position;
mod progress;
mod random;
mod relist;
mod stream;
mod watch;

use std::num::NonZeroU32;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, watch as channel};
use watchkeeper_core::{BoxError, ListWatch, Object, ObjectMeta, ResourceVersion, Status, WatchStream};

pub use backoff::Backoff;
use backoff::Delays;
pub use ended::{Ended, WhenGone, Why};
pub(crate) use last_failure::LastFailure;
pub use observer::{Failure, Next, Observer};
use patience::Patience;
use position::Position;
use progress::Teller;
pub use progress::{Phase, Progress};
use random::Random;
pub use relist::Relist;

use crate::{Sink, transform};

/// Watches last at least so long if nothing happens to them, and less than twice as long.
const LEAST_WATCH: Duration = Duration::from_secs(300);

type Transform = Box<dyn FnMut(&mut Object) -> Result<(), BoxError> + Send>;
type Accept = Box<dyn Fn(&Object) -> Result<(), BoxError> + Send>;

/// Keeps a copy of a collection up to date, with the patience and the manners of client-go's.
///
/// ```
/// # use watchkeeper_cache::{Reflector, Sink};
/// # use watchkeeper_core::ListWatch;
/// # async fn example(pods: impl ListWatch + 'static, copy: impl Sink, stop: impl Future<Output = ()>) {
/// let reflector = Reflector::new(pods, copy).name("pods");
/// let progress = reflector.progress(); // to show, or to wait for
/// let ended = reflector.run(stop).await;
/// # }
/// ```
pub struct Reflector<S> {
    source: Box<dyn ListWatch>,
    sink: S,
    name: String,
    observer: Box<dyn Observer>,
    accept: Option<Accept>,
    transforms: Vec<Transform>,
    page_size: Option<NonZeroU32>,
    least_watch: Duration,
    internal_errors: Duration,
    when_gone: WhenGone,
    backoff: Backoff,
    random: Random,
    delays: Delays,
    progress: Teller,
    last_failure: LastFailure,
    position: Position,
    presence: Presence,
    reconnect: Arc<Notify>,
    /// How many watches in a row were over soon after they began.
    quick_watches: u32,
}

/// Whether there is such a collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Presence {
    /// It has not been listed yet.
    Unknown,
    There,
    /// It was there, and is not.
    Gone,
}

/// What is done next.
enum State {
    /// A round begins.
    Idle,
    /// The whole state comes as initial events. How often they have begun anew in this round.
    Streaming { restarts: u32 },
    /// The whole state comes as a list.
    Listing,
    /// Changes come. The watch that brought the initial events is used before another is opened.
    Watching { open: Option<WatchStream>, patience: Patience },
    /// Nothing is done for a while.
    Waiting { delay: Duration, then: Box<State> },
    /// Nothing is done any more.
    Ended(Why),
}

impl<S: Sink> Reflector<S> {
    /// A reflector that has not begun.
    pub fn new(source: impl ListWatch + 'static, sink: S) -> Self {
        Self {
            source: Box::new(source),
            sink,
            name: String::new(),
            observer: Box::new(()),
            accept: None,
            transforms: Vec::new(),
            page_size: None,
            least_watch: LEAST_WATCH,
            internal_errors: Duration::ZERO,
            when_gone: WhenGone::default(),
            backoff: Backoff::default(),
            random: Random::fresh(),
            delays: Delays::new(Backoff::default()),
            progress: Teller::new(),
            last_failure: LastFailure::default(),
            position: Position::default(),
            presence: Presence::Unknown,
            reconnect: Arc::default(),
            quick_watches: 0,
        }
    }

    /// What it is called in logs. Empty by default.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Who hears what it goes through. By default failures are logged.
    #[must_use]
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.observer = Box::new(observer);
        self
    }

    /// Which objects count. One that is not accepted is left out, and its version with it. All are accepted by
    /// default.
    #[must_use]
    pub fn accept(mut self, accept: impl Fn(&Object) -> Result<(), BoxError> + Send + 'static) -> Self {
        self.accept = Some(Box::new(accept));
        self
    }

    /// What is made of every object that is accepted before the sink gets it, once each time that it arrives:
    /// see [`transform`]. What several make of it is made one after the other.
    #[must_use]
    pub fn transform(
        mut self,
        transform: impl FnMut(&mut Object) -> Result<(), BoxError> + Send + 'static,
    ) -> Self {
        self.transforms.push(Box::new(transform));
        self
    }

    /// How many items a page of a list has at most. By default 500 where the server may ignore it, and no pages
    /// for a certain version, unless the server is known to make pages: it then serves the list from memory.
    #[must_use]
    pub fn page_size(mut self, items: NonZeroU32) -> Self {
        self.page_size = Some(items);
        self
    }

    /// How long a watch lasts at least, if nothing happens to it: a random time from this to twice this. By
    /// default, and at least, 5 minutes.
    #[must_use]
    pub fn watch_at_least(mut self, time: Duration) -> Self {
        self.least_watch = time.max(LEAST_WATCH);
        self
    }

    /// For how long to watch again at once where watches end with internal errors of the server, before the
    /// state is asked for anew. By default not at all. The time begins with an error that comes a minute or
    /// more after the one before it.
    #[must_use]
    pub fn bear_internal_errors(mut self, time: Duration) -> Self {
        self.internal_errors = time;
        self
    }

    /// How long to wait between two rounds, and before a server is asked again that is busy or away.
    #[must_use]
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.backoff = backoff;
        self
    }

    /// What to do once the collection is not there any more. By default it goes on asking.
    #[must_use]
    pub fn when_gone(mut self, then: WhenGone) -> Self {
        self.when_gone = then;
        self
    }

    /// Makes its random numbers, of delays and of the time of watches, the same every time.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.random = Random::seeded(seed);
        self
    }

    /// How far it has got, from now on.
    pub fn progress(&self) -> channel::Receiver<Progress> {
        self.progress.receiver()
    }

    /// Notifying it makes the reflector drop its request, or its wait for the next one, and send the next request at
    /// once. Delays begin anew. A watch goes on after the last version that it brought, without a list.
    pub(crate) fn reconnect(&self) -> Arc<Notify> {
        self.reconnect.clone()
    }

    /// The failure of its last request, until one succeeds.
    pub(crate) fn last_failure(&self) -> LastFailure {
        self.last_failure.clone()
    }

    /// Runs until `stop` is ready, or until the collection is gone and that [ends](WhenGone::End) it. A request
    /// that is under way then is dropped, as is a list that is half staged. If dropped half-way, the same holds,
    /// and the sink is dropped, too.
    pub async fn run(mut self, stop: impl Future<Output = ()>) -> Ended<S> {
        self.delays = Delays::new(self.backoff);
        let mut stop = pin!(stop);
        let reconnect = self.reconnect.clone();
        let mut state = State::Idle;
        let why = loop {
            if let State::Ended(why) = state {
                break why;
            }
            let watches = state.watches();
            let step = Box::pin(self.step(state));
            let next = tokio::select! {
                biased;
                () = stop.as_mut() => break Why::Stopped,
                () = reconnect.notified() => None,
                next = step => Some(next),
            };
            state = next.unwrap_or_else(|| self.reconnected(watches));
        };
        Ended { sink: self.sink, why }
    }

    async fn step(&mut self, state: State) -> State {
        match state {
            State::Idle if self.source.sends_initial_events() => State::Streaming { restarts: 0 },
            State::Idle => State::Listing,
            State::Streaming { restarts } => self.stream(restarts).await,
            State::Listing => self.list().await,
            State::Watching { open, patience } => self.watch(open, patience).await,
            State::Waiting { delay, then } => {
                self.progress.phase(if self.presence == Presence::Gone {
                    Phase::Gone
                } else {
                    Phase::Waiting
                });
                tokio::time::sleep(delay).await;
                *then
            }
            State::Ended(_) => state,
        }
    }

    /// The request, or the wait, was dropped: what is done instead.
    fn reconnected(&mut self, watches: bool) -> State {
        self.delays = Delays::new(self.backoff);
        match watches {
            true => State::Watching { open: None, patience: Patience::new(self.internal_errors) },
            false => State::Idle,
        }
    }

    /// The next delay; a longer one where the server asks for it, up to the longest there is.
    fn delay(&mut self, status: Option<&Status>) -> Duration {
        let asked = status.and_then(Status::retry_after).unwrap_or_default();
        self.delays.next(&mut self.random).max(asked.min(self.delays.cap()))
    }

    fn watch_timeout(&mut self) -> Duration {
        let least = self.least_watch.as_secs();
        let more = (least as f64 * self.random.fraction()) as u64;
        Duration::from_secs(least.saturating_add(more))
    }

    fn accepts(&mut self, object: &Object) -> bool {
        match self.accept.as_ref().map_or(Ok(()), |accept| accept(object)) {
            Ok(()) => true,
            Err(why) => {
                self.observer.skipped(&self.name, object, &why);
                false
            }
        }
    }

    /// Reports a failure, and keeps it for whoever waits for the first list.
    fn failed(&mut self, failure: Failure, next: Next, after: Duration) {
        self.observer.failed(&self.name, &failure, next, after);
        self.last_failure.set(failure);
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

    /// What transforms make of an object; its head if they fail, which the observer has then heard of.
    fn transformed(&mut self, mut object: Object) -> Result<Object, Box<ObjectMeta>> {
        if self.transforms.is_empty() {
            return Ok(object);
        }
        let before = object.metadata.clone();
        match transform::apply(&mut self.transforms, &mut object) {
            Ok(()) => Ok(object),
            Err(why) => {
                self.observer.transform_failed(&self.name, &before, &why);
                Err(Box::new(before))
            }
        }
    }

    /// Returns whether it counts.
    fn stage(&mut self, object: Object) -> bool {
        let accepted = self.accepts(&object);
        if accepted {
            match self.transformed(object) {
                Ok(object) => self.sink.stage(object),
                Err(head) => self.sink.stage_as_it_was(head.key()),
            }
            self.progress.item();
        }
        accepted
    }

    /// The whole state is staged: it becomes the copy (R1), and changes are waited for (R2).
    fn commit(&mut self, version: &ResourceVersion, took: Duration, open: Option<WatchStream>) -> State {
        self.sink.commit(version.clone());
        self.last_failure.clear();
        self.position.listed(version);
        self.presence = Presence::There;
        let items = self.progress.list_ends(version);
        self.observer.list_ends(took, items);
        self.observer.version(version);
        State::Watching { open, patience: Patience::new(self.internal_errors) }
    }
}

impl State {
    /// Whether it watches, or will after a wait.
    fn watches(&self) -> bool {
        match self {
            Self::Watching { .. } => true,
            Self::Waiting { then, .. } => then.watches(),
            Self::Idle | Self::Streaming { .. } | Self::Listing | Self::Ended(_) => false,
        }
    }

    fn after(self, delay: Duration) -> Self {
        if delay.is_zero() {
            return self;
        }
        Self::Waiting { delay, then: Box::new(self) }
    }
}
