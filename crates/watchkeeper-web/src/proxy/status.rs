//! What is wrong, in the words of an API server (P4).

use std::error::Error;

use axum::response::Response;
use watchkeeper_core::{Outcome, Status, StatusReason};

use crate::access::status_response;

/// An answer that is a status.
pub(super) fn answer(status: &Status) -> Response {
    status_response(status)
}

/// Something is not open.
pub(super) fn refusal(what: &str, flag: &str) -> Box<Status> {
    Box::new(Status {
        outcome: Some(Outcome::Failure),
        message: format!("this proxy lets nothing through that {what}: start the service with {flag}"),
        reason: StatusReason::Forbidden,
        code: 403,
        ..Status::default()
    })
}

/// The API server does not answer.
pub(super) fn bad_gateway(error: &(dyn Error + 'static)) -> Box<Status> {
    let mut message = format!("the API server does not answer: {error}");
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !message.ends_with(&text) {
            message.push_str(": ");
            message.push_str(&text);
        }
        cause = error.source();
    }
    Box::new(Status {
        outcome: Some(Outcome::Failure),
        message,
        reason: "BadGateway".into(),
        code: 502,
        ..Status::default()
    })
}
