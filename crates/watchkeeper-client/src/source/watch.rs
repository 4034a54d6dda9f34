//! Watches as streams of events.

use futures_core::Stream;
use futures_util::stream;
use watchkeeper_core::{
    BoxError, Encoding, WatchError, WatchEvent, WatchEventType, WatchFuture, WatchStream,
};
use watchkeeper_wire::{Malformed, WatchFrames};

use super::read::{Read, Reading, bookmark, status};
use crate::rest::{Request, RequestError};
use crate::transport::Body;

struct Watching<R> {
    body: Body,
    /// `None` after the end of the watch.
    frames: Option<Box<WatchFrames>>,
    encoding: Encoding,
    reading: R,
    /// Method and path, for errors.
    request: String,
}

pub(super) fn open(request: Request, reading: Reading) -> WatchFuture {
    Box::pin(async move { Ok(Box::pin(open_watch(request, reading).await?) as WatchStream) })
}

/// Opens a watch.
pub(crate) async fn open_watch<R: Read>(
    request: Request,
    mut reading: R,
) -> Result<impl Stream<Item = Result<WatchEvent<R::Object>, WatchError>>, WatchError> {
    let description = request.description();
    let response = request.open_watch().await.map_err(watch_error)?;
    let encoding = reading.prepare(response.headers()).map_err(WatchError::Malformed)?;
    let frames = Some(Box::new(WatchFrames::new(encoding, reading.limits())));
    let body = response.into_body();
    let watching = Watching { body, frames, encoding, reading, request: description };
    Ok(stream::try_unfold(watching, |mut watching| async move {
        Ok(watching.next().await?.map(|event| (event, watching)))
    }))
}

impl<R: Read> Watching<R> {
    async fn next(&mut self) -> Result<Option<WatchEvent<R::Object>>, WatchError> {
        loop {
            let Some(frames) = &mut self.frames else { return Ok(None) };
            if let Some(frame) = frames.next().map_err(malformed)? {
                let (reading, encoding) = (&mut self.reading, self.encoding);
                return match frame.kind {
                    WatchEventType::Bookmark => {
                        let bookmark = bookmark(encoding, frame.object).map_err(WatchError::Malformed)?;
                        Ok(Some(WatchEvent::Bookmark(bookmark)))
                    }
                    WatchEventType::Error => {
                        Err(status(encoding, frame.object).map_err(WatchError::Malformed)?.into())
                    }
                    kind => {
                        let object = reading.object(encoding, frame.object).map_err(WatchError::Malformed)?;
                        Ok(Some(match kind {
                            WatchEventType::Added => WatchEvent::Added(object),
                            WatchEventType::Modified => WatchEvent::Modified(object),
                            _ => WatchEvent::Deleted(object),
                        }))
                    }
                };
            }
            let lost = |source| {
                let error = RequestError::Body { request: self.request.clone(), source };
                WatchError::Interrupted(error.into())
            };
            match self.body.chunk().await.map_err(lost)? {
                Some(chunk) => frames.push(chunk),
                None => {
                    // An end within an event is an interruption; between events it is clean.
                    let ended = self.frames.take().map_or(Ok(()), |frames| frames.finish());
                    return match ended {
                        Ok(()) => Ok(None),
                        Err(error) => Err(WatchError::Interrupted(error.into())),
                    };
                }
            }
        }
    }
}

fn malformed(error: Malformed) -> WatchError {
    let error: BoxError = error.into();
    WatchError::Malformed(error)
}

fn watch_error(error: RequestError) -> WatchError {
    match error {
        RequestError::Api { status, .. } | RequestError::RetryAfter { status, .. } => (*status).into(),
        RequestError::Transport { ref source, .. } if source.is_connection_refused() => {
            WatchError::ConnectionRefused(error.into())
        }
        other => WatchError::Interrupted(other.into()),
    }
}
