//! Attempts: where a request is sent, as whom, and whether it is sent again.
//!
//! - A1: a token that is refused is asked for anew, once a request.
//! - A2: where etcd is unavailable, what only reads is asked over the connection that there was and then at each
//!   endpoint once. What writes is not, once it may have been sent: it may have been done.

use std::time::Duration;

use http::HeaderValue;

use crate::auth::Auth;
use crate::channel::Channel;
use crate::connection::Connection;
use crate::error::Error;
use crate::grpc::Call;

/// Whether a request may be sent twice (A2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// What is done twice is done once.
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
    /// How often it may yet fail because etcd is unavailable.
    left: usize,
    has_renewed: bool,
    /// Of the attempt that goes on.
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

    /// What the next attempt is made with.
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
                // That the password was sent does not matter.
                Err(error) if error.is_unavailable() => self.unavailable(error).await?,
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits for an answer no longer than an answer may take.
    pub(crate) async fn in_time<T>(
        &self,
        answer: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        match tokio::time::timeout(self.timeout, answer).await {
            Ok(outcome) => outcome,
            Err(_) => Err(Error::unavailable(format!("there is no answer within {:?}", self.timeout))),
        }
    }

    /// Returns if there is to be another attempt.
    pub(crate) async fn failed(&mut self, error: Error) -> Result<(), Error> {
        if error.is_unavailable() {
            let may_be_done = self.repeat == Repeat::Writes && !matches!(error, Error::Unreachable(_));
            if may_be_done {
                self.left = 0; // A2
            }
            return self.unavailable(error).await;
        }
        if error.wants_token() && self.auth.has_user() && !self.has_renewed {
            self.has_renewed = true; // A1
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
