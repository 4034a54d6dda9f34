//! Error responses without a `Status` body, from a proxy or from something other than an API server.

use std::time::Duration;

use super::{CauseType, Status, StatusCause, StatusDetails, StatusReason};
use crate::GroupResource;
use crate::quoted::Quoted;

/// An error response whose body is not a [`Status`]. Converts into one.
///
/// ```
/// use watchkeeper_core::{Status, UnexpectedResponse};
///
/// let answer = UnexpectedResponse { code: 502, method: "GET", text: Some(b"bad gateway\n"), ..Default::default() };
/// let status = Status::from(answer);
/// assert!(status.is_unexpected_server_error());
/// assert_eq!(
///     status.to_string(),
///     r#"an error on the server ("bad gateway") has prevented the request from succeeding"#,
/// );
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct UnexpectedResponse<'a> {
    /// The HTTP status code.
    pub code: u16,
    /// The HTTP method of the request, in upper case.
    pub method: &'a str,
    /// The requested resource, if any.
    pub resource: Option<&'a GroupResource>,
    /// The requested name; empty for a collection.
    pub name: &'a str,
    /// The body, if its content type is `text/*` or absent. Only the first
    /// [`TEXT_LIMIT`](Self::TEXT_LIMIT) bytes are used.
    pub text: Option<&'a [u8]>,
    /// The value of the `Retry-After` header.
    pub retry_after: Option<Duration>,
}

impl UnexpectedResponse<'_> {
    /// The maximum number of body bytes in a message.
    pub const TEXT_LIMIT: usize = 2048;

    fn server_message(&self) -> String {
        self.text.map_or_else(
            || "unknown".to_owned(),
            |text| String::from_utf8_lossy(&text[..text.len().min(Self::TEXT_LIMIT)]).trim().to_owned(),
        )
    }

    fn reason(&self) -> StatusReason {
        match self.code {
            400 => StatusReason::BadRequest,
            401 => StatusReason::Unauthorized,
            403 => StatusReason::Forbidden,
            404 => StatusReason::NotFound,
            405 => StatusReason::MethodNotAllowed,
            406 => StatusReason::NotAcceptable,
            409 if self.method == "POST" => StatusReason::AlreadyExists,
            409 => StatusReason::Conflict,
            415 => StatusReason::UnsupportedMediaType,
            422 => StatusReason::Invalid,
            429 => StatusReason::TooManyRequests,
            503 => StatusReason::ServiceUnavailable,
            504 => StatusReason::Timeout,
            500.. => StatusReason::InternalError,
            _ => StatusReason::Unknown,
        }
    }

    /// Returns client-go's message for this response.
    fn message(&self, server_message: &str) -> String {
        let message = match self.reason() {
            StatusReason::BadRequest => "the server rejected our request for an unknown reason",
            StatusReason::Unauthorized => "the server has asked for the client to provide credentials",
            StatusReason::Forbidden | StatusReason::UnsupportedMediaType => server_message,
            StatusReason::NotFound => "the server could not find the requested resource",
            StatusReason::MethodNotAllowed => {
                "the server does not allow this method on the requested resource"
            }
            StatusReason::NotAcceptable if matches!(server_message, "" | "unknown") => {
                "the server was unable to respond with a content type that the client supports"
            }
            StatusReason::NotAcceptable => server_message,
            StatusReason::AlreadyExists | StatusReason::Conflict => "the server reported a conflict",
            StatusReason::Invalid => "the server rejected our request due to an error in our request",
            StatusReason::TooManyRequests => {
                "the server has received too many requests and has asked us to try again later"
            }
            StatusReason::ServiceUnavailable => "the server is currently unable to handle the request",
            StatusReason::Timeout => {
                "the server was unable to return a response in the time allotted, but may still be processing the request"
            }
            StatusReason::InternalError => &format!(
                "an error on the server ({}) has prevented the request from succeeding",
                Quoted(server_message)
            ),
            _ => &format!(
                "the server responded with the status code {} but did not return more information",
                self.code
            ),
        };
        let method = self.method.to_lowercase();
        match (self.resource, self.name) {
            (None, _) => message.to_owned(),
            (Some(resource), "") => format!("{message} ({method} {resource})"),
            (Some(resource), name) => format!("{message} ({method} {resource} {name})"),
        }
    }
}

impl From<UnexpectedResponse<'_>> for Status {
    fn from(answer: UnexpectedResponse<'_>) -> Self {
        let server_message = answer.server_message();
        let message = answer.message(&server_message);
        let cause = CauseType::UnexpectedServerResponse;
        let status =
            Status::plain(answer.code.into(), answer.reason(), message).with_details(StatusDetails {
                group: answer.resource.map_or_else(String::new, |resource| resource.group.clone()),
                kind: answer.resource.map_or_else(String::new, |resource| resource.resource.clone()),
                name: answer.name.to_owned(),
                causes: vec![StatusCause { cause, message: server_message, ..Default::default() }],
                ..Default::default()
            });
        status.with_retry_after(answer.retry_after.unwrap_or_default())
    }
}
