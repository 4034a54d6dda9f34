//! A watch, event by event.

use futures_util::stream;
use watchkeeper_core::{
    Bookmark, BoxError, Encoding, EventKind, WatchError, WatchEvent, WatchOpening, WatchStream,
};
use watchkeeper_wire::{Malformed, WatchFrames};

use super::read::{Reading, status};
use crate::rest::{Request, RequestError};
use crate::transport::Body;

struct Watching {
    body: Body,
    /// `None` once the watch has ended.
    frames: Option<Box<WatchFrames>>,
    encoding: Encoding,
    reading: Reading,
}

pub(super) fn open(request: Request, mut reading: Reading) -> WatchOpening {
    Box::pin(async move {
        let answer = request.open_watch().await.map_err(failed)?;
        let encoding = reading.prepare(answer.headers()).map_err(WatchError::Malformed)?;
        let frames = Some(Box::new(WatchFrames::new(encoding, reading.limits())));
        let watching = Watching { body: answer.into_body(), frames, encoding, reading };
        let events = stream::try_unfold(watching, |mut watching| async move {
            Ok(watching.next().await?.map(|event| (event, watching)))
        });
        Ok(Box::pin(events) as WatchStream)
    })
}

impl Watching {
    async fn next(&mut self) -> Result<Option<WatchEvent>, WatchError> {
        loop {
            let Some(frames) = &mut self.frames else { return Ok(None) };
            if let Some(frame) = frames.next().map_err(malformed)? {
                let (reading, encoding) = (&mut self.reading, self.encoding);
                return match frame.kind {
                    EventKind::Bookmark => {
                        let head = reading.bookmark(encoding, frame.object).map_err(WatchError::Malformed)?;
                        Ok(Some(WatchEvent::Bookmark(Bookmark::from(&head))))
                    }
                    EventKind::Error => {
                        Err(status(encoding, frame.object).map_err(WatchError::Malformed)?.into())
                    }
                    kind => {
                        let object = reading.object(encoding, frame.object).map_err(WatchError::Malformed)?;
                        Ok(Some(match kind {
                            EventKind::Added => WatchEvent::Added(object),
                            EventKind::Modified => WatchEvent::Modified(object),
                            _ => WatchEvent::Deleted(object),
                        }))
                    }
                };
            }
            match self.body.chunk().await.map_err(|error| WatchError::Interrupted(error.into()))? {
                Some(chunk) => frames.push(chunk),
                None => {
                    // Within an event it has broken off; between two it has ended.
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

fn failed(error: RequestError) -> WatchError {
    match error {
        RequestError::Refused { status, .. } => (*status).into(),
        RequestError::Transport { source, .. } if source.is_refused() => {
            WatchError::ConnectionRefused(source.into())
        }
        other => WatchError::Interrupted(other.into()),
    }
}
