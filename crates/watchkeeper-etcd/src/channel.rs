//! Channel: one shared connection, to the first endpoint that can be reached.
//!
//! Input: endpoints.
//! Output: [`Connection`]s.
//!
//! Invariants:
//! - `channel.E1`: after an endpoint that is unreachable or unavailable, the next one is tried.
//! - `channel.E2`: at most one connection is being established; concurrent requests wait for it.

use std::time::Duration;

use tokio::sync::Mutex;

use crate::connection::{Connection, Endpoint};
use crate::error::Error;

#[derive(Debug)]
pub(crate) struct Channel {
    endpoints: Vec<Endpoint>,
    timeout: Duration,
    /// Locked while a connection is established (`channel.E2`).
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
    /// Creates a channel; `endpoints` must not be empty.
    pub(crate) fn new(endpoints: Vec<Endpoint>, timeout: Duration) -> Self {
        Self { endpoints, timeout, state: Mutex::default() }
    }

    pub(crate) fn endpoints(&self) -> usize {
        self.endpoints.len()
    }

    /// Returns the current connection, or establishes a new one.
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
                    tracing::debug!(error, "failed to connect to an etcd endpoint; trying the next");
                    last = Some(error);
                }
            }
        }
        Err(Error::Unreachable(last.unwrap_or_else(|| "no endpoints".into())))
    }

    /// Drops a connection, so that the next request connects to the next endpoint (`channel.E1`). Calls in flight
    /// continue.
    pub(crate) async fn avoid(&self, connection: &Connection) {
        let mut state = self.state.lock().await;
        if state.connection.as_ref().is_some_and(|current| current.number == connection.number) {
            state.connection = None;
            state.first = (state.first + 1) % self.endpoints.len();
        }
    }
}
