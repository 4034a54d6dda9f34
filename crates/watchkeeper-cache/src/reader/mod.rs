//! Readers: the objects of a store as a type.
//!
//! From: a store, whose objects are bytes.
//! To:   whoever wants a Pod, one's own custom resource, or three fields of either.
//!
//! - R1: objects are decoded when they are asked for. One that cannot be decoded is an error, which does not keep the
//!   others from those who want a [partial](Listed::partial) list.
//! - R2: decoded copies belong to the reader that keeps them, and there is at most one of an object.

mod decoded;
mod listed;
mod lister;
mod notification;

pub use listed::{ListUndecodable, Listed, Undecodable};
pub use lister::{GetError, Reader};
pub use notification::{Notification, Notifications};

/// What a reader keeps of what it has decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Keep {
    /// Nothing: an object is decoded each time. It takes no memory.
    #[default]
    Encoded,
    /// A decoded copy of every object that was asked for, as long as it does not change.
    Decoded,
}
