//! Questions to a status.
//!
//! - R1: a listed reason decides; the HTTP code decides only where the reason is unknown or
//!   unlisted. Where client-go departs from this rule, the question says so.

use std::time::Duration;

use super::{CauseType, Outcome, Status, StatusCause, StatusReason};

/// What servers before 1.18.6 write where newer ones set [`CauseType::ResourceVersionTooLarge`].
const TOO_LARGE: &str = "Too large resource version";

impl Status {
    /// Whether it says that the request failed.
    pub fn is_failure(&self) -> bool {
        self.outcome == Some(Outcome::Failure)
    }

    /// There is no such object, or no such resource.
    pub fn is_not_found(&self) -> bool {
        self.is(&StatusReason::NotFound, 404)
    }

    /// There is such an object already. By reason alone: 409 can mean a conflict as well.
    pub fn is_already_exists(&self) -> bool {
        self.reason == StatusReason::AlreadyExists
    }

    /// The object has changed meanwhile: read it again.
    pub fn is_conflict(&self) -> bool {
        self.is(&StatusReason::Conflict, 409)
    }

    /// The version or the page has left the server's history: list again. True of the reason
    /// `Expired`, and of whatever else says 410, as servers up to 1.17 did.
    pub fn is_expired(&self) -> bool {
        self.reason == StatusReason::Expired || self.is(&StatusReason::Gone, 410)
    }

    /// The version is newer than any that the server has seen: ask for the most recent one. Three
    /// generations of servers say it in three ways.
    pub fn is_too_large_resource_version(&self) -> bool {
        if self.cause(&CauseType::ResourceVersionTooLarge).is_some() {
            return true;
        }
        let said =
            || self.message.contains(TOO_LARGE) || self.causes().iter().any(|it| it.message == TOO_LARGE);
        self.is_timeout() && self.details.is_some() && said()
    }

    /// The object, or a parameter, breaks a rule; the causes say which.
    pub fn is_invalid(&self) -> bool {
        self.is(&StatusReason::Invalid, 422)
    }

    /// The request makes no sense.
    pub fn is_bad_request(&self) -> bool {
        self.is(&StatusReason::BadRequest, 400)
    }

    /// The server does not know who asks.
    pub fn is_unauthorized(&self) -> bool {
        self.is(&StatusReason::Unauthorized, 401)
    }

    /// Who asks may not do this.
    pub fn is_forbidden(&self) -> bool {
        self.is(&StatusReason::Forbidden, 403)
    }

    /// The resource does not take this verb.
    pub fn is_method_not_supported(&self) -> bool {
        self.is(&StatusReason::MethodNotAllowed, 405)
    }

    /// The server cannot write any of the media types that were asked for.
    pub fn is_not_acceptable(&self) -> bool {
        self.is(&StatusReason::NotAcceptable, 406)
    }

    /// The server cannot read the media type that was sent.
    pub fn is_unsupported_media_type(&self) -> bool {
        self.is(&StatusReason::UnsupportedMediaType, 415)
    }

    /// The body is too large. By reason or by code, whatever the reason.
    pub fn is_request_entity_too_large(&self) -> bool {
        self.reason == StatusReason::RequestEntityTooLarge || self.code == 413
    }

    /// The server has enough to do: ask later. By reason or by code, whatever the reason.
    pub fn is_too_many_requests(&self) -> bool {
        self.reason == StatusReason::TooManyRequests || self.code == 429
    }

    /// It took too long, and may yet be done.
    pub fn is_timeout(&self) -> bool {
        self.is(&StatusReason::Timeout, 504)
    }

    /// Not now: ask again. By reason alone: no code means this.
    pub fn is_server_timeout(&self) -> bool {
        self.reason == StatusReason::ServerTimeout
    }

    /// The server is at fault.
    pub fn is_internal_error(&self) -> bool {
        self.is(&StatusReason::InternalError, 500)
    }

    /// The server, or one behind it, is down.
    pub fn is_service_unavailable(&self) -> bool {
        self.is(&StatusReason::ServiceUnavailable, 503)
    }

    /// What is stored cannot be read. By reason alone.
    pub fn is_store_read_error(&self) -> bool {
        self.reason == StatusReason::StoreReadError
    }

    /// What answered is perhaps not an API server but something on the way to it.
    pub fn is_unexpected_server_error(&self) -> bool {
        self.cause(&CauseType::UnexpectedServerResponse).is_some()
    }

    /// How long the server wants the caller to wait, if it wants that. Whether there should be
    /// another attempt at all is another question.
    ///
    /// [`ServerTimeout`](StatusReason::ServerTimeout) always asks for a wait, if only for none.
    pub fn retry_after(&self) -> Option<Duration> {
        let seconds = self.details.as_ref()?.retry_after_seconds;
        let wait = seconds > 0 || self.is_server_timeout();
        wait.then(|| Duration::from_secs(u64::try_from(seconds).unwrap_or_default()))
    }

    /// The first cause of this type.
    pub fn cause(&self, cause: &CauseType) -> Option<&StatusCause> {
        self.causes().iter().find(|it| it.cause == *cause)
    }

    fn causes(&self) -> &[StatusCause] {
        self.details.as_ref().map_or(&[], |details| &details.causes)
    }

    fn is(&self, reason: &StatusReason, code: i32) -> bool {
        self.reason == *reason || (!self.reason.is_listed() && self.code == code) // R1
    }
}
