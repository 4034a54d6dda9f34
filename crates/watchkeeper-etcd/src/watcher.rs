//! Watcher: the responses of a watch.

use bytes::Bytes;
use tokio::sync::mpsc;

use crate::codec::{Decode as _, encode};
use crate::connection::Connection;
use crate::error::Error;
use crate::grpc::{Call, Messages, Outgoing, frame};
use crate::message::{Header, ProgressRequest, Watch, WatchRequest, WatchResponse};

/// Capacity of the queue of progress requests: a request that finds others there is not needed.
const REQUESTS: usize = 2;

/// A running watch. Dropping it cancels it.
#[derive(Debug)]
pub struct Watcher {
    requests: mpsc::Sender<Bytes>,
    messages: Messages,
    created: Header,
}

impl Watcher {
    /// Sends the request, and waits until etcd has created the watch.
    pub(crate) async fn open(mut connection: Connection, call: Call, watch: &Watch) -> Result<Self, Error> {
        let (requests, body) = mpsc::channel(REQUESTS);
        let request = frame(&encode(&WatchRequest(watch)))?;
        // Cannot be full: this is the first.
        requests.try_send(request).map_err(|error| Error::unavailable(error.to_string()))?;
        let messages = call.send(&mut connection, Outgoing::Many(body)).await?;
        let mut watcher = Self { requests, messages, created: Header::default() };
        let first = watcher.next().await?;
        if !first.created {
            return Err(Error::NotEtcd("first watch response is not a creation".to_owned()));
        }
        watcher.created = first.header;
        Ok(watcher)
    }

    /// Returns the header of the response that created the watch.
    pub fn created(&self) -> Header {
        self.created
    }

    /// Waits for the next response. Long ones arrive in [fragments](WatchResponse::fragment). Cancel safe: dropping
    /// the future loses nothing.
    ///
    /// # Errors
    /// Any [`Error`] ends the watch. [`Error::Compacted`] if it begins, or has fallen, behind the compacted revision.
    pub async fn next(&mut self) -> Result<WatchResponse, Error> {
        let message = self.messages.next().await?;
        let message = message.ok_or_else(|| Error::unavailable("watch closed by the server"))?;
        let response = WatchResponse::decode(message)?;
        if response.canceled {
            return Err(Error::from_cancel(response.compact_revision, response.cancel_reason));
        }
        Ok(response)
    }

    /// Requests a [progress](WatchResponse::is_progress) response, which arrives after all changes up to its
    /// revision. A watch that lags behind may get none.
    pub fn request_progress(&self) {
        // If the queue is full, a request is pending already; if it is closed, `next` returns the error.
        if let Ok(request) = frame(&encode(&ProgressRequest)) {
            let _ = self.requests.try_send(request);
        }
    }
}
