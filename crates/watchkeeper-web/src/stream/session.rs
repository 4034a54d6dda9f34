//! Session: the state of a stream, which outlives its connections (`stream.S2`).

use std::sync::{Arc, Weak};
use std::task::{Wake, Waker};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;
use watchkeeper_cache::Informer;

use super::REAUTHORIZE_EVERY;
use super::message::Message;
use super::replay_buffer::{Replay, ReplayBuffer};
use super::request::{SubscriptionRequest, SubscriptionSet};
use super::start::Starter;
use super::subscription::{Changes, Live, Output, StartTask, Subscription};
use crate::access::{AccessError, Identity};
use crate::envelope::Failure;
use crate::freshness::{self, Freshness, Outage};

/// A stream.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) id: Arc<str>,
    pub(super) identity: Identity,
    starter: Arc<Starter>,
    /// Notified when there may be something to [pull](Session::pull).
    pub(super) ready: Arc<Notify>,
    state: Mutex<State>,
}

/// A waker through which informers notify a session.
struct NotifyWaker(Arc<Notify>);

impl Wake for NotifyWaker {
    fn wake(self: Arc<Self>) {
        self.0.notify_one();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.notify_one();
    }
}

#[derive(Debug, Default)]
struct State {
    subscriptions: Vec<Subscription>,
    /// Index of the subscription to poll first, for fairness.
    turn: usize,
    replay: ReplayBuffer,
    /// Whether changes are being encoded, without the lock. Meanwhile nothing else is polled: a connection that replaces
    /// the encoding one would overtake it.
    is_encoding: bool,
    /// Last number given to a connection or the start of a subscription.
    numbers: u64,
    /// Number of the current connection. A newer one replaces it.
    connection: u64,
    /// Since when there is no connection.
    disconnected_since: Option<Instant>,
    /// When permissions were last checked.
    authorized_at: Option<Instant>,
    /// The task that checks permissions.
    authorizing: Option<AbortOnDropHandle<()>>,
    is_closed: bool,
}

/// The next step of a connection.
#[derive(Debug)]
pub(super) enum Pulled {
    /// Send this frame.
    Frame(Bytes),
    /// Wait for `ready`.
    Nothing,
    /// Close: another connection has replaced it, or the stream is closed.
    Closed,
}

enum Work {
    Send(Message),
    Encode(Arc<str>, Changes),
}

impl Session {
    pub(super) fn new(id: Arc<str>, identity: Identity, starter: Arc<Starter>) -> Arc<Self> {
        Arc::new(Self { id, identity, starter, ready: Arc::default(), state: Mutex::default() })
    }

    /// Replaces the subscriptions. Those that stay the same continue.
    pub(super) fn replace(self: &Arc<Self>, requests: SubscriptionSet) {
        let mut state = self.state.lock();
        let mut before = std::mem::take(&mut state.subscriptions);
        for request in requests.into_inner() {
            let same =
                before.iter().position(|known| *known.id == *request.id).map(|at| before.swap_remove(at));
            let subscription = match same {
                Some(known) if *known.request == request => known,
                other => {
                    before.extend(other);
                    state.numbers += 1;
                    let (number, request) = (state.numbers, Arc::new(request));
                    let task = self.start(number, Arc::clone(&request), None);
                    let has_content = state.replay.last() > 0 || state.is_encoding;
                    Subscription::new(number, request, task, has_content)
                }
            };
            state.subscriptions.push(subscription);
        }
        state.turn = 0;
        drop(state);
        drop(before); // without the lock: it may be large
    }

    fn start(
        self: &Arc<Self>,
        number: u64,
        request: Arc<SubscriptionRequest>,
        ended: Option<Informer>,
    ) -> StartTask {
        let (session, starter) = (Arc::downgrade(self), Arc::clone(&self.starter));
        let (identity, waker) =
            (self.identity.clone(), Waker::from(Arc::new(NotifyWaker(Arc::clone(&self.ready)))));
        AbortOnDropHandle::new(tokio::spawn(async move {
            let started = match ended {
                Some(ended) => starter.restart(&ended, &identity, &request, waker).await,
                None => starter.start(&identity, &request, waker).await,
            };
            if let Some(session) = Weak::upgrade(&session) {
                session.complete(number, started);
            }
        }))
    }

    fn complete(&self, number: u64, started: Result<Live, Failure>) {
        let mut state = self.state.lock();
        if let Some(subscription) = state.subscriptions.iter_mut().find(|known| known.number == number) {
            subscription.complete(started);
        }
        drop(state);
        self.ready.notify_one();
    }

    /// Returns the frame after `cursor`, and advances the cursor.
    pub(super) fn pull(self: &Arc<Self>, connection: u64, cursor: &mut u64) -> Pulled {
        loop {
            let mut state = self.state.lock();
            if state.is_closed || state.connection != connection {
                return Pulled::Closed;
            }
            self.reauthorize(&mut state);
            match state.replay.after(*cursor) {
                Replay::Message(sequence, message) => {
                    drop(state);
                    *cursor = sequence;
                    return Pulled::Frame(message.frame(&self.id, sequence));
                }
                Replay::UpToDate | Replay::Gap if state.is_encoding => return Pulled::Nothing,
                Replay::Gap => {
                    state.reset();
                    *cursor = state.replay.last();
                }
                Replay::UpToDate => {}
            }
            match self.poll(&mut state) {
                None => return Pulled::Nothing,
                Some(Work::Send(message)) => state.replay.push(message),
                Some(Work::Encode(sub, changes)) => {
                    state.is_encoding = true;
                    drop(state);
                    let message = Message { sub, payload: changes.encode() };
                    let mut state = self.state.lock();
                    state.is_encoding = false;
                    state.replay.push(message);
                    if state.connection != connection {
                        self.ready.notify_one(); // the connection that has replaced this one waits for the message
                    }
                }
            }
        }
    }

    /// Checks the permissions again from time to time (`stream.S4`).
    fn reauthorize(self: &Arc<Self>, state: &mut State) {
        let Identity::User(user) = &self.identity else { return };
        if state.authorized_at.get_or_insert_with(Instant::now).elapsed() < REAUTHORIZE_EVERY {
            return;
        }
        state.authorized_at = Some(Instant::now());
        let live = state.subscriptions.iter().filter_map(|subscription| {
            let mapping = Arc::clone(subscription.mapping()?);
            Some((subscription.number, Arc::clone(&subscription.request), mapping))
        });
        let live: Vec<_> = live.collect();
        let (session, starter, user) = (Arc::downgrade(self), Arc::clone(&self.starter), Arc::clone(user));
        state.authorizing = Some(AbortOnDropHandle::new(tokio::spawn(async move {
            if let Err(AccessError::Unauthenticated(_)) = starter.access().authenticate(&user.token).await
                && let Some(session) = Weak::upgrade(&session)
            {
                return session.close(); // the client has to authenticate again
            }
            let identity = Identity::User(user);
            for (number, request, mapping) in live {
                if let Err(error @ AccessError::Forbidden(_)) =
                    starter.authorize(&identity, &mapping, &request).await
                    && let Some(session) = Weak::upgrade(&session)
                {
                    session.complete(number, Err(error.into()));
                }
            }
        })));
    }

    /// Polls the subscriptions in turn. One with several messages keeps its turn.
    fn poll(self: &Arc<Self>, state: &mut State) -> Option<Work> {
        let (numbers, count) = (&mut state.numbers, state.subscriptions.len());
        for _ in 0..count {
            let subscription = &mut state.subscriptions[state.turn % count];
            let output = subscription.poll();
            if let Output::Message(message) = output {
                return Some(Work::Send(message));
            }
            state.turn = (state.turn + 1) % count;
            match output {
                Output::Idle | Output::Message(_) => {}
                Output::Changes(sub, changes) => return Some(Work::Encode(sub, changes)),
                Output::Ended(informer) => {
                    *numbers += 1;
                    let task = self.start(*numbers, Arc::clone(&subscription.request), Some(informer));
                    subscription.restart(*numbers, task);
                }
            }
        }
        None
    }

    /// Subscribes to what is up to date.
    pub(super) fn freshness(&self) -> freshness::Receiver {
        self.starter.freshness()
    }

    /// Returns the subscriptions whose resources are stale.
    pub(super) fn stale(&self, freshness: &Freshness) -> Vec<(Arc<str>, Outage)> {
        let state = self.state.lock();
        let stale = state.subscriptions.iter().filter_map(|subscription| {
            let outage = freshness.stale.get(&subscription.mapping()?.resource)?;
            Some((Arc::clone(&subscription.id), outage.clone()))
        });
        stale.collect()
    }

    /// Replaces the current connection, if any. Returns the number of the new one.
    pub(super) fn attach(&self) -> u64 {
        let mut state = self.state.lock();
        state.numbers += 1;
        state.connection = state.numbers;
        state.disconnected_since = None;
        let connection = state.connection;
        drop(state);
        self.ready.notify_one(); // ends the replaced connection
        connection
    }

    /// Ends a connection.
    pub(super) fn detach(&self, connection: u64) {
        let mut state = self.state.lock();
        if state.connection == connection {
            state.disconnected_since = Some(Instant::now());
        }
        drop(state);
        self.ready.notify_one(); // passes on a notification that the ended connection may have consumed
    }

    pub(super) fn disconnected_since(&self) -> Option<Instant> {
        self.state.lock().disconnected_since
    }

    /// Returns the number of the last message.
    pub(super) fn last(&self) -> u64 {
        self.state.lock().replay.last()
    }

    /// Closes the stream and its connection.
    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        state.is_closed = true;
        let subscriptions = std::mem::take(&mut state.subscriptions);
        drop(state);
        drop(subscriptions);
        self.ready.notify_one();
    }
}

impl State {
    /// Sends everything again (`stream.S3`).
    fn reset(&mut self) {
        self.replay.clear();
        for subscription in &mut self.subscriptions {
            subscription.reset();
        }
    }
}
