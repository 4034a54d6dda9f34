//! Statuses: the outcome of a request as an API server reports it.
//!
//! Input: a response body, an ERROR watch event, or a response of something other than an API server
//! ([`UnexpectedResponse`]); on the server, the constructors.
//! Output: predicates (`is_not_found` etc.) with the semantics of client-go's.

mod body;
mod constructors;
mod predicates;
mod reason;
mod unexpected;

use std::error::Error;
use std::fmt;

use serde::{Deserialize, Serialize};

pub use reason::{CauseType, StatusReason};
pub use unexpected::UnexpectedResponse;

use crate::null::null_is_default;
use body::Body;

/// The outcome of a request: `Status` of `v1`.
///
/// It is also an error that displays its message.
///
/// ```
/// use watchkeeper_core::Status;
///
/// let body = r#"{"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
///     "message": "pods \"web-0\" not found", "reason": "NotFound",
///     "details": {"name": "web-0", "kind": "pods"}, "code": 404}"#;
/// let status: Status = serde_json::from_str(body)?;
/// assert!(status.is_not_found());
/// assert_eq!(status.to_string(), "pods \"web-0\" not found");
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// If the body has `kind` and `apiVersion`, deserialization checks them. If it has neither, the caller
/// must know that it is a status.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "Body", into = "Body")]
pub struct Status {
    /// Whether the request succeeded; `None` if the body does not have it.
    pub outcome: Option<Outcome>,
    /// A description for people.
    pub message: String,
    /// The machine-readable reason.
    pub reason: StatusReason,
    /// The object, causes and retry delay.
    pub details: Option<Box<StatusDetails>>,
    /// The HTTP status code; 0 if the body does not have it.
    pub code: i32,
    /// For an expired page of a list: the token that continues from the same key at the most recent
    /// version.
    pub continue_token: Option<String>,
}

/// Whether a request succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The request succeeded.
    Success,
    /// The request failed.
    Failure,
}

/// The object that a status is about, and details of the failure.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StatusDetails {
    /// The name of the object.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The group of the object.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// The resource (`pods`), or the kind (`Pod`) if the object is invalid.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The uid of the object.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// One entry per problem.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<StatusCause>,
    /// Seconds to wait before a retry; 0 if unset.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "is_zero")]
    pub retry_after_seconds: i32,
}

/// A single problem of a request.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct StatusCause {
    /// The machine-readable type, serialized as `reason`.
    #[serde(
        rename = "reason",
        deserialize_with = "null_is_default",
        skip_serializing_if = "CauseType::is_unknown"
    )]
    pub cause: CauseType,
    /// A description for people.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The path of the field: `spec.containers[0].name`.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub field: String,
}

fn is_zero(number: &i32) -> bool {
    *number == 0
}

/// Displays the message, or the reason and the code if it is empty.
impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.message.as_str(), &self.reason, self.code) {
            ("", StatusReason::Unknown, 0) => f.write_str("unknown error"),
            ("", StatusReason::Unknown, code) => write!(f, "unknown error (code {code})"),
            ("", reason, 0) => write!(f, "{reason}"),
            ("", reason, code) => write!(f, "{reason} (code {code})"),
            (message, ..) => f.write_str(message),
        }
    }
}

impl Error for Status {}
