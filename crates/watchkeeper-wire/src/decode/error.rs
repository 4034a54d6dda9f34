//! Why a body could not be decoded as a type.

use std::fmt;

use crate::Malformed;

/// Why a body could not be decoded. The body itself stays as it is: another type may fit it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes are not what their encoding says.
    #[error("body is malformed")]
    Malformed(#[from] Malformed),
    /// JSON that is malformed, or is not of the type.
    #[error("body does not fit the type")]
    Json(#[source] serde_json::Error),
    /// Well-formed protobuf that is not of the type.
    #[error("body does not fit the type: {0}")]
    Mismatch(String),
    /// Protobuf of a kind that the tables do not have.
    #[error("{kind} has no protobuf form: ask the server for JSON")]
    NoMessage {
        /// The kind.
        kind: String,
    },
}

impl serde::de::Error for DecodeError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::Mismatch(message.to_string())
    }
}
