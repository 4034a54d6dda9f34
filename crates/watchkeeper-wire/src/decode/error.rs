//! Decoding errors.

use std::fmt;

use crate::Malformed;

/// An error from decoding a body. The body may still decode as another type.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes are malformed.
    #[error("malformed body")]
    Malformed(#[from] Malformed),
    /// The JSON is malformed or does not match the type.
    #[error("body does not match the type")]
    Json(#[source] serde_json::Error),
    /// The protobuf message does not match the type.
    #[error("body does not match the type: {0}")]
    Mismatch(String),
    /// The kind has no protobuf message.
    #[error("no protobuf encoding for {kind}; request JSON instead")]
    NoMessage {
        /// The kind.
        kind: String,
    },
}

impl DecodeError {
    /// Creates an error for a generated type that is requested for an object of another type.
    pub(crate) fn wrong_type(expected: &str, found: &str) -> Self {
        Self::Mismatch(format!("expected {expected}, found {found}"))
    }
}

impl serde::de::Error for DecodeError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::Mismatch(message.to_string())
    }
}
