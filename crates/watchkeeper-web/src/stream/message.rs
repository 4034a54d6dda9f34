//! Messages of a stream, encoded as server-sent events.
//!
//! - `message.M1`: the data of an event is one line: JSON has line breaks only between tokens, and none are written
//!   there.

use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Value, json};
use watchkeeper_core::ObjectKey;

use super::connection::Status;
use super::request::Format;
use crate::freshness::Outage;

/// A comment, ignored by clients.
pub(super) const PING: &[u8] = b": ping\n\n";
/// A ping for clients that requested a heartbeat.
pub(super) const PING_EVENT: &[u8] = b"event: ping\ndata: {}\n\n";

/// A message about a subscription. Shares its larger parts with other messages.
#[derive(Debug)]
pub(super) struct Message {
    /// The client's id of the subscription.
    pub(super) sub: Arc<str>,
    pub(super) payload: Payload,
}

#[derive(Debug)]
pub(super) enum Payload {
    /// The columns of its table, as JSON.
    Columns(Arc<str>),
    /// Changed objects, as JSON in one of the formats, and the keys of deleted objects; no key is in both.
    Changed { format: Format, now: Vec<Arc<str>>, gone: Vec<ObjectKey> },
    /// The initial content has been sent; its number of objects.
    Synced { count: usize },
    /// The client must discard its content; everything is sent again.
    Reset,
    /// The subscription has failed.
    Failed { message: String, status: u16 },
}

/// Encodes the first event of a connection: the id of the stream, and whether it was resumed.
pub(super) fn hello(stream: &str, sequence: u64, resumed: bool) -> Bytes {
    let mut frame = begin("hello", stream, sequence, 64);
    frame.extend_from_slice(b"{\"stream\":");
    write_json(&mut frame, stream);
    frame.extend_from_slice(if resumed { b",\"resumed\":true" } else { b",\"resumed\":false" });
    end(frame)
}

/// Encodes what is stale. Has no number: see [`Connection`](super::connection::Connection).
pub(super) fn status(status: &Status) -> Bytes {
    let outage = |outage: &Outage| json!({"forMs": outage.since.elapsed().as_millis() as u64, "reason": *outage.reason});
    let stale = status.stale.iter().map(|(sub, since)| {
        let mut stale = outage(since);
        stale["sub"] = Value::from(&**sub);
        stale
    });
    let data = json!({"server": status.server.as_ref().map(outage), "stale": Value::from_iter(stale)});
    format!("event: status\ndata: {data}\n\n").into()
}

impl Message {
    /// Returns the approximate size, in bytes.
    pub(super) fn size(&self) -> usize {
        const FRAME: usize = 128;
        FRAME
            + match &self.payload {
                Payload::Columns(columns) => columns.len(),
                Payload::Changed { now, gone, .. } => {
                    let now: usize = now.iter().map(|one| one.len() + 1).sum();
                    now + gone.iter().map(|key| key.as_str().len() + 3).sum::<usize>()
                }
                Payload::Synced { .. } | Payload::Reset => 0,
                Payload::Failed { message, .. } => message.len(),
            }
    }

    /// Encodes the message as an event.
    pub(super) fn frame(&self, stream: &str, sequence: u64) -> Bytes {
        let mut frame = begin(self.event(), stream, sequence, self.size());
        frame.extend_from_slice(b"{\"sub\":");
        write_json(&mut frame, &*self.sub);
        match &self.payload {
            Payload::Columns(columns) => {
                frame.extend_from_slice(b",\"columns\":");
                frame.extend_from_slice(columns.as_bytes());
            }
            Payload::Changed { format, now, gone } => {
                frame.extend_from_slice(match format {
                    Format::Row => b",\"rows\":[",
                    Format::Object => b",\"objects\":[",
                });
                for (at, one) in now.iter().enumerate() {
                    if at > 0 {
                        frame.push(b',');
                    }
                    frame.extend_from_slice(one.as_bytes());
                }
                frame.extend_from_slice(b"],\"gone\":");
                write_json(&mut frame, &gone.iter().map(ObjectKey::as_str).collect::<Vec<_>>());
            }
            Payload::Synced { count } => {
                frame.extend_from_slice(b",\"count\":");
                write_json(&mut frame, count);
            }
            Payload::Reset => {}
            Payload::Failed { message, status } => {
                frame.extend_from_slice(b",\"message\":");
                write_json(&mut frame, message);
                frame.extend_from_slice(b",\"status\":");
                write_json(&mut frame, status);
            }
        }
        end(frame)
    }

    fn event(&self) -> &'static str {
        match &self.payload {
            Payload::Columns(_) => "columns",
            Payload::Changed { format: Format::Row, .. } => "rows",
            Payload::Changed { format: Format::Object, .. } => "objects",
            Payload::Synced { .. } => "synced",
            Payload::Reset => "reset",
            Payload::Failed { .. } => "failed",
        }
    }
}

fn begin(event: &str, stream: &str, sequence: u64, size: usize) -> Vec<u8> {
    let mut frame = Vec::with_capacity(size + stream.len());
    frame.extend_from_slice(format!("event: {event}\nid: {stream}.{sequence}\ndata: ").as_bytes());
    frame
}

fn write_json(frame: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    serde_json::to_writer(frame, value).expect("strings and numbers can be serialized");
}

fn end(mut frame: Vec<u8>) -> Bytes {
    frame.extend_from_slice(b"}\n\n");
    frame.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(payload: Payload) -> String {
        let message = Message { sub: "a\"\n".into(), payload };
        String::from_utf8(message.frame("s1", 7).to_vec()).unwrap()
    }

    #[test]
    fn messages_are_events_with_one_line_of_data() {
        let gone = vec!["x/b".parse().unwrap()];
        let changed =
            |format| Payload::Changed { format, now: vec!["1".into(), "2".into()], gone: gone.clone() };
        let head = |event| format!("event: {event}\nid: s1.7\ndata: {{\"sub\":\"a\\\"\\n\"");
        assert_eq!(frame(Payload::Reset), head("reset") + "}\n\n");
        assert_eq!(frame(Payload::Synced { count: 3 }), head("synced") + ",\"count\":3}\n\n");
        assert_eq!(frame(Payload::Columns("[]".into())), head("columns") + ",\"columns\":[]}\n\n");
        assert_eq!(frame(changed(Format::Row)), head("rows") + ",\"rows\":[1,2],\"gone\":[\"x/b\"]}\n\n");
        assert_eq!(
            frame(changed(Format::Object)),
            head("objects") + ",\"objects\":[1,2],\"gone\":[\"x/b\"]}\n\n"
        );
        let failed = Payload::Failed { message: "no\nsuch".into(), status: 404 };
        assert_eq!(frame(failed), head("failed") + ",\"message\":\"no\\nsuch\",\"status\":404}\n\n");
        assert_eq!(
            hello("s1", 0, true),
            "event: hello\nid: s1.0\ndata: {\"stream\":\"s1\",\"resumed\":true}\n\n"
        );
    }
}
