//! Dynamic: objects of any kind, known only when the program runs.
//!
//! From: a [`Client`](crate::Client) and a group, version and resource.
//! To:   [`DynamicObject`]s, and from there to any type.

mod object;

pub use crate::resource::{
    ApplyOptions, DeleteOptions, Deleted, DeletedMany, ListOptions, Propagation, WriteOptions,
};
pub use object::{DynamicObject, NotAnObject};

/// The objects of one resource as trees of values.
pub type DynamicApi = crate::resource::ResourceClient<DynamicObject>;

/// Objects as trees of values, and what is known of their list as a whole.
pub type DynamicList = crate::resource::List<DynamicObject>;
