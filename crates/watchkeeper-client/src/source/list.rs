//! A list, item by item.

use futures_util::stream;
use watchkeeper_core::{BoxError, Encoding, ListEnd, ListError, ListPart, ListStream};
use watchkeeper_wire::ListSplitter;

use super::read::{Read as _, Reading};
use crate::rest::{Request, RequestError};
use crate::transport::Body;

enum State {
    Asked(Box<Request>),
    Arriving { body: Body, split: Box<ListSplitter>, encoding: Encoding },
    Ended,
}

pub(super) fn open(request: Request, reading: Reading) -> ListStream {
    let described = request.description();
    let state = (State::Asked(Box::new(request)), reading, described);
    Box::pin(stream::try_unfold(state, |(mut state, mut reading, request)| async move {
        loop {
            state = match state {
                State::Ended => return Ok(None),
                State::Asked(asked) => {
                    let answer = asked.stream().await.map_err(failed)?;
                    let encoding = reading.prepare(answer.headers()).map_err(ListError::Malformed)?;
                    let split = Box::new(ListSplitter::new(encoding, reading.limits()));
                    State::Arriving { body: answer.into_body(), split, encoding }
                }
                State::Arriving { mut body, mut split, encoding } => {
                    let item = split.next().map_err(malformed)?;
                    if let Some(item) = item {
                        let object = reading.object(encoding, item).map_err(ListError::Malformed)?;
                        let state = State::Arriving { body, split, encoding };
                        return Ok(Some((ListPart::Item(object), (state, reading, request))));
                    }
                    let lost = |source| {
                        let error = RequestError::Body { request: request.clone(), source };
                        ListError::Interrupted(error.into())
                    };
                    match body.chunk().await.map_err(lost)? {
                        Some(chunk) => {
                            split.push(chunk);
                            State::Arriving { body, split, encoding }
                        }
                        None => {
                            let end = split.finish().map_err(|error| ListError::Interrupted(error.into()))?;
                            let remaining = end.remaining.and_then(|count| u64::try_from(count).ok());
                            let end = ListEnd {
                                version: end.version,
                                continue_token: end.continue_token,
                                remaining,
                            };
                            return Ok(Some((ListPart::End(end), (State::Ended, reading, request))));
                        }
                    }
                }
            };
        }
    }))
}

fn malformed(error: impl Into<BoxError>) -> ListError {
    ListError::Malformed(error.into())
}

fn failed(error: RequestError) -> ListError {
    match error {
        RequestError::Refused { status, .. } => (*status).into(),
        RequestError::Transport { ref source, .. } if source.is_refused() => {
            ListError::ConnectionRefused(error.into())
        }
        other => ListError::Interrupted(other.into()),
    }
}
