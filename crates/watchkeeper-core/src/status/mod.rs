//! Statuses: how an API server says what became of a request.
//!
//! From: a response body, an ERROR event of a watch, or an answer of something that is not an API
//! server ([`UnexpectedAnswer`]); on the serving side, the constructors.
//! To:   questions (`is_not_found` and the rest), which are answered as client-go answers them.

mod body;
mod constructors;
mod questions;
mod unexpected;
mod words;

use std::error::Error;
use std::fmt;

use serde::{Deserialize, Serialize};

pub use unexpected::UnexpectedAnswer;
pub use words::{CauseType, StatusReason};

use crate::null::null_is_default;
use body::Body;

/// What became of a request: `Status` of `v1`.
///
/// It is an error as well, printed as its message.
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
/// Where `kind` and `apiVersion` are in the body, they have to be those of a status; where they are
/// not, as in protobuf, anything can look like one, and the reader has to know better.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "Body", into = "Body")]
pub struct Status {
    /// Whether the request succeeded; `None` where the body does not say.
    pub outcome: Option<Outcome>,
    /// What to tell a person.
    pub message: String,
    /// What to tell a program.
    pub reason: StatusReason,
    /// Which object, and what about it.
    pub details: Option<Box<StatusDetails>>,
    /// The HTTP status code; 0 where the body does not say.
    pub code: i32,
    /// With [`is_expired`](Self::is_expired) on a page of a list: the token that goes on from the
    /// same key at the newest version instead.
    pub continue_token: Option<String>,
}

/// Whether a request succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It did.
    Success,
    /// It did not.
    Failure,
}

/// Which object a status is about, and what about it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StatusDetails {
    /// The name of the object.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The group of the object.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// The resource (`pods`); the kind (`Pod`) where the object is invalid.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The uid of the object.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// One entry for each thing that is wrong.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<StatusCause>,
    /// How long to wait before the next attempt; 0 means that the server does not say.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "is_zero")]
    pub retry_after_seconds: i32,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct StatusCause {
    /// What sort of thing. Its name in a body is `reason`.
    #[serde(
        rename = "reason",
        deserialize_with = "null_is_default",
        skip_serializing_if = "CauseType::is_unknown"
    )]
    pub cause: CauseType,
    /// What to tell a person.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The field that is at fault: `spec.containers[0].name`.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub field: String,
}

fn is_zero(number: &i32) -> bool {
    *number == 0
}

/// Prints the message, or else the reason and the code.
impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.message.as_str(), &self.reason, self.code) {
            ("", StatusReason::Unknown, 0) => f.write_str("the server gave no reason"),
            ("", StatusReason::Unknown, code) => write!(f, "the server gave code {code} and no reason"),
            ("", reason, 0) => write!(f, "{reason}"),
            ("", reason, code) => write!(f, "{reason} (code {code})"),
            (message, ..) => f.write_str(message),
        }
    }
}

impl Error for Status {}
