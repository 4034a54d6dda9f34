//! Attempts: the endpoint, the token and the retries of one request.
//!
//! Invariants:
//! - `attempts.A1`: a rejected token is renewed at most once per request.
//! - `attempts.A2`: if etcd is unavailable, a read is retried once per endpoint. A write is not retried once it may
//!   have been sent, since it may have been applied.

use std::time::Duration;

use http::HeaderValue;

use crate::auth::Auth;
use crate::channel::Channel;
use crate::connection::Connection;
use crate::error::Error;
use crate::grpc::Call;

/// Whether a request may be sent twice (`attempts.A2`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// Idempotent.
    Reads,
    Writes,
}

pub(crate) struct Attempts<'a> {
    channel: &'a Channel,
    auth: &'a Auth,
    timeout: Duration,
    limit: usize,
    method: &'static str,
    repeat: Repeat,
    pub(crate) needs_leader: bool,
    /// Retries left while etcd is unavailable.
    left: usize,
    has_renewed: bool,
    /// Of the current attempt.
    connection: Option<Connection>,
    token: Option<HeaderValue>,
}

impl<'a> Attempts<'a> {
    pub(crate) fn new(
        channel: &'a Channel,
        auth: &'a Auth,
        timeout: Duration,
        limit: usize,
        method: &'static str,
        repeat: Repeat,
    ) -> Self {
        let left = channel.endpoints();
        Self {
            channel,
            auth,
            timeout,
            limit,
            method,
            repeat,
            needs_leader: false,
            left,
            has_renewed: false,
            connection: None,
            token: None,
        }
    }

    /// Begins an attempt: returns a connection, and the call to send.
    pub(crate) async fn begin(&mut self) -> Result<(Connection, Call), Error> {
        loop {
            let mut connection = self.channel.connection().await?;
            self.connection = Some(connection.clone());
            match self.in_time(self.auth.token(&mut connection, self.limit)).await {
                Ok(token) => {
                    self.token = token.clone();
                    let (method, needs_leader, limit) = (self.method, self.needs_leader, self.limit);
                    return Ok((connection, Call { method, token, needs_leader, limit }));
                }
                // Authentication is idempotent, so it is retried for writes too.
                Err(error) if error.is_unavailable() => self.unavailable(error).await?,
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits for a response, up to the request timeout.
    pub(crate) async fn in_time<T>(
        &self,
        response: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        match tokio::time::timeout(self.timeout, response).await {
            Ok(outcome) => outcome,
            Err(_) => Err(Error::unavailable(format!("request timed out after {:?}", self.timeout))),
        }
    }

    /// Prepares another attempt, or returns the error if no attempt is left.
    pub(crate) async fn retry(&mut self, error: Error) -> Result<(), Error> {
        if error.is_unavailable() {
            let may_be_done = self.repeat == Repeat::Writes && !matches!(error, Error::Unreachable(_));
            if may_be_done {
                self.left = 0; // attempts.A2
            }
            return self.unavailable(error).await;
        }
        if error.wants_token() && self.auth.has_user() && !self.has_renewed {
            self.has_renewed = true; // attempts.A1
            self.auth.forget(self.token.as_ref()).await;
            return Ok(());
        }
        Err(error)
    }

    async fn unavailable(&mut self, error: Error) -> Result<(), Error> {
        if let Some(connection) = self.connection.take() {
            self.channel.avoid(&connection).await;
        }
        match self.left.checked_sub(1) {
            None => Err(error),
            Some(left) => {
                self.left = left;
                Ok(())
            }
        }
    }
}
