//! Faults: an effect on matching requests.

use std::time::Duration;

use crate::http::Verb;
use watchkeeper_core::Status;

use super::{Answer, Requests, too_old};

/// A rule: an effect on some requests. Built with [`Fault::on`] or [`Requests::any`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a fault has no effect until it is added"]
pub struct Fault {
    pub(super) requests: Requests,
    pub(super) effect: Effect,
    pub(super) times: Option<u64>,
    pub(super) every: u64,
    pub(super) after_events: u64,
}

impl Fault {
    /// Selects requests by verb, to be narrowed and given an effect.
    pub fn on(verb: Verb) -> Requests {
        Requests::of(verb)
    }

    /// Limits the number of requests affected; by default unlimited.
    pub fn times(mut self, times: u64) -> Self {
        self.times = Some(times);
        self
    }

    /// Affects only every nth matching request: with 3, the third, the sixth and so on. 0 counts as 1, every request.
    pub fn every(mut self, nth: u64) -> Self {
        self.every = nth.max(1);
        self
    }

    /// Affects a watch only after this number of events, not counting bookmarks. Ignored for delays and responses,
    /// and for other requests than watches.
    pub fn after_events(mut self, events: u64) -> Self {
        self.after_events = events;
        self
    }

    /// Returns the selected requests.
    pub fn requests(&self) -> &Requests {
        &self.requests
    }

    /// Returns the effect.
    pub fn effect(&self) -> &Effect {
        &self.effect
    }
}

/// The effect of a fault on a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Responds with this, without serving the request.
    Answer(Answer),
    /// Delays the request.
    Delay(Duration),
    /// Serves the request, and ends the response like this.
    End(Ending),
}

/// The end of a response, if not its own. [`Requests`] describes the effect on each kind of request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// Ends normally.
    Clean,
    /// Breaks off inside an event, or in the middle of a body.
    Abrupt,
    /// Breaks off and closes the connection.
    Connection,
    /// Sends nothing more, and does not end.
    Stall,
    /// Ends with an ERROR event.
    Error(Box<Status>),
}

impl Ending {
    /// Returns an ending with an ERROR event of code 410.
    pub fn expired() -> Self {
        Self::Error(Box::new(too_old()))
    }
}
