//! Undecoded watch events.

use watchkeeper_core::WatchEventType;

/// A watch event whose object has not been parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The type of the event.
    pub kind: WatchEventType,
    /// The object: JSON, or a protobuf message without its envelope.
    pub object: &'a [u8],
}
