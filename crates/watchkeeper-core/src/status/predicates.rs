//! Predicates of [`Status`].
//!
//! - `status.R1`: a known reason decides; the HTTP code decides only if the reason is empty or
//!   unknown. Predicates for which client-go deviates from this rule document it.

use std::time::Duration;

use super::{CauseType, Outcome, Status, StatusCause, StatusReason};

/// The message by which servers before 1.18.6 report what is now [`CauseType::ResourceVersionTooLarge`].
const TOO_LARGE: &str = "Too large resource version";

impl Status {
    /// Returns whether the request failed.
    pub fn is_failure(&self) -> bool {
        self.outcome == Some(Outcome::Failure)
    }

    /// Returns whether the object or resource does not exist.
    pub fn is_not_found(&self) -> bool {
        self.is(&StatusReason::NotFound, 404)
    }

    /// Returns whether the object already exists. Checks only the reason: 409 can also be a conflict.
    pub fn is_already_exists(&self) -> bool {
        self.reason == StatusReason::AlreadyExists
    }

    /// Returns whether the object has changed since it was read: read it again.
    pub fn is_conflict(&self) -> bool {
        self.is(&StatusReason::Conflict, 409)
    }

    /// Returns whether the resource version or continue token has expired: list again. Includes other
    /// statuses with code 410, as sent by servers up to 1.17.
    pub fn is_expired(&self) -> bool {
        self.reason == StatusReason::Expired || self.is(&StatusReason::Gone, 410)
    }

    /// Returns whether the server has not yet observed the requested version: request the most recent
    /// one. Recognizes the forms of three generations of servers.
    pub fn is_too_large_resource_version(&self) -> bool {
        if self.cause(&CauseType::ResourceVersionTooLarge).is_some() {
            return true;
        }
        let has_message =
            || self.message.contains(TOO_LARGE) || self.causes().iter().any(|it| it.message == TOO_LARGE);
        self.is_timeout() && self.details.is_some() && has_message()
    }

    /// Returns whether the object or a parameter is invalid; see the causes.
    pub fn is_invalid(&self) -> bool {
        self.is(&StatusReason::Invalid, 422)
    }

    /// Returns whether the request is malformed.
    pub fn is_bad_request(&self) -> bool {
        self.is(&StatusReason::BadRequest, 400)
    }

    /// Returns whether the client is not authenticated.
    pub fn is_unauthorized(&self) -> bool {
        self.is(&StatusReason::Unauthorized, 401)
    }

    /// Returns whether the client is not authorized.
    pub fn is_forbidden(&self) -> bool {
        self.is(&StatusReason::Forbidden, 403)
    }

    /// Returns whether the resource does not support this verb.
    pub fn is_method_not_supported(&self) -> bool {
        self.is(&StatusReason::MethodNotAllowed, 405)
    }

    /// Returns whether the server supports none of the accepted media types.
    pub fn is_not_acceptable(&self) -> bool {
        self.is(&StatusReason::NotAcceptable, 406)
    }

    /// Returns whether the server does not support the media type of the request.
    pub fn is_unsupported_media_type(&self) -> bool {
        self.is(&StatusReason::UnsupportedMediaType, 415)
    }

    /// Returns whether the body is too large, by reason or by code.
    pub fn is_request_entity_too_large(&self) -> bool {
        self.reason == StatusReason::RequestEntityTooLarge || self.code == 413
    }

    /// Returns whether the server is overloaded, by reason or by code: retry later.
    pub fn is_too_many_requests(&self) -> bool {
        self.reason == StatusReason::TooManyRequests || self.code == 429
    }

    /// Returns whether the request timed out; it may still complete.
    pub fn is_timeout(&self) -> bool {
        self.is(&StatusReason::Timeout, 504)
    }

    /// Returns whether the operation could not be completed now: retry. Checks only the reason.
    pub fn is_server_timeout(&self) -> bool {
        self.reason == StatusReason::ServerTimeout
    }

    /// Returns whether this is an internal server error.
    pub fn is_internal_error(&self) -> bool {
        self.is(&StatusReason::InternalError, 500)
    }

    /// Returns whether the server or a backend is unavailable.
    pub fn is_service_unavailable(&self) -> bool {
        self.is(&StatusReason::ServiceUnavailable, 503)
    }

    /// Returns whether stored data cannot be read. Checks only the reason.
    pub fn is_store_read_error(&self) -> bool {
        self.reason == StatusReason::StoreReadError
    }

    /// Returns whether the response may come from a proxy rather than an API server.
    pub fn is_unexpected_server_error(&self) -> bool {
        self.cause(&CauseType::UnexpectedServerResponse).is_some()
    }

    /// Returns the delay before a retry that the server requests, if any. It does not say whether a
    /// retry makes sense.
    ///
    /// Always `Some` for [`ServerTimeout`](StatusReason::ServerTimeout) with details, possibly zero.
    pub fn retry_after(&self) -> Option<Duration> {
        let seconds = self.details.as_ref()?.retry_after_seconds;
        let wait = seconds > 0 || self.is_server_timeout();
        wait.then(|| Duration::from_secs(u64::try_from(seconds).unwrap_or_default()))
    }

    /// Returns the first cause of this type.
    pub fn cause(&self, cause: &CauseType) -> Option<&StatusCause> {
        self.causes().iter().find(|it| it.cause == *cause)
    }

    fn causes(&self) -> &[StatusCause] {
        self.details.as_ref().map_or(&[], |details| &details.causes)
    }

    fn is(&self, reason: &StatusReason, code: i32) -> bool {
        self.reason == *reason || (!self.reason.is_known() && self.code == code) // status.R1
    }
}
