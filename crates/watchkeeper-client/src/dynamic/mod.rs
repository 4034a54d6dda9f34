//! Dynamic objects: kinds unknown at compile time.
//!
//! Input: a [`Client`](crate::Client) and a group, version and resource.
//! Output: [`DynamicObject`]s, which convert to and from typed objects.

mod object;

pub use crate::resource::{
    ApplyOptions, DeleteOptions, Deleted, DeletedCollection, ListMeta, ListOptions, Propagation, WriteOptions,
};
pub use object::{DynamicObject, NotAnObject};

/// A client for one resource with untyped objects. (client-go: `dynamic.ResourceInterface`.)
pub type DynamicApi = crate::resource::ResourceClient<DynamicObject>;

/// A list of untyped objects.
pub type DynamicList = crate::resource::List<DynamicObject>;
