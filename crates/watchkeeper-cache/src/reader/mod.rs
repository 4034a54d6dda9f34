//! Readers: typed access to a store.
//!
//! Input:  a store of encoded objects.
//! Output: decoded objects of any type that implements `Deserialize`.
//!
//! Invariants:
//! - `reader.R1`: objects are decoded when they are read. One that cannot be decoded is an error, and does not hide the
//!   others from a [partial](Listed::partial) list.
//! - `reader.R2`: a reader keeps at most one decoded copy of each object.

mod decoded;
mod listed;
mod lister;
mod notification;

pub use listed::{ListUndecodable, Listed, Undecodable};
pub use lister::{GetError, Lookup, Reader};
pub use notification::{Notification, Notifications};

/// Whether a reader keeps decoded objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Keep {
    /// Decodes objects on each read; takes no memory.
    #[default]
    Encoded,
    /// Keeps a decoded copy of each object that was read, until the object changes.
    Decoded,
}
