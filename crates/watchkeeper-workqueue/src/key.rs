//! Key: what can be queued.

use std::hash::Hash;

/// Whatever tells one thing to work on from another: `namespace/name`, a number, a tuple. It is cloned once
/// when it is added, unless the queue still knows it, so it should be cheap to clone.
pub trait Key: Hash + Eq + Clone + Send + 'static {}

impl<T: Hash + Eq + Clone + Send + 'static> Key for T {}
