//! The JSON form of [`Status`].

use serde::{Deserialize, Serialize};

use super::{Outcome, Status, StatusDetails, StatusReason, is_zero};
use crate::null::null_is_default;

const KIND: &str = "Status";
const API_VERSION: &str = "v1";

/// Some servers send the group of the shared kinds.
const META_API_VERSION: &str = "meta.k8s.io/v1";

/// A `Status` with the fields in Go's order.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Body {
    #[serde(default, deserialize_with = "null_is_default")]
    kind: String,
    #[serde(default, deserialize_with = "null_is_default")]
    api_version: String,
    #[serde(default, deserialize_with = "null_is_default")]
    metadata: Metadata,
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    status: String,
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    message: String,
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "StatusReason::is_unknown")]
    reason: StatusReason,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    details: Option<Box<StatusDetails>>,
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_zero")]
    code: i32,
}

#[derive(Default, Serialize, Deserialize)]
struct Metadata {
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    r#continue: String,
}

/// The body is not a `Status`.
#[derive(Debug, thiserror::Error)]
#[error("expected kind Status of v1, found kind {kind:?} of {api_version:?}")]
pub(super) struct NotAStatus {
    kind: String,
    api_version: String,
}

impl TryFrom<Body> for Status {
    type Error = NotAStatus;

    fn try_from(body: Body) -> Result<Self, NotAStatus> {
        let kind = matches!(body.kind.as_str(), "" | KIND);
        let version = matches!(body.api_version.as_str(), "" | API_VERSION | META_API_VERSION);
        if !kind || !version {
            return Err(NotAStatus { kind: body.kind, api_version: body.api_version });
        }
        Ok(Self {
            outcome: match body.status.as_str() {
                "Success" => Some(Outcome::Success),
                "Failure" => Some(Outcome::Failure),
                _ => None,
            },
            message: body.message,
            reason: body.reason,
            details: body.details,
            code: body.code,
            continue_token: Some(body.metadata.r#continue).filter(|token| !token.is_empty()),
        })
    }
}

impl From<Status> for Body {
    fn from(status: Status) -> Self {
        Self {
            kind: KIND.to_owned(),
            api_version: API_VERSION.to_owned(),
            metadata: Metadata { r#continue: status.continue_token.unwrap_or_default() },
            status: match status.outcome {
                Some(Outcome::Success) => "Success".to_owned(),
                Some(Outcome::Failure) => "Failure".to_owned(),
                None => String::new(),
            },
            message: status.message,
            reason: status.reason,
            details: status.details,
            code: status.code,
        }
    }
}
