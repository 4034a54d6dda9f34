//! Open watch: a watch that is left open while other requests are made, and read later.

use bytes::Bytes;
use http::Request;
use http::response::Parts;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde_json::{Value, json};

use super::differential::Outcome;
use super::differential::answer::{self, Answer, Watch};
use super::differential::pair::{PATIENCE, Pair, Side};

/// A watch that is open.
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

    /// What was told until an object came of this version. Where the watch was refused, the refusal.
    pub(crate) async fn until(mut self, version: &str) -> Outcome<Answer> {
        match tokio::time::timeout(PATIENCE, self.read_until(version)).await {
            Ok(answer) => answer,
            Err(_) => Ok(Answer(json!({"broken": "no end of it", "told": self.told()?.0}))),
        }
    }

    async fn read_until(&mut self, version: &str) -> Outcome<Answer> {
        while let Some(frame) = self.body.frame().await {
            let before = answer::events_in(&self.head.headers, &self.bytes);
            self.bytes.extend_from_slice(frame?.data_ref().map_or(&[], |data| data));
            if answer::events_in(&self.head.headers, &self.bytes) == before {
                continue;
            }
            let told = self.told()?;
            let is_last = |event: &Value| is_of(event, version);
            if told.0["events"].as_array().is_some_and(|events| events.iter().any(is_last)) {
                return Ok(told);
            }
        }
        self.told()
    }

    fn told(&self) -> Outcome<Answer> {
        let events = answer::events_in(&self.head.headers, &self.bytes);
        Answer::read(self.head.status, &self.head.headers, &self.bytes, Watch::Events(events))
    }
}

/// Whether an event is of an object of this version, whatever its shape.
fn is_of(event: &Value, version: &str) -> bool {
    let object = &event["object"];
    let has = |object: &Value| object["metadata"]["resourceVersion"] == version;
    has(object) || object["rows"].as_array().is_some_and(|rows| rows.iter().any(|row| has(&row["object"])))
}
