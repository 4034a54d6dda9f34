//! Fault: what happens to which requests, and how often.

use std::time::Duration;

use crate::http::Verb;
use watchkeeper_core::Status;

use super::{Answer, Requests, too_old};

/// A rule: these requests, this effect, so often. It begins with [`Fault::on`] or [`Requests::any`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "it happens once it is added"]
pub struct Fault {
    pub(super) requests: Requests,
    pub(super) effect: Effect,
    pub(super) times: Option<u64>,
    pub(super) every: u64,
    pub(super) after_events: u64,
}

impl Fault {
    /// Requests of a verb, to be narrowed, and then told what happens to them.
    pub fn on(verb: Verb) -> Requests {
        Requests::of(verb)
    }

    /// At most so often; without this, until it is removed.
    pub fn times(mut self, times: u64) -> Self {
        self.times = Some(times);
        self
    }

    /// Only to each nth request that fits: with 3, to the third, the sixth and so on. 0 counts as 1, which
    /// is every one of them.
    pub fn every(mut self, nth: u64) -> Self {
        self.every = nth.max(1);
        self
    }

    /// Of a watch: only after so many events, bookmarks not counted. It says nothing to delays, to
    /// answers, and to requests that are no watch.
    pub fn after_events(mut self, events: u64) -> Self {
        self.after_events = events;
        self
    }

    /// Which requests.
    pub fn requests(&self) -> &Requests {
        &self.requests
    }

    /// What happens to them.
    pub fn effect(&self) -> &Effect {
        &self.effect
    }
}

/// What happens to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// It is answered by this, and not done.
    Answer(Answer),
    /// It waits, and goes on.
    Delay(Duration),
    /// It is done, and its answer ends in this way.
    End(Ending),
}

/// How an answer ends, where it does not end by itself. [`Requests`] says what each means for which
/// request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// As if all were well.
    Clean,
    /// Within an event, or half-way through a body.
    Abrupt,
    /// The same, and with it everything on this connection.
    Connection,
    /// Not at all, and nothing comes any more.
    Stall,
    /// With an ERROR event.
    Error(Box<Status>),
}

impl Ending {
    /// With an ERROR event that says 410.
    pub fn expired() -> Self {
        Self::Error(Box::new(too_old()))
    }
}
