//! Watching: the stream of a watch.

use bytes::Bytes;
use tokio::sync::mpsc;

use crate::codec::{Decode as _, encode};
use crate::connection::Connection;
use crate::error::Error;
use crate::grpc::{Call, Messages, Outgoing, frame};
use crate::message::{Header, ProgressRequest, Watch, WatchRequest, WatchResponse};

/// How many requests for progress may wait to be sent: one that finds others there is not needed.
const REQUESTS: usize = 2;

/// A watch that goes on. Dropping it ends it.
#[derive(Debug)]
pub struct Watching {
    requests: mpsc::Sender<Bytes>,
    messages: Messages,
    created: Header,
}

impl Watching {
    /// Sends the request, and returns when it was answered.
    pub(crate) async fn open(mut connection: Connection, call: Call, watch: &Watch) -> Result<Self, Error> {
        let (requests, body) = mpsc::channel(REQUESTS);
        let request = frame(&encode(&WatchRequest(watch)))?;
        // There is room: it is the first.
        requests.try_send(request).map_err(|error| Error::unavailable(error.to_string()))?;
        let messages = call.send(&mut connection, Outgoing::Many(body)).await?;
        let mut watching = Self { requests, messages, created: Header::default() };
        let first = watching.next().await?;
        if !first.created {
            return Err(Error::NotEtcd("a watch does not begin with its beginning".to_owned()));
        }
        watching.created = first.header;
        Ok(watching)
    }

    /// Where etcd had got to when the watch was created.
    pub fn created(&self) -> Header {
        self.created
    }

    /// The next that etcd says. Nothing is lost if it is dropped half-way. Long answers come in
    /// [fragments](WatchResponse::fragment).
    ///
    /// # Errors
    /// Any [`Error`] ends the watch: it says nothing more. [`Error::Compacted`] where it begins, or has fallen,
    /// behind what etcd still knows.
    pub async fn next(&mut self) -> Result<WatchResponse, Error> {
        let message = self.messages.next().await?;
        let message = message.ok_or_else(|| Error::unavailable("the watch was closed"))?;
        let response = WatchResponse::decode(message)?;
        match response.canceled {
            true => Err(Error::from_cancel(response.compact_revision, response.cancel_reason)),
            false => Ok(response),
        }
    }

    /// Asks how far the watch has got. The answer is a response that [is progress](WatchResponse::is_progress),
    /// and comes once everything up to its revision has; where the watch is behind, none may come.
    pub fn request_progress(&self) {
        // Where it does not fit, one waits already; where nobody takes it, `next` says why.
        if let Ok(request) = frame(&encode(&ProgressRequest)) {
            let _ = self.requests.try_send(request);
        }
    }
}
