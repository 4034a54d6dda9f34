//! Errors of the proxy, in the API server's format (`proxy.P4`).

use std::error::Error;

use axum::response::Response;
use watchkeeper_core::{ErrorChain, Outcome, Status, StatusReason};

use crate::access::status_response;

/// Creates a response from a status.
pub(super) fn respond(status: &Status) -> Response {
    status_response(status)
}

/// Creates the error for a request that the policy does not allow.
pub(super) fn forbidden(what: &str, flag: &str) -> Box<Status> {
    Box::new(Status {
        outcome: Some(Outcome::Failure),
        message: format!("this proxy does not allow {what}; to allow them, start the service with {flag}"),
        reason: StatusReason::Forbidden,
        code: 403,
        ..Status::default()
    })
}

/// Creates the error for a path that is not the API server's.
pub(super) fn not_found(path: &str) -> Box<Status> {
    Box::new(Status {
        outcome: Some(Outcome::Failure),
        message: format!("{path} is not a path of the API server"),
        reason: StatusReason::NotFound,
        code: 404,
        ..Status::default()
    })
}

/// Creates the error for an API server that does not respond.
pub(super) fn bad_gateway(error: &(dyn Error + 'static)) -> Box<Status> {
    let message = format!("the API server did not respond: {}", ErrorChain(error));
    Box::new(Status {
        outcome: Some(Outcome::Failure),
        message,
        reason: "BadGateway".into(),
        code: 502,
        ..Status::default()
    })
}
