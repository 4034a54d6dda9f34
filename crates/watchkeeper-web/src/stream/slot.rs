//! Slot: the place of a subscription in its stream, whether it has begun or not.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio_util::task::AbortOnDropHandle;

use super::feed::Feed;
use super::message::{Message, What};
use super::subscription::Subscription;
use crate::envelope::Failure;

/// The place of a subscription.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) number: u64,
    pub(super) id: Arc<str>,
    pub(super) wanted: Arc<Subscription>,
    pub(super) phase: Phase,
    /// To be said before anything else, in order.
    to_say: VecDeque<What>,
    /// Whether its reader may have something of it, or may still get something of another that was called the same.
    has_spoken: bool,
}

#[derive(Debug)]
pub(super) enum Phase {
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

impl Slot {
    pub(super) fn new(number: u64, wanted: Arc<Subscription>, phase: Phase, has_spoken: bool) -> Self {
        let id = wanted.id.as_str().into();
        Self { number, id, wanted, phase, to_say: VecDeque::new(), has_spoken }
    }

    /// What it has to say, if there is something.
    pub(super) fn say(&mut self) -> Option<Message> {
        let what = self.to_say.pop_front()?;
        Some(self.message(what))
    }

    pub(super) fn message(&mut self, what: What) -> Message {
        Message { sub: self.speaks(), what }
    }

    /// It says something. Its id.
    pub(super) fn speaks(&mut self) -> Arc<str> {
        self.has_spoken = true;
        Arc::clone(&self.id)
    }

    pub(super) fn started(&mut self, started: Result<Feed, Failure>) {
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
    pub(super) fn begin_again(&mut self) {
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
