//! Open watch: a watch that stays open during other requests and is read later.

use bytes::Bytes;
use http::Request;
use http::response::Parts;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde_json::{Value, json};

use super::differential::Outcome;
use super::differential::pair::{PATIENCE, Pair, Side};
use super::differential::response::{self, ApiResponse, Watch};

/// An open watch, and the bytes read from it.
pub(crate) struct OpenWatch {
    head: Parts,
    body: Incoming,
    bytes: Vec<u8>,
}

impl OpenWatch {
    pub(crate) async fn open(pair: &Pair, side: Side, request: Request<Bytes>) -> Outcome<Self> {
        let (head, body) = pair.client(side).open(request).await?.into_parts();
        Ok(Self { head, body, bytes: Vec::new() })
    }

    /// Reads up to the event of the object with this version. If the server rejected the watch, returns the rejection.
    pub(crate) async fn until(mut self, version: &str) -> Outcome<ApiResponse> {
        match tokio::time::timeout(PATIENCE, self.read_until(version)).await {
            Ok(response) => response,
            Err(_) => Ok(ApiResponse(json!({"broken": "timed out", "received": self.received()?.0}))),
        }
    }

    async fn read_until(&mut self, version: &str) -> Outcome<ApiResponse> {
        while let Some(frame) = self.body.frame().await {
            let before = response::count_events(&self.head.headers, &self.bytes);
            self.bytes.extend_from_slice(frame?.data_ref().map_or(&[], |data| data));
            if response::count_events(&self.head.headers, &self.bytes) == before {
                continue;
            }
            let received = self.received()?;
            let is_last = |event: &Value| has_version(event, version);
            if received.0["events"].as_array().is_some_and(|events| events.iter().any(is_last)) {
                return Ok(received);
            }
        }
        self.received()
    }

    fn received(&self) -> Outcome<ApiResponse> {
        let events = response::count_events(&self.head.headers, &self.bytes);
        ApiResponse::read(self.head.status, &self.head.headers, &self.bytes, Watch::Events(events))
    }
}

/// Returns whether an event has an object or a table row of this version.
fn has_version(event: &Value, version: &str) -> bool {
    let object = &event["object"];
    let has = |object: &Value| object["metadata"]["resourceVersion"] == version;
    has(object) || object["rows"].as_array().is_some_and(|rows| rows.iter().any(|row| has(&row["object"])))
}
