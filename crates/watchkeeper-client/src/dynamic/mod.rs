//! Dynamic: objects of any kind, known only when the program runs.
//!
//! From: a [`Client`](crate::Client) and a group, version and resource.
//! To:   [`DynamicObject`]s, and from there to any type.

mod api;
mod object;
mod options;

pub use api::{Deleted, DynamicApi, DynamicList};
pub use object::{DynamicObject, NotAnObject};
pub use options::{ApplyOptions, DeleteOptions, ListOptions, Propagation, WriteOptions};
