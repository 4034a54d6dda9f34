//! Session: a stream, whether its reader is there or comes back (T2).

use std::sync::{Arc, Weak};
use std::task::{Wake, Waker};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;
use watchkeeper_cache::Informer;

use super::CHECK;
use super::feed::{Changes, Feed, Taken};
use super::held::{Held, Next};
use super::message::{Message, What};
use super::slot::{Phase, Slot};
use super::start::Starter;
use super::subscription::{Set, Subscription};
use crate::access::{Refused, Who};
use crate::envelope::Failure;
use crate::freshness::{self, Freshness, Outage};

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
    /// When it was last asked whether they still may, and who asks.
    checked: Option<Instant>,
    checking: Option<AbortOnDropHandle<()>>,
    is_closed: bool,
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
                    let phase = self.starting(number, Arc::clone(&wanted), None);
                    Slot::new(number, wanted, phase, state.held.last() > 0)
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
            self.check_again(&mut state);
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

    /// Asks now and then whether they still may see what they see (T4).
    fn check_again(self: &Arc<Self>, state: &mut State) {
        let Who::User(user) = &self.who else { return };
        if state.checked.get_or_insert_with(Instant::now).elapsed() < CHECK {
            return;
        }
        state.checked = Some(Instant::now());
        let live = state.slots.iter().filter_map(|slot| match &slot.phase {
            Phase::Live(feed) => Some((slot.number, Arc::clone(&slot.wanted), Arc::clone(feed.mapping()))),
            Phase::Starting { .. } | Phase::Failed { .. } => None,
        });
        let live: Vec<_> = live.collect();
        let (session, starter, user) = (Arc::downgrade(self), Arc::clone(&self.starter), Arc::clone(user));
        state.checking = Some(AbortOnDropHandle::new(tokio::spawn(async move {
            if let Err(Refused::Unknown(_)) = starter.access().whose(&user.token).await
                && let Some(session) = Weak::upgrade(&session)
            {
                return session.close(); // who comes back is asked who he is
            }
            let who = Who::User(user);
            for (number, wanted, mapping) in live {
                if let Err(refused @ Refused::Denied(_)) = starter.check(&who, &mapping, &wanted).await
                    && let Some(session) = Weak::upgrade(&session)
                {
                    session.started(number, Err(refused.into()));
                }
            }
        })));
    }

    /// What there is to say, by whose turn it is.
    fn work(self: &Arc<Self>, state: &mut State) -> Option<Work> {
        let (numbers, count) = (&mut state.numbers, state.slots.len());
        for _ in 0..count {
            let slot = &mut state.slots[state.turn % count];
            if let Some(message) = slot.say() {
                return Some(Work::Say(message));
            }
            state.turn = (state.turn + 1) % count;
            let Phase::Live(feed) = &mut slot.phase else { continue };
            match feed.take() {
                Taken::Nothing => {}
                Taken::Changes(changes) => return Some(Work::Write(slot.speaks(), changes)),
                Taken::Synced(count) => return Some(Work::Say(slot.message(What::Synced { count }))),
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

    /// What is current, from now on.
    pub(super) fn freshness(&self) -> freshness::Receiver {
        self.starter.freshness()
    }

    /// The subscriptions whose resources are not current.
    pub(super) fn stale(&self, freshness: &Freshness) -> Vec<(Arc<str>, Outage)> {
        let state = self.state.lock();
        let live = state.slots.iter().filter_map(|slot| match &slot.phase {
            Phase::Live(feed) => Some((slot, feed)),
            Phase::Starting { .. } | Phase::Failed { .. } => None,
        });
        let stale = live.filter_map(|(slot, feed)| {
            Some((Arc::clone(&slot.id), freshness.stale.get(&feed.mapping().resource)?.clone()))
        });
        stale.collect()
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
