//! One event of a watch, as bytes.

use watchkeeper_core::EventKind;

/// A watch event whose object has not been read yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// What happened.
    pub kind: EventKind,
    /// To what: a JSON object, or a protobuf message out of its envelope.
    pub object: &'a [u8],
}
