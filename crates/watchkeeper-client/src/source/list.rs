//! Lists as streams of items.

use futures_util::stream;
use watchkeeper_core::{BoxError, Encoding, ListError, ListMeta, ListPart, ListStream};
use watchkeeper_wire::ListSplitter;

use super::read::{Read as _, Reading};
use crate::rest::{Request, RequestError};
use crate::transport::Body;

enum State {
    Requested(Box<Request>),
    Arriving { body: Body, split: Box<ListSplitter>, encoding: Encoding },
    Ended,
}

pub(super) fn open(request: Request, reading: Reading) -> ListStream {
    let description = request.description();
    let state = (State::Requested(Box::new(request)), reading, description);
    Box::pin(stream::try_unfold(state, |(mut state, mut reading, request)| async move {
        loop {
            state = match state {
                State::Ended => return Ok(None),
                State::Requested(list) => {
                    let response = list.stream().await.map_err(list_error)?;
                    let encoding = reading.prepare(response.headers()).map_err(ListError::Malformed)?;
                    let split = Box::new(ListSplitter::new(encoding, reading.limits()));
                    State::Arriving { body: response.into_body(), split, encoding }
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
                            check_is_list(&end).map_err(ListError::Malformed)?;
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

fn list_error(error: RequestError) -> ListError {
    match error {
        RequestError::Api { status, .. } | RequestError::RetryAfter { status, .. } => (*status).into(),
        RequestError::Transport { ref source, .. } if source.is_connection_refused() => {
            ListError::ConnectionRefused(error.into())
        }
        other => ListError::Interrupted(other.into()),
    }
}

/// Rejects tables and statuses, which would otherwise pass for an empty list.
fn check_is_list(end: &ListMeta) -> Result<(), BoxError> {
    match (end.api_version.split_once('/'), &*end.kind) {
        (Some(("meta.k8s.io", _)), "Table") | (None, "Status") => {
            Err(format!("expected a list, got a {}", end.kind).into())
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_or_status_is_not_a_list() {
        let end = |api_version: &str, kind: &str| ListMeta {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            ..ListMeta::default()
        };
        for (api_version, kind) in
            [("meta.k8s.io/v1", "Table"), ("meta.k8s.io/v1beta1", "Table"), ("v1", "Status")]
        {
            assert!(check_is_list(&end(api_version, kind)).is_err(), "{kind} of {api_version}");
        }
        for (api_version, kind) in [
            ("v1", "PodList"),
            ("example.com/v1", "Table"),
            ("meta.k8s.io/v1", "PartialObjectMetadataList"),
            ("", ""),
        ] {
            assert!(check_is_list(&end(api_version, kind)).is_ok(), "{kind} of {api_version}");
        }
    }
}
