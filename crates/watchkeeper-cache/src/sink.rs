//! Sink: the receiver of a reflector's objects.

use watchkeeper_core::{Bookmark, Object, ObjectKey, ObjectMeta, ResourceVersion};

/// The copy of a collection that a [`Reflector`](crate::Reflector) maintains: a [`Store`](crate::Store)'s
/// [`Writer`](crate::store::Writer), or a test double.
///
/// Lists are staged. Staged objects become visible with [`commit`](Self::commit); a list that fails is discarded by
/// the next [`begin`](Self::begin). A sink has a single caller and is never called concurrently.
///
/// - `sink.K1`: `commit` atomically replaces the copy with exactly the staged objects.
/// - `sink.K2`: [`put`](Self::put) and [`delete`](Self::delete) are never called between `begin` and `commit`.
pub trait Sink: Send {
    /// Starts a list, and discards staged objects that were not committed.
    fn begin(&mut self);

    /// Stages a listed object, and replaces a staged object with the same key.
    fn stage(&mut self, object: Object);

    /// Stages the current state of an object, because its listed state cannot be used.
    fn stage_as_it_was(&mut self, key: &ObjectKey);

    /// Removes a staged object: it was deleted while the list was still arriving.
    fn unstage(&mut self, key: &ObjectKey);

    /// Ends the list, and replaces the copy with the staged objects. `version` is the list's resource version.
    fn commit(&mut self, version: ResourceVersion);

    /// Adds or updates an object.
    fn put(&mut self, object: Object);

    /// Deletes an object. `last` is its final state, with the resource version of the deletion.
    fn delete(&mut self, last: Object);

    /// Deletes an object whose final state cannot be used. `last` is the metadata of that state.
    fn delete_unseen(&mut self, last: &ObjectMeta);

    /// Advances the resource version without a change.
    fn bookmark(&mut self, bookmark: &Bookmark);
}
