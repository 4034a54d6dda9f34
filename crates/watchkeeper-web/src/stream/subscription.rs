//! Subscription: one subscription of a stream, as a state machine.
//!
//! Input: the changes of an informer, and the results of starting it.
//! Output: messages and changes, by [`poll`](Subscription::poll).
//!
//! ```text
//! Starting --> Live --(informer ended)--> Starting
//!    |          |
//!    +----------+--> Failed
//! ```
//!
//! - `subscription.B1`: a client that may have content of this id receives `reset` before new content.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Waker;

use tokio_util::task::AbortOnDropHandle;
use watchkeeper_cache::Informer;
use watchkeeper_cache::delta::{Delta, Transient};
use watchkeeper_cache::handler::{self, Filter, Resync, SubscriptionOptions};
use watchkeeper_client::discovery::Mapping;
use watchkeeper_core::{Object, ObjectKey};

use super::BATCH;
use super::message::{Message, Payload};
use super::object_encoder::ObjectEncoder;
use super::request::{Format, SubscriptionRequest};
use super::rows::Rows;
use crate::catalog::Watched;
use crate::envelope::Failure;

/// The task that starts a subscription; dropping it cancels the start.
pub(super) type StartTask = AbortOnDropHandle<()>;

/// A subscription of a stream.
#[derive(Debug)]
pub(super) struct Subscription {
    /// Number of the current start; the results of earlier ones are ignored.
    pub(super) number: u64,
    pub(super) id: Arc<str>,
    pub(super) request: Arc<SubscriptionRequest>,
    state: State,
    /// Sent before any changes, in order.
    pending: VecDeque<Payload>,
    /// Whether the client may have content of this id, also of an earlier subscription (`subscription.B1`).
    has_content: bool,
}

#[derive(Debug)]
enum State {
    Starting { _task: StartTask },
    Live(Box<Live>),
    Failed { message: String, status: u16 },
}

/// The next output of a subscription.
#[derive(Debug)]
pub(super) enum Output {
    /// Nothing, for now.
    Idle,
    Message(Message),
    /// Changes to [encode](Changes::encode), and the id of the subscription.
    Changes(Arc<str>, Changes),
    /// The informer has ended: the subscription is to be [restarted](Subscription::restart).
    Ended(Informer),
}

impl Subscription {
    /// Creates a subscription in the state `Starting`.
    pub(super) fn new(
        number: u64,
        request: Arc<SubscriptionRequest>,
        task: StartTask,
        has_content: bool,
    ) -> Self {
        let id = request.id.as_str().into();
        Self {
            number,
            id,
            request,
            state: State::Starting { _task: task },
            pending: VecDeque::new(),
            has_content,
        }
    }

    /// Starts again, with another number.
    pub(super) fn restart(&mut self, number: u64, task: StartTask) {
        self.number = number;
        self.state = State::Starting { _task: task };
    }

    /// Enters the state `Live` or `Failed`.
    pub(super) fn complete(&mut self, started: Result<Live, Failure>) {
        self.state = match started {
            Ok(live) => State::Live(Box::new(live)),
            Err(failure) => {
                State::Failed { message: failure.message().to_owned(), status: failure.status().as_u16() }
            }
        };
        self.introduce();
    }

    /// Sends everything again (`stream.S3`). While starting, that happens anyway.
    pub(super) fn reset(&mut self) {
        if let State::Live(live) = &mut self.state {
            live.resubscribe();
        }
        self.introduce();
    }

    /// Returns the resource, if live.
    pub(super) fn mapping(&self) -> Option<&Arc<Mapping>> {
        match &self.state {
            State::Live(live) => Some(&live.watched.mapping),
            State::Starting { .. } | State::Failed { .. } => None,
        }
    }

    /// Returns the next output.
    pub(super) fn poll(&mut self) -> Output {
        if let Some(payload) = self.pending.pop_front() {
            return self.message(payload);
        }
        let State::Live(live) = &mut self.state else { return Output::Idle };
        match live.poll() {
            LiveOutput::Idle => Output::Idle,
            LiveOutput::Synced(count) => self.message(Payload::Synced { count }),
            LiveOutput::Changes(changes) => {
                self.has_content = true;
                Output::Changes(Arc::clone(&self.id), changes)
            }
            LiveOutput::Ended => Output::Ended(live.watched.informer.clone()),
        }
    }

    fn message(&mut self, payload: Payload) -> Output {
        self.has_content = true;
        Output::Message(Message { sub: Arc::clone(&self.id), payload })
    }

    /// Queues the messages that precede the content of a state.
    fn introduce(&mut self) {
        self.pending.clear();
        match &self.state {
            State::Starting { .. } => {}
            State::Live(live) => {
                self.pending.extend(self.has_content.then_some(Payload::Reset));
                self.pending.extend(live.columns());
            }
            State::Failed { message, status } => {
                self.pending.push_back(Payload::Failed { message: message.clone(), status: *status });
            }
        }
    }
}

/// A live subscription: the changes of an informer.
#[derive(Debug)]
pub(super) struct Live {
    watched: Watched,
    options: SubscriptionOptions,
    encoder: Encoder,
    changes: handler::Subscription,
    /// Number of objects sent as initial content; `None` once `synced` was sent.
    initial: Option<usize>,
}

/// An encoder of objects in the requested format.
#[derive(Debug, Clone)]
pub(super) enum Encoder {
    Rows(Arc<Rows>),
    Objects(Arc<ObjectEncoder>),
}

enum LiveOutput {
    Idle,
    Changes(Changes),
    /// All of the initial content was taken; its number of objects.
    Synced(usize),
    Ended,
}

/// Changes that were taken from an informer, at most [`BATCH`].
#[derive(Debug)]
pub(super) struct Changes {
    encoder: Encoder,
    now: Vec<Arc<Object>>,
    gone: Vec<ObjectKey>,
}

impl Live {
    /// Subscribes to an informer; `waker` is called when there are changes.
    pub(super) fn new(watched: Watched, filter: Filter, encoder: Encoder, waker: Waker) -> Self {
        let options = SubscriptionOptions {
            filter,
            name: "stream".to_owned(),
            resync: Resync::Never,
            transient: Transient::Skip, // a row that was added and deleted in between is never shown
            waker: Some(waker),
        };
        let changes = watched.informer.subscribe(options.clone());
        Self { watched, options, encoder, changes, initial: Some(0) }
    }

    /// Starts again with the initial content.
    fn resubscribe(&mut self) {
        self.changes = self.watched.informer.subscribe(self.options.clone());
        self.initial = Some(0);
    }

    /// Returns the columns, if rows were requested.
    fn columns(&self) -> Option<Payload> {
        match &self.encoder {
            Encoder::Rows(rows) => Some(Payload::Columns(rows.columns())),
            Encoder::Objects(_) => None,
        }
    }

    fn poll(&mut self) -> LiveOutput {
        let Some(deltas) = self.changes.take(BATCH) else { return LiveOutput::Ended };
        if deltas.is_empty() {
            return match self.initial {
                Some(count) if self.changes.is_caught_up() => {
                    self.initial = None;
                    LiveOutput::Synced(count)
                }
                _ => LiveOutput::Idle,
            };
        }
        let now = Vec::with_capacity(deltas.len());
        let mut changes = Changes { encoder: self.encoder.clone(), now, gone: Vec::new() };
        for delta in deltas {
            if let Some(initial) = &mut self.initial {
                match &delta {
                    Delta::Added { .. } => *initial += 1,
                    Delta::Deleted { .. } => *initial = initial.saturating_sub(1),
                    Delta::Updated { .. } | Delta::Resync(_) => {}
                }
            }
            changes.add(delta);
        }
        LiveOutput::Changes(changes)
    }
}

impl Changes {
    fn add(&mut self, delta: Delta<Arc<Object>>) {
        match delta {
            Delta::Added { new, .. } | Delta::Updated { new, .. } | Delta::Resync(new) => {
                // A replacement follows the deletion of the object that it replaces.
                self.gone.pop_if(|key| key == new.metadata.key());
                self.now.push(new);
            }
            Delta::Deleted { old, .. } => self.gone.push(old.metadata.key().clone()),
        }
    }

    /// Encodes the changes. Slow if rows have to be computed.
    pub(super) fn encode(self) -> Payload {
        let (format, now) = match &self.encoder {
            Encoder::Rows(rows) => (Format::Row, rows.of(&self.now)),
            Encoder::Objects(objects) => {
                (Format::Object, self.now.iter().map(|object| objects.encode(object)).collect())
            }
        };
        Payload::Changed { format, now, gone: self.gone }
    }
}
