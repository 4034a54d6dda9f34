//! Patches: JSON patch, merge patch and strategic merge patch.
//!
//! Input: the stored object as JSON in the version of the request, and the body of the request.
//! Output: the patched object, which is then decoded, defaulted and validated like the body of a PUT.
//!
//! Invariants:
//! - `patch.P1`: a patch is applied as a whole or not at all.
//! - `patch.P2`: the result is nested at most [`MAX_DEPTH`] deep, and copies add at most [`MAX_COPY_BYTES`], whatever the
//!   input.
//! - `patch.P3`: the result depends on the document and the patch alone. Go iterates over maps in random order, so if a
//!   patch has several faults, or deletes from a list what it adds to it, its response varies; ours is always the same
//!   one of them.
//!
//! Behaviour and messages follow kube-apiserver 1.37; `oracle/tests/patches.rs` compares them. Intended differences:
//!
//! - The `test` of a JSON patch compares numbers and strings by value. Go compares their encodings, so that a `test` of
//!   `"<"` fails even against `"<"`. A `test` without a value passes for any null; in Go not for one that the same patch
//!   added.
//! - What makes Go panic (a null at the head of a merged list, an object where a key is expected) is a
//!   [`PatchError::Internal`], since kube-apiserver then responds with 500. A `test` against a list with a null compares.
//! - The order of duplicates in a merged list, of more than twenty elements that `$setElementOrder` does not name, and of
//!   deletions from a replaced list: in Go it depends on memory layout.
//! - Nesting is limited to [`MAX_DEPTH`], in Go to 10,000; and strings must be UTF-8, where Go repairs them.

mod gofmt;
mod json;
mod merge;
mod misfit;
mod strategic;
mod strict;

pub(crate) use gofmt::{go_type, v as go_text};
pub use json::{MAX_COPY_BYTES, MAX_OPERATIONS, apply as json};
pub use merge::apply as merge;
pub use misfit::misfit;
pub use strategic::apply as strategic;
pub use strict::{PatchFormat, faults};

use serde_json::Value;

/// The maximum nesting of objects and lists: that of serde_json, so that a patched object can be decoded again.
pub const MAX_DEPTH: usize = 127;

/// Why a patch was refused, by HTTP status. The message is Go's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatchError {
    /// The patch is malformed: 400, reason `BadRequest`.
    #[error("{0}")]
    BadRequest(String),
    /// The patch does not fit the object (a `test` failed, a path is missing): 422, reason `Invalid`. The client gets no
    /// details; see [`status_message`](Self::status_message).
    #[error("{0}")]
    Unprocessable(String),
    /// The patch has too many operations: 413, reason `RequestEntityTooLarge`.
    #[error("{0}")]
    TooLarge(String),
    /// The patch does not fit the schema or breaks its own rules in a way that kube-apiserver reports as 500, without a
    /// reason. Retrying does not help.
    #[error("{0}")]
    Internal(String),
}

impl PatchError {
    /// Returns the HTTP status code.
    pub fn code(&self) -> u16 {
        match self {
            Self::BadRequest(_) => 400,
            Self::Unprocessable(_) => 422,
            Self::TooLarge(_) => 413,
            Self::Internal(_) => 500,
        }
    }

    /// Returns the message of the `Status`.
    pub fn status_message(&self) -> String {
        match self {
            Self::BadRequest(text) | Self::Internal(text) => text.clone(),
            Self::Unprocessable(_) => {
                "the server rejected our request due to an error in our request".to_owned()
            }
            Self::TooLarge(text) => format!("Request entity too large: {text}"),
        }
    }

    fn too_deep() -> Self {
        Self::Unprocessable("exceeded max depth".to_owned())
    }
}

/// Returns the nesting of objects and lists: 0 for a scalar, 1 for `{}`. Does not recurse, since the depth is not known
/// to be bounded yet.
fn depth(value: &Value) -> usize {
    let mut deepest = 0;
    let mut open = vec![(value, 1)];
    while let Some((value, level)) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items.iter().map(|item| (item, level + 1))),
            Value::Object(fields) => open.extend(fields.values().map(|field| (field, level + 1))),
            _ => continue,
        }
        deepest = deepest.max(level);
    }
    deepest
}

/// Refuses what is nested too deep to recurse into (`patch.P2`).
fn check_depth(value: &Value) -> Result<(), PatchError> {
    if depth(value) > MAX_DEPTH { Err(PatchError::too_deep()) } else { Ok(()) }
}
