//! Sizes: the memory of a store, by use.

use watchkeeper_core::Object;

/// The memory of a store by use, in bytes. Allocator overhead is not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sizes {
    /// Number of objects.
    pub objects: usize,
    /// Bytes of encoded objects.
    pub bodies: usize,
    /// Bytes of decoded metadata: keys, labels, owners.
    pub metadata: usize,
    /// Bytes of the map from keys to objects.
    pub entries: usize,
    /// Bytes of the indexes: labels, owners, and added ones.
    pub indexes: usize,
}

impl Sizes {
    /// Returns the sum of all bytes.
    pub fn total(&self) -> usize {
        self.bodies + self.metadata + self.entries + self.indexes
    }

    pub(super) fn add(&mut self, object: &Object) {
        self.bodies += object.encoded.body.len();
        self.metadata += metadata_bytes(object);
    }

    pub(super) fn subtract(&mut self, object: &Object) {
        self.bodies -= object.encoded.body.len();
        self.metadata -= metadata_bytes(object);
    }
}

/// Returns the bytes of the metadata, and of the two reference counts of the object's `Arc`.
fn metadata_bytes(object: &Object) -> usize {
    size_of::<Object>() + 2 * size_of::<usize>() + object.metadata.heap_bytes()
}
