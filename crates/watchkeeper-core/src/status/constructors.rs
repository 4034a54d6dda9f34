//! Constructors of [`Status`], with the exact messages of Kubernetes: people search for them, and
//! programs compare them.

use std::fmt::Display;
use std::time::Duration;

use super::{CauseType, Outcome, Status, StatusCause, StatusDetails, StatusReason};
use crate::quoted::Quoted;
use crate::{GroupKind, GroupResource, ResourceVersion};

impl Status {
    /// Creates a 404: the object does not exist.
    pub fn not_found(resource: &GroupResource, name: &str) -> Self {
        let message = format!("{resource} {} not found", Quoted(name));
        Self::about(404, StatusReason::NotFound, message, resource, name)
    }

    /// Creates a 409: an object of this name already exists.
    pub fn already_exists(resource: &GroupResource, name: &str) -> Self {
        let message = format!("{resource} {} already exists", Quoted(name));
        Self::about(409, StatusReason::AlreadyExists, message, resource, name)
    }

    /// Creates a 409: every generated name is taken; retry after `retry_after`.
    pub fn generate_name_conflict(resource: &GroupResource, name: &str, retry_after: Duration) -> Self {
        let exists = Self::already_exists(resource, name);
        let message =
            format!("{}, the server was not able to generate a unique name for the object", exists.message);
        Self { message, ..exists }.with_retry_after(retry_after)
    }

    /// Creates a 409: the object has changed since it was read.
    pub fn conflict(resource: &GroupResource, name: &str, why: impl Display) -> Self {
        let message = format!("Operation cannot be fulfilled on {resource} {}: {why}", Quoted(name));
        Self::about(409, StatusReason::Conflict, message, resource, name)
    }

    /// Creates a 409: other field managers own applied fields; one cause per field.
    pub fn apply_conflict(causes: Vec<StatusCause>, message: impl Into<String>) -> Self {
        Self::plain(409, StatusReason::Conflict, message)
            .with_details(StatusDetails { causes, ..Default::default() })
    }

    /// Creates a 410: the resource version or continue token has expired.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::plain(410, StatusReason::Expired, message)
    }

    /// Creates a 410: the resource is permanently gone. For versions and pages, use [`expired`](Self::expired).
    pub fn gone(message: impl Into<String>) -> Self {
        Self::plain(410, StatusReason::Gone, message)
    }

    /// Creates a 422: the object is invalid; one cause per violation.
    pub fn invalid(kind: &GroupKind, name: &str, causes: Vec<StatusCause>) -> Self {
        let mut faults: Vec<String> = Vec::with_capacity(causes.len());
        for cause in &causes {
            let fault = format!("{}: {}", cause.field, cause.message);
            if !faults.contains(&fault) {
                faults.push(fault);
            }
        }
        let object = format!("{kind} {}", Quoted(name));
        let message = match faults.as_slice() {
            [] => format!("{object} is invalid"),
            [fault] => format!("{object} is invalid: {fault}"),
            faults => format!("{object} is invalid: [{}]", faults.join(", ")),
        };
        Self::plain(422, StatusReason::Invalid, message).with_details(StatusDetails {
            group: kind.group.clone(),
            kind: kind.kind.clone(),
            name: name.to_owned(),
            causes,
            ..Default::default()
        })
    }

    /// Creates a 400: the request is malformed.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::plain(400, StatusReason::BadRequest, message)
    }

    /// Creates a 401: the client is not authenticated.
    pub fn unauthorized(message: impl Into<String>) -> Self {
        let mut message = message.into();
        if message.is_empty() {
            "not authorized".clone_into(&mut message);
        }
        Self::plain(401, StatusReason::Unauthorized, message)
    }

    /// Creates a 403: the client is not authorized. Without a resource, the status is about a non-resource
    /// path; with an empty name, about the whole collection.
    pub fn forbidden(resource: Option<&GroupResource>, name: &str, why: impl Display) -> Self {
        let reason = StatusReason::Forbidden;
        match resource {
            None => Self::plain(403, reason, format!("forbidden: {why}"))
                .with_details(StatusDetails { name: name.to_owned(), ..Default::default() }),
            Some(resource) if name.is_empty() => {
                Self::about(403, reason, format!("{resource} is forbidden: {why}"), resource, name)
            }
            Some(resource) => {
                let message = format!("{resource} {} is forbidden: {why}", Quoted(name));
                Self::about(403, reason, message, resource, name)
            }
        }
    }

    /// Creates a 405: the resource does not support this verb.
    pub fn method_not_supported(resource: &GroupResource, action: &str) -> Self {
        let message =
            format!("{action} is not supported on resources of kind {}", Quoted(&resource.to_string()));
        Self::about(405, StatusReason::MethodNotAllowed, message, resource, "")
    }

    /// Creates a 406: the server can only respond with these media types.
    pub fn not_acceptable(media_types: &[&str]) -> Self {
        let message = format!("only the following media types are accepted: {}", media_types.join(", "));
        Self::plain(406, StatusReason::NotAcceptable, message)
    }

    /// Creates a 413: the body is too large.
    pub fn request_entity_too_large(limit: impl Display) -> Self {
        Self::plain(413, StatusReason::RequestEntityTooLarge, format!("Request entity too large: {limit}"))
    }

    /// Creates a 415: the server only accepts these media types.
    pub fn unsupported_media_type(media_types: &[&str]) -> Self {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {}",
            media_types.join(", ")
        );
        Self::plain(415, StatusReason::UnsupportedMediaType, message)
    }

    /// Creates a 429: retry after `retry_after`.
    pub fn too_many_requests(message: impl Into<String>, retry_after: Duration) -> Self {
        Self::plain(429, StatusReason::TooManyRequests, message).with_retry_after(retry_after)
    }

    /// Creates a 500: internal server error.
    pub fn internal_error(why: impl Display) -> Self {
        let why = why.to_string();
        let message = format!("Internal error occurred: {why}");
        let causes = vec![StatusCause { message: why, ..Default::default() }];
        Self::plain(500, StatusReason::InternalError, message)
            .with_details(StatusDetails { causes, ..Default::default() })
    }

    /// Creates a 500: the operation could not be completed now; retry after `retry_after`.
    pub fn server_timeout(resource: &GroupResource, operation: &str, retry_after: Duration) -> Self {
        let message = format!(
            "The {operation} operation against {resource} could not be completed at this time, please try again."
        );
        Self::about(500, StatusReason::ServerTimeout, message, resource, operation)
            .with_retry_after(retry_after)
    }

    /// Creates a 503: the server or a backend is unavailable.
    pub fn service_unavailable(message: impl Into<String>) -> Self {
        Self::plain(503, StatusReason::ServiceUnavailable, message)
    }

    /// Creates a 504: the request timed out, but may still complete.
    pub fn timeout(message: impl Display, retry_after: Duration) -> Self {
        Self::plain(504, StatusReason::Timeout, format!("Timeout: {message}")).with_retry_after(retry_after)
    }

    /// Creates a 504: the server has not yet observed the requested version.
    pub fn too_large_resource_version(
        requested: &ResourceVersion,
        current: &ResourceVersion,
        retry_after: Duration,
    ) -> Self {
        let message = format!("Too large resource version: {requested}, current: {current}");
        let mut status = Self::timeout(message, retry_after);
        status.details.get_or_insert_default().causes = vec![StatusCause {
            cause: CauseType::ResourceVersionTooLarge,
            message: "Too large resource version".to_owned(),
            field: String::new(),
        }];
        status
    }

    pub(super) fn plain(code: i32, reason: StatusReason, message: impl Into<String>) -> Self {
        Self { outcome: Some(Outcome::Failure), code, reason, message: message.into(), ..Default::default() }
    }

    pub(super) fn with_details(self, details: StatusDetails) -> Self {
        Self { details: Some(Box::new(details)), ..self }
    }

    pub(super) fn with_retry_after(mut self, wait: Duration) -> Self {
        let seconds = wait.as_secs().saturating_add(u64::from(wait.subsec_nanos() > 0));
        self.details.get_or_insert_default().retry_after_seconds = i32::try_from(seconds).unwrap_or(i32::MAX);
        self
    }

    fn about(code: i32, reason: StatusReason, message: String, resource: &GroupResource, name: &str) -> Self {
        Self::plain(code, reason, message).with_details(StatusDetails {
            group: resource.group.clone(),
            kind: resource.resource.clone(),
            name: name.to_owned(),
            ..Default::default()
        })
    }
}
