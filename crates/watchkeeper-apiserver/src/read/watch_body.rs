//! Watch bodies: the steps of a [`Watcher`] as frames.
//!
//! Input: [`Watcher`].
//! Output: [`Response::watch`](crate::http::Response::watch), in pieces of about [`PIECE_BYTES`].
//!
//! Invariants:
//! - `watch_body.B1`: an event that is the same for all watchers is encoded and framed once per format
//!   ([`Event::encoded`](crate::store::Event::encoded)). A step with one such event is passed on without copying;
//!   several are copied into one piece, so that a watcher that is behind catches up in large writes.
//! - `watch_body.B2`: the next event is encoded only after the previous piece has been taken: a watch that the client
//!   does not read holds one piece, the first event.

use std::sync::Arc;

use crate::http::Shape;
use crate::http::go_order::GoOrder;
use crate::http::respond::status_message;
use crate::store::{Revision, Stored};
use bytes::Bytes;
use futures_core::Stream;
use futures_util::stream;
use serde_json::{Value, json};
use watchkeeper_core::{Bookmark, BoxError, Encoded, Encoding, Status, WatchEventType};
use watchkeeper_listen::Charge;
use watchkeeper_wire::{protobuf, transcode};

use super::message_list::put_bytes;
use super::{Encoder, Step, View, WatchChange, Watcher};

/// Approximate size of a piece in bytes; the first piece is a single event.
const PIECE_BYTES: usize = 64 << 10;

/// Returns the body of a watch. It ends after an error, and when the watch ends. With a shape that events cannot
/// have, it ends before the first event. `charge` is for [the memory of the watch](Watcher::held_bytes).
pub fn watch_body(
    watcher: Watcher,
    encoder: Encoder,
    charge: Option<Charge>,
) -> impl Stream<Item = Result<Bytes, BoxError>> + Send + 'static {
    let shapeless = matches!(encoder.accepted.transform, Some((Shape::PartialObjectMetadataList, _)));
    let frames = Frames { encoder, headers_sent: false };
    let state = Body { watcher, frames, step: None, bytes: 1, charge };
    stream::unfold(state, move |mut body| async move {
        let piece = body.next().await.filter(|_| !shapeless)?;
        Some((Ok(piece), body))
    })
}

/// The state of a watch body.
struct Body {
    watcher: Watcher,
    frames: Frames,
    /// The unwritten events of the current step.
    step: Option<Left>,
    /// The size of the next piece in bytes.
    bytes: usize,
    charge: Option<Charge>,
}

/// Unwritten events of a step.
enum Left {
    Initial(std::vec::IntoIter<Arc<Stored>>),
    Changes(std::vec::IntoIter<WatchChange>),
}

impl Body {
    async fn next(&mut self) -> Option<Bytes> {
        let left = match self.step.take() {
            Some(left) => left,
            None => match self.watcher.next().await? {
                Step::Initial(items) => Left::Initial(items.into_iter()),
                Step::Changes(changes) => {
                    self.charge = None; // the initial events have been sent
                    if let [change] = &changes[..]
                        && let Some(Ok(Some(frame))) = self.frames.shared(change)
                    {
                        return Some(frame); // watch_body.B1
                    }
                    Left::Changes(changes.into_iter())
                }
                step => return Some(self.frames.single(&step)),
            },
        };
        let (piece, left) = self.frames.piece(left, self.bytes);
        self.bytes = PIECE_BYTES;
        self.step = left;
        Some(piece)
    }
}

/// Encodes frames.
struct Frames {
    encoder: Encoder,
    /// Only the first table of a watch has column definitions.
    headers_sent: bool,
}

impl Frames {
    /// Writes events up to about `bytes`, and returns the rest (`watch_body.B2`).
    fn piece(&mut self, mut left: Left, bytes: usize) -> (Bytes, Option<Left>) {
        let mut out = Vec::new();
        while out.len() < bytes {
            let written = match &mut left {
                Left::Initial(items) => match items.next() {
                    Some(stored) => self.object(&stored).map(|object| {
                        self.frame(&mut out, WatchEventType::Added, &object);
                    }),
                    None => return (out.into(), None),
                },
                Left::Changes(changes) => match changes.next() {
                    Some(change) => self.change(&change, &mut out),
                    None => return (out.into(), None),
                },
            };
            if let Err(status) = written {
                out.extend_from_slice(&error_frame(&status, self.encoding()));
                return (out.into(), None);
            }
        }
        let is_done = match &left {
            Left::Initial(items) => items.len() == 0,
            Left::Changes(changes) => changes.len() == 0,
        };
        (out.into(), Some(left).filter(|_| !is_done))
    }

    fn change(&mut self, change: &WatchChange, out: &mut Vec<u8>) -> Result<(), Status> {
        if let Some(shared) = self.shared(change) {
            out.extend_from_slice(&shared?.unwrap_or_default());
        } else if let Some(stored) = change.event.state(change.change_type.shown()) {
            let object = self.object(stored)?;
            self.frame(out, change.change_type.into(), &object);
        }
        Ok(())
    }

    /// Writes a bookmark or an error.
    fn single(&mut self, step: &Step) -> Bytes {
        let mut out = Vec::new();
        let written = match step {
            Step::Bookmark { revision, initial_events_end } => {
                self.bookmark(*revision, *initial_events_end).map(|object| {
                    self.frame(&mut out, WatchEventType::Bookmark, &object);
                })
            }
            Step::Failed(status) => Err((**status).clone()),
            Step::Initial(_) | Step::Changes(_) => Ok(()),
        };
        if let Err(status) = written {
            out.extend_from_slice(&error_frame(&status, self.encoding()));
        }
        out.into()
    }

    /// Returns the frame of an event that all watchers of this format share, if it can be shared (`watch_body.B1`).
    fn shared(&self, change: &WatchChange) -> Option<Result<Option<Bytes>, Status>> {
        let WatchChange { change_type, event } = change;
        (self.encoder.accepted.transform.is_none() && self.encoder.view == View::Own).then(|| {
            event.encoded(*change_type, self.encoding(), |stored| {
                let mut frame = Vec::new();
                self.frame(&mut frame, (*change_type).into(), &self.encoder.bare(stored)?);
                Ok(frame.into())
            })
        })
    }

    fn object(&mut self, stored: &Stored) -> Result<Bytes, Status> {
        match self.encoder.accepted.transform {
            None => self.encoder.bare(stored),
            Some(_) => self.transformed(&self.encoder.view.value(stored)?),
        }
    }

    fn transformed(&mut self, value: &Value) -> Result<Bytes, Status> {
        match self.encoder.accepted.transform {
            Some((Shape::Table, version)) => {
                let mut printer = self.encoder.printer(version);
                if std::mem::replace(&mut self.headers_sent, true) {
                    printer = printer.without_headers();
                }
                Ok(serde_json::to_vec(&printer.object(value)).map_err(Status::internal_error)?.into())
            }
            Some((_, version)) => Ok(match self.encoding() {
                Encoding::Json => {
                    let partial = self.encoder.partial(value, version);
                    serde_json::to_vec(&GoOrder(&partial)).map_err(Status::internal_error)?.into()
                }
                Encoding::Protobuf => self.encoder.partial_message(value, version)?.into(),
            }),
            None => Ok(value.to_string().into()),
        }
    }

    fn bookmark(&mut self, revision: Revision, initial_events_end: bool) -> Result<Bytes, Status> {
        let mut metadata = json!({"resourceVersion": revision.to_string()});
        if initial_events_end {
            metadata["annotations"] = json!({ Bookmark::INITIAL_EVENTS_END: "true" });
        }
        let kind = &self.encoder.kind;
        if self.encoder.accepted.transform.is_some() {
            let value = json!({"kind": kind.kind(), "apiVersion": kind.api_version(), "metadata": metadata});
            return self.transformed(&value);
        }
        let mut value = json!({"metadata": metadata});
        self.encoder.resource.rules().complete_bookmark(&mut value);
        let json = Encoded::json(value.to_string().into_bytes());
        if kind.message().is_none() {
            return self.encoder.typed(&json, Encoding::Json);
        }
        let message = transcode::to_protobuf(&json, kind).map_err(|error| Status::internal_error(&error))?;
        match self.encoding() {
            // Encoded by way of its message, to get the fields of an empty object of its kind.
            Encoding::Json => self.encoder.typed(&Encoded::protobuf(message), Encoding::Json),
            Encoding::Protobuf => Ok(protobuf::wrap(kind.api_version(), kind.kind(), &message).into()),
        }
    }

    fn encoding(&self) -> Encoding {
        self.encoder.accepted.media.encoding()
    }

    fn frame(&self, out: &mut Vec<u8>, kind: WatchEventType, object: &[u8]) {
        frame(out, self.encoding(), kind, object);
    }
}

/// Returns the frame of an ERROR event.
pub(crate) fn error_frame(status: &Status, encoding: Encoding) -> Bytes {
    let text = serde_json::to_vec(status).expect("strings and numbers can be encoded");
    let object = match encoding {
        Encoding::Json => text,
        Encoding::Protobuf => protobuf::wrap("v1", "Status", &status_message(text)),
    };
    let mut out = Vec::new();
    frame(&mut out, encoding, WatchEventType::Error, &object);
    out.into()
}

/// Appends an event: a line of JSON, or a message preceded by its length.
fn frame(out: &mut Vec<u8>, encoding: Encoding, kind: WatchEventType, object: &[u8]) {
    match encoding {
        Encoding::Json => {
            out.reserve(object.len() + 40);
            out.extend_from_slice(br#"{"type":""#);
            out.extend_from_slice(kind.to_string().as_bytes());
            out.extend_from_slice(br#"","object":"#);
            out.extend_from_slice(object);
            out.extend_from_slice(b"}\n");
        }
        Encoding::Protobuf => {
            let mut raw = Vec::with_capacity(object.len() + 8);
            put_bytes(&mut raw, 1, object);
            let start = out.len();
            out.extend_from_slice(&[0; 4]);
            put_bytes(out, 1, kind.to_string().as_bytes());
            put_bytes(out, 2, &raw);
            let length = u32::try_from(out.len() - start - 4).unwrap_or(u32::MAX);
            out[start..start + 4].copy_from_slice(&length.to_be_bytes());
        }
    }
}
