//! Patches: what a PATCH request makes of an object, in the three forms that say what to change.
//!
//! From: the stored object as JSON in the version that the request speaks, and the body of the request.
//! To:   the patched object, to be decoded, defaulted and validated as if it had been put.
//!
//! - P1: a patch is applied as a whole or not at all; on an error nothing of it is left.
//! - P2: what comes out is no deeper than [`MAX_DEPTH`] and grew by copies to no more than
//!   [`MAX_COPY_BYTES`], whatever comes in.
//! - P3: the result depends on the document and the patch alone. Go walks its maps in random order, so
//!   where a patch has several faults, or deletes from a list what it adds to it, its answer varies; ours
//!   is always the same one of them.
//!
//! What a patch does and what its errors say follows kube-apiserver 1.37, held against this code by
//! `oracle/tests/patches.rs`. Where we differ on purpose:
//!
//! - A JSON patch tests numbers and strings by value. Go compares how they are spelled, so that its `test` of
//!   `"<"` fails against an object that has just that. A `test` without a value passes for any null; in Go not
//!   for one that the same patch has added.
//! - What makes Go panic (a null at the head of a merged list, an object where a key is expected) is
//!   [`PatchError::Internal`], as the server behind it answers 500. A `test` against a list with a null in it
//!   just compares.
//! - Values that a merged list had twice, more than twenty elements that `$setElementOrder` does not know, and
//!   deletions from a list that is replaced: Go's order is an accident of how it keeps lists in memory.
//! - Nesting ends at [`MAX_DEPTH`], in Go at 10,000; and text must be UTF-8, where Go repairs it.

mod gofmt;
mod json;
mod merge;
mod misfit;
mod strategic;
mod strict;

pub(crate) use gofmt::v as go_text;
pub use json::{MAX_COPY_BYTES, MAX_OPERATIONS, apply as json};
pub use merge::apply as merge;
pub use misfit::misfit;
pub use strategic::apply as strategic;
pub use strict::{Form, faults};

use serde_json::Value;

/// How many objects and lists may stand within each other: as many as serde_json reads, so that what was patched
/// can be read again.
pub const MAX_DEPTH: usize = 127;

/// Why a patch was refused, as the HTTP answer it calls for. The text is Go's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatchError {
    /// The patch cannot be read: 400, reason `BadRequest`.
    #[error("{0}")]
    BadRequest(String),
    /// The patch does not fit the object (a `test` failed, a path is missing): 422, reason `Invalid`. The
    /// server tells its client nothing more; see [`status_message`](Self::status_message).
    #[error("{0}")]
    Unprocessable(String),
    /// The patch has too many operations: 413, reason `RequestEntityTooLarge`.
    #[error("{0}")]
    TooLarge(String),
    /// The patch does not fit the schema or breaks its own rules in a way for which the server has no better
    /// word: 500, without a reason. Trying again does not help.
    #[error("{0}")]
    Internal(String),
}

impl PatchError {
    /// The HTTP status code.
    pub fn code(&self) -> u16 {
        match self {
            Self::BadRequest(_) => 400,
            Self::Unprocessable(_) => 422,
            Self::TooLarge(_) => 413,
            Self::Internal(_) => 500,
        }
    }

    /// What the `Status` says to the client.
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

/// How many objects and lists stand within each other: 0 for a scalar, 1 for `{}`. It does not recurse, for it
/// runs before the depth is known to be bounded.
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

/// Refuses what P2 forbids to recurse into.
fn check_depth(value: &Value) -> Result<(), PatchError> {
    if depth(value) > MAX_DEPTH { Err(PatchError::too_deep()) } else { Ok(()) }
}
