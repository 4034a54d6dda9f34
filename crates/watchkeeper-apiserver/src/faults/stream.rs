//! Faulty streams: watch bodies that can be made to end early.
//!
//! Input: the original body in chunks of whole events.
//! Output: the connection.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use futures_util::{StreamExt as _, stream};
use tokio::time::{Sleep, sleep};
use tokio_util::sync::CancellationToken;
use watchkeeper_core::{BoxError, Encoding};

use super::rules::PlannedEnding;
use super::watches::{WatchRegistration, Watches};
use super::{Ending, RequestInfo};
use crate::read::error_frame;

/// The time to send what is buffered before a connection is closed: hyper discards unwritten bytes.
const FLUSH: Duration = Duration::from_millis(10);

/// The error of a body that was broken off.
#[derive(Debug, thiserror::Error)]
#[error("response aborted by an injected fault")]
pub(crate) struct BrokenOff;

/// The body of a watch. Forwards everything until a rule or an order ends it.
pub(crate) struct FaultyStream<S> {
    inner: S,
    registration: WatchRegistration,
    encoding: Encoding,
    connection: CancellationToken,
    /// The rule that applies to this watch, and the number of events before it takes effect.
    planned: Option<PlannedEnding>,
    /// Events of the current chunk that were not sent yet; empty unless a rule applies.
    held: Bytes,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    Open,
    Ending(Ending),
    /// The beginning of an event has been sent, and is being flushed.
    Flushing(Ending, Pin<Box<Sleep>>),
    /// The last bytes have been sent.
    Last,
}

impl<S: Stream<Item = Result<Bytes, BoxError>> + Unpin> FaultyStream<S> {
    pub(crate) fn new(
        inner: S,
        watches: &Arc<Watches>,
        info: RequestInfo,
        encoding: Encoding,
        connection: CancellationToken,
        planned: Option<PlannedEnding>,
    ) -> Self {
        let (registration, held) = (watches.open(info), Bytes::new());
        Self { inner, registration, encoding, connection, planned, held, phase: Phase::Open }
    }

    /// Returns the next bytes, or `None` when a fault ends the stream.
    fn pass(&mut self, context: &mut Context<'_>) -> Poll<Option<Option<Result<Bytes, BoxError>>>> {
        loop {
            if let Some(ending) = self.registration.order() {
                self.phase = Phase::Ending(ending);
                return Poll::Ready(None);
            }
            if let Some(planned) = self.planned.take_if(|planned| planned.after_events == 0) {
                planned.hit();
                self.phase = Phase::Ending(planned.ending);
                return Poll::Ready(None);
            }
            if let Some(planned) = self.planned.as_mut().filter(|_| !self.held.is_empty()) {
                let event = first_event(&mut self.held, self.encoding);
                planned.after_events -= u64::from(!is_bookmark(&event, self.encoding));
                return Poll::Ready(Some(Some(Ok(event))));
            }
            match Pin::new(&mut self.inner).poll_next(context) {
                Poll::Ready(Some(Ok(chunk))) if self.planned.is_some() => self.held = chunk,
                Poll::Ready(item) => return Poll::Ready(Some(item)),
                Poll::Pending => {
                    self.registration.wake(context.waker());
                    match self.registration.order() {
                        None => return Poll::Pending,
                        Some(ending) => self.phase = Phase::Ending(ending),
                    }
                    return Poll::Ready(None);
                }
            }
        }
    }
}

impl<S: Stream<Item = Result<Bytes, BoxError>> + Unpin> Stream for FaultyStream<S> {
    type Item = Result<Bytes, BoxError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        loop {
            match &mut this.phase {
                Phase::Last => return Poll::Ready(None),
                Phase::Open => match this.pass(context) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Some(item)) => return Poll::Ready(item),
                    Poll::Ready(None) => {}
                },
                Phase::Ending(Ending::Clean) => this.phase = Phase::Last,
                Phase::Ending(Ending::Error(status)) => {
                    let frame = error_frame(status, this.encoding);
                    this.phase = Phase::Last;
                    return Poll::Ready(Some(Ok(frame)));
                }
                Phase::Ending(Ending::Stall) => {
                    this.registration.wake(context.waker());
                    match this.registration.order() {
                        None => return Poll::Pending,
                        Some(ending) => this.phase = Phase::Ending(ending),
                    }
                }
                Phase::Ending(ending @ (Ending::Abrupt | Ending::Connection)) => {
                    this.phase = Phase::Flushing(ending.clone(), Box::pin(sleep(FLUSH)));
                    return Poll::Ready(Some(Ok(beginning_of_event(this.encoding))));
                }
                Phase::Flushing(ending, pause) => {
                    ready!(pause.as_mut().poll(context));
                    if *ending == Ending::Connection {
                        this.connection.cancel();
                    }
                    this.phase = Phase::Last;
                    return Poll::Ready(Some(Err(BrokenOff.into())));
                }
            }
        }
    }
}

/// Returns a stream of the first half of a body that then fails.
pub(crate) fn half_of(
    body: &Bytes,
    ending: &Ending,
    connection: CancellationToken,
) -> impl Stream<Item = Result<Bytes, BoxError>> + Send + use<> {
    let cuts_connection = *ending == Ending::Connection;
    let half = body.slice(..body.len() / 2);
    let broken = async move {
        sleep(FLUSH).await;
        if cuts_connection {
            connection.cancel();
        }
        Err(BrokenOff.into())
    };
    stream::once(async move { Ok(half) }).chain(stream::once(broken))
}

/// Splits off the first event.
fn first_event(events: &mut Bytes, encoding: Encoding) -> Bytes {
    let length = match encoding {
        Encoding::Json => events.iter().position(|byte| *byte == b'\n').map(|end| end + 1),
        Encoding::Protobuf => events.first_chunk::<4>().map(|head| 4 + u32::from_be_bytes(*head) as usize),
    };
    events.split_to(length.unwrap_or(usize::MAX).min(events.len()))
}

fn is_bookmark(event: &[u8], encoding: Encoding) -> bool {
    match encoding {
        Encoding::Json => event.starts_with(br#"{"type":"BOOKMARK""#),
        Encoding::Protobuf => event.get(4..).is_some_and(|event| event.starts_with(b"\x0a\x08BOOKMARK")),
    }
}

/// Returns the beginning of an event, without its end.
fn beginning_of_event(encoding: Encoding) -> Bytes {
    Bytes::from_static(match encoding {
        Encoding::Json => br#"{"type":"MODIFIED","object":{"#,
        Encoding::Protobuf => b"\x00\x00\x01\x00\x0a\x08MODIFIED",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_split_and_bookmarks_recognized() {
        let json =
            [&br#"{"type":"ADDED","object":{}}"#[..], b"\n", br#"{"type":"BOOKMARK","object":{}}"#, b"\n"];
        let mut events = Bytes::from(json.concat());
        let first = first_event(&mut events, Encoding::Json);
        assert_eq!(first, json[..2].concat());
        assert_eq!(events, json[2..].concat());
        assert!(!is_bookmark(&first, Encoding::Json) && is_bookmark(&events, Encoding::Json));

        let mut events = Bytes::from_static(b"\0\0\0\x07\x0a\x05ADDED\0\0\0\x0a\x0a\x08BOOKMARK");
        let first = first_event(&mut events, Encoding::Protobuf);
        assert_eq!(first.len(), 11);
        assert!(!is_bookmark(&first, Encoding::Protobuf) && is_bookmark(&events, Encoding::Protobuf));
        assert_eq!(first_event(&mut events, Encoding::Protobuf).len(), 14);
        assert!(events.is_empty());
    }
}
