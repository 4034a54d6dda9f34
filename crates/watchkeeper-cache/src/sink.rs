//! Sink: where the reflector puts what it hears.

use watchkeeper_core::{Bookmark, Object, ObjectKey, ObjectMeta, ResourceVersion};

/// A copy of a collection, as the reflector keeps it: the [store](crate::store) or a test's.
///
/// A list is staged: nothing of it counts before [`commit`](Self::commit), and a list that fails is dropped
/// with [`begin`](Self::begin) of the next.
///
/// - K1: `commit` makes the copy what was staged and nothing else, in one step.
/// - K2: between a `begin` and its `commit` nothing is [`put`](Self::put) or [`deleted`](Self::delete).
pub trait Sink: Send {
    /// A list begins. What was staged before and not committed is forgotten.
    fn begin(&mut self);

    /// An object of the list. One of the same key that was staged before makes way.
    fn stage(&mut self, object: Object);

    /// An object of the list in a state that cannot be used: what the copy has of it stays.
    fn stage_as_it_was(&mut self, key: &ObjectKey);

    /// An object is gone while the list still arrives.
    fn unstage(&mut self, key: &ObjectKey);

    /// The list has ended, and this is its version.
    fn commit(&mut self, version: ResourceVersion);

    /// An object is new or has changed.
    fn put(&mut self, object: Object);

    /// An object is gone; this is its last state, with the version of its end.
    fn delete(&mut self, last: Object);

    /// An object is gone; its last state cannot be used, and this is the head of it.
    fn delete_unseen(&mut self, last: &ObjectMeta);

    /// Everything up to a version has been seen.
    fn bookmark(&mut self, bookmark: &Bookmark);
}
