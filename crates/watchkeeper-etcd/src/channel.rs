//! Channel: one connection for everybody, to whichever endpoint answers.
//!
//! From: endpoints.
//! To:   [`Connection`]s.
//!
//! - E1: an endpoint that cannot be reached, or that is unavailable, makes way for the next one.
//! - E2: at most one connection is being made at any time: who comes meanwhile waits for it.

use std::time::Duration;

use tokio::sync::Mutex;

use crate::connection::{Connection, Endpoint};
use crate::error::Error;

#[derive(Debug)]
pub(crate) struct Channel {
    endpoints: Vec<Endpoint>,
    timeout: Duration,
    /// Held while a connection is made (E2).
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    connection: Option<Connection>,
    /// The endpoint to try first.
    first: usize,
    made: u64,
}

impl Channel {
    /// `endpoints` has at least one.
    pub(crate) fn new(endpoints: Vec<Endpoint>, timeout: Duration) -> Self {
        Self { endpoints, timeout, state: Mutex::default() }
    }

    pub(crate) fn endpoints(&self) -> usize {
        self.endpoints.len()
    }

    /// The connection that there is, or a new one. Dropped half-way, nothing has happened.
    pub(crate) async fn connection(&self) -> Result<Connection, Error> {
        let mut state = self.state.lock().await;
        if let Some(connection) = state.connection.as_ref().filter(|connection| !connection.is_closed()) {
            return Ok(connection.clone());
        }
        state.connection = None;
        let mut last = None;
        for at in 0..self.endpoints.len() {
            let index = (state.first + at) % self.endpoints.len();
            match self.endpoints[index].connect(self.timeout, state.made).await {
                Ok(connection) => {
                    state.made += 1;
                    state.first = index;
                    state.connection = Some(connection.clone());
                    return Ok(connection);
                }
                Err(error) => {
                    tracing::debug!(error, "an endpoint of etcd cannot be reached");
                    last = Some(error);
                }
            }
        }
        Err(Error::Unreachable(last.unwrap_or_else(|| "there is no endpoint".into())))
    }

    /// The next connection is made anew, and to the next endpoint (E1). Calls that are under way go on.
    pub(crate) async fn avoid(&self, connection: &Connection) {
        let mut state = self.state.lock().await;
        if state.connection.as_ref().is_some_and(|current| current.number == connection.number) {
            state.connection = None;
            state.first = (state.first + 1) % self.endpoints.len();
        }
    }
}
