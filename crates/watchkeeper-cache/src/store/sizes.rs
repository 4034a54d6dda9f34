//! Sizes: what the memory of a store is used for.

use watchkeeper_core::Object;

/// The memory of a store by cause, in bytes, as far as it can be counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sizes {
    /// How many objects there are.
    pub objects: usize,
    /// The bodies of the objects.
    pub bodies: usize,
    /// The heads of the objects: keys, labels, owners.
    pub heads: usize,
    /// The map from keys to objects.
    pub entries: usize,
    /// The indexes: labels, owners, and those that were added.
    pub indexes: usize,
}

impl Sizes {
    /// All of it.
    pub fn total(&self) -> usize {
        self.bodies + self.heads + self.entries + self.indexes
    }

    pub(super) fn add(&mut self, object: &Object) {
        self.bodies += object.encoded.body.len();
        self.heads += head_bytes(object);
    }

    pub(super) fn subtract(&mut self, object: &Object) {
        self.bodies -= object.encoded.body.len();
        self.heads -= head_bytes(object);
    }
}

/// A head, and the counts of the `Arc` that it lives in with its body.
fn head_bytes(object: &Object) -> usize {
    size_of::<Object>() + 2 * size_of::<usize>() + object.metadata.heap_bytes()
}
