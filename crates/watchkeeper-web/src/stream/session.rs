//! Session: a stream, whether its reader is there or comes back (T2).

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::task::{Wake, Waker};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;
use watchkeeper_cache::Informer;

use super::feed::{Changes, Feed, Taken};
use super::held::{Held, Next};
use super::message::{Message, What};
use super::start::Starter;
use super::subscription::{Set, Subscription};
use crate::access::Who;
use crate::envelope::Failure;

/// A stream.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) id: Arc<str>,
    pub(super) who: Who,
    starter: Arc<Starter>,
    pub(super) bell: Arc<Bell>,
    state: Mutex<State>,
}

/// Rings when there is something to [pull](Session::pull).
#[derive(Debug, Default)]
pub(super) struct Bell(Notify);

impl Bell {
    pub(super) async fn rung(&self) {
        self.0.notified().await;
    }

    pub(super) fn ring(&self) {
        self.0.notify_one();
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.ring();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ring();
    }
}

#[derive(Debug, Default)]
struct State {
    slots: Vec<Slot>,
    /// Where to look first, so that each has its turn.
    turn: usize,
    held: Held,
    /// Connections and subscriptions that there were: each has another number.
    numbers: u64,
    /// Which connection is the one that is served. Another takes its place.
    connection: u64,
    /// Since when there is none.
    alone_since: Option<Instant>,
    is_closed: bool,
}

/// The place of a subscription.
#[derive(Debug)]
struct Slot {
    number: u64,
    id: Arc<str>,
    wanted: Arc<Subscription>,
    phase: Phase,
    /// To be said before anything else, in order.
    to_say: VecDeque<What>,
    /// Whether its reader may have something of it, or may still get something of another that was called the same.
    has_spoken: bool,
}

#[derive(Debug)]
enum Phase {
    /// It is ended where nobody wants it any more.
    Starting {
        _task: AbortOnDropHandle<()>,
    },
    Live(Box<Feed>),
    Failed {
        message: String,
        status: u16,
    },
}

/// What a connection is to do next.
#[derive(Debug)]
pub(super) enum Pulled {
    /// Send this.
    Frame(Bytes),
    /// Wait for the bell.
    Nothing,
    /// End: another connection has taken its place, or there is no more.
    Over,
}

enum Work {
    Say(Message),
    Write(Arc<str>, Changes),
}

impl Session {
    pub(super) fn new(id: Arc<str>, who: Who, starter: Arc<Starter>) -> Arc<Self> {
        Arc::new(Self { id, who, starter, bell: Arc::default(), state: Mutex::default() })
    }

    /// Says what it is of. What it was of before, and is still, goes on.
    pub(super) fn replace(self: &Arc<Self>, wanted: Set) {
        let mut state = self.state.lock();
        let mut before = std::mem::take(&mut state.slots);
        for wanted in wanted.into_inner() {
            let same = before.iter().position(|slot| *slot.id == *wanted.id).map(|at| before.swap_remove(at));
            let slot = match same {
                Some(slot) if *slot.wanted == wanted => slot,
                other => {
                    before.extend(other);
                    state.numbers += 1;
                    let (number, wanted) = (state.numbers, Arc::new(wanted));
                    Slot {
                        number,
                        id: wanted.id.as_str().into(),
                        phase: self.starting(number, Arc::clone(&wanted), None),
                        wanted,
                        to_say: VecDeque::new(),
                        has_spoken: state.held.last() > 0,
                    }
                }
            };
            state.slots.push(slot);
        }
        state.turn = 0;
        drop(state);
        drop(before); // without the lock: it may be much
    }

    fn starting(self: &Arc<Self>, number: u64, wanted: Arc<Subscription>, ended: Option<Informer>) -> Phase {
        let (session, starter) = (Arc::downgrade(self), Arc::clone(&self.starter));
        let (who, waker) = (self.who.clone(), Waker::from(Arc::clone(&self.bell)));
        Phase::Starting {
            _task: AbortOnDropHandle::new(tokio::spawn(async move {
                let started = match ended {
                    Some(ended) => starter.restart(&ended, &who, &wanted, waker).await,
                    None => starter.start(&who, &wanted, waker).await,
                };
                if let Some(session) = Weak::upgrade(&session) {
                    session.started(number, started);
                }
            })),
        }
    }

    fn started(&self, number: u64, started: Result<Feed, Failure>) {
        let mut state = self.state.lock();
        if let Some(slot) = state.slots.iter_mut().find(|slot| slot.number == number) {
            slot.started(started);
        }
        drop(state);
        self.bell.ring();
    }

    /// What follows a message that was sent, which is then the last that was.
    pub(super) fn pull(self: &Arc<Self>, connection: u64, cursor: &mut u64) -> Pulled {
        loop {
            let mut state = self.state.lock();
            if state.is_closed || state.connection != connection {
                return Pulled::Over;
            }
            match state.held.after(*cursor) {
                Next::Held(sequence, message) => {
                    drop(state);
                    *cursor = sequence;
                    return Pulled::Frame(message.frame(&self.id, sequence));
                }
                Next::Forgotten => {
                    state.begin_again();
                    *cursor = state.held.last();
                }
                Next::Nothing => {}
            }
            match self.work(&mut state) {
                None => return Pulled::Nothing,
                Some(Work::Say(message)) => state.held.push(message),
                Some(Work::Write(sub, changes)) => {
                    drop(state);
                    let message = Message { sub, what: changes.write() };
                    self.state.lock().held.push(message);
                }
            }
        }
    }

    /// What there is to say, by whose turn it is.
    fn work(self: &Arc<Self>, state: &mut State) -> Option<Work> {
        let (numbers, count) = (&mut state.numbers, state.slots.len());
        for _ in 0..count {
            let slot = &mut state.slots[state.turn % count];
            if let Some(what) = slot.to_say.pop_front() {
                slot.has_spoken = true;
                return Some(Work::Say(Message { sub: Arc::clone(&slot.id), what }));
            }
            state.turn = (state.turn + 1) % count;
            let Phase::Live(feed) = &mut slot.phase else { continue };
            match feed.take() {
                Taken::Nothing => {}
                Taken::Changes(changes) => {
                    slot.has_spoken = true;
                    return Some(Work::Write(Arc::clone(&slot.id), changes));
                }
                Taken::Synced(count) => {
                    slot.has_spoken = true;
                    let what = What::Synced { count };
                    return Some(Work::Say(Message { sub: Arc::clone(&slot.id), what }));
                }
                Taken::Ended => {
                    *numbers += 1;
                    slot.number = *numbers;
                    let ended = feed.informer().clone();
                    slot.phase = self.starting(slot.number, Arc::clone(&slot.wanted), Some(ended));
                }
            }
        }
        None
    }

    /// A connection takes the place of the one that is there, if there is one. Its number.
    pub(super) fn attach(&self) -> u64 {
        let mut state = self.state.lock();
        state.numbers += 1;
        state.connection = state.numbers;
        state.alone_since = None;
        let connection = state.connection;
        drop(state);
        self.bell.ring(); // the other, so that it ends
        connection
    }

    /// A connection has ended.
    pub(super) fn detach(&self, connection: u64) {
        let mut state = self.state.lock();
        if state.connection == connection {
            state.alone_since = Some(Instant::now());
        }
        drop(state);
        self.bell.ring(); // whoever has taken its place: the ring that this one took may have been for him
    }

    pub(super) fn alone_since(&self) -> Option<Instant> {
        self.state.lock().alone_since
    }

    pub(super) fn last(&self) -> u64 {
        self.state.lock().held.last()
    }

    /// Ends it, and its connection.
    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        state.is_closed = true;
        let slots = std::mem::take(&mut state.slots);
        drop(state);
        drop(slots);
        self.bell.ring();
    }
}

impl State {
    /// T3.
    fn begin_again(&mut self) {
        self.held.forget();
        for slot in &mut self.slots {
            slot.begin_again();
        }
    }
}

impl Slot {
    fn started(&mut self, started: Result<Feed, Failure>) {
        self.phase = match started {
            Ok(feed) => Phase::Live(Box::new(feed)),
            Err(failure) => {
                let status = failure.status().as_u16();
                Phase::Failed { message: failure.message().to_owned(), status }
            }
        };
        self.introduce();
    }

    /// T3. What is starting will introduce itself.
    fn begin_again(&mut self) {
        if let Phase::Live(feed) = &mut self.phase {
            feed.again();
        }
        self.introduce();
    }

    fn introduce(&mut self) {
        self.to_say.clear();
        match &self.phase {
            Phase::Starting { .. } => {}
            Phase::Live(feed) => {
                self.to_say.extend(self.has_spoken.then_some(What::Reset));
                self.to_say.extend(feed.columns());
            }
            Phase::Failed { message, status } => {
                self.to_say.push_back(What::Failed { message: message.clone(), status: *status });
            }
        }
    }
}
