//! Predicates: which updates of a primary object are worth a reconcile call.
//!
//! A predicate is consulted for updates only, and not for an update that sets the deletion timestamp or
//! replaces the object by another of the same name. No predicate, alone or combined with [`and`], [`or`] and
//! [`not`], can hide that an object was created or is being deleted.
//!
//! ```
//! use watchkeeper_controller::predicate::{annotations_changed, generation_changed, or};
//!
//! # fn example(controller: watchkeeper_controller::Controller) -> watchkeeper_controller::Controller {
//! controller.with_predicate(or(generation_changed, annotations_changed))
//! # }
//! ```

use watchkeeper_core::Object;

/// Returns whether the generation differs: the spec changed, not only status or metadata. Use it only for
/// kinds whose server maintains `metadata.generation`.
pub fn generation_changed(old: &Object, new: &Object) -> bool {
    old.metadata.generation() != new.metadata.generation()
}

/// Returns whether the labels differ.
pub fn labels_changed(old: &Object, new: &Object) -> bool {
    sorted(old.metadata.labels()) != sorted(new.metadata.labels())
}

/// Returns whether the annotations differ. Always false on an informer whose source drops annotations.
pub fn annotations_changed(old: &Object, new: &Object) -> bool {
    sorted(old.metadata.annotations()) != sorted(new.metadata.annotations())
}

/// Returns a predicate for updates that pass both of these.
pub fn and(
    one: impl Fn(&Object, &Object) -> bool + Send + Sync + 'static,
    other: impl Fn(&Object, &Object) -> bool + Send + Sync + 'static,
) -> impl Fn(&Object, &Object) -> bool + Send + Sync + 'static {
    move |old, new| one(old, new) && other(old, new)
}

/// Returns a predicate for updates that pass at least one of these.
pub fn or(
    one: impl Fn(&Object, &Object) -> bool + Send + Sync + 'static,
    other: impl Fn(&Object, &Object) -> bool + Send + Sync + 'static,
) -> impl Fn(&Object, &Object) -> bool + Send + Sync + 'static {
    move |old, new| one(old, new) || other(old, new)
}

/// Returns a predicate for updates that `other` rejects.
pub fn not(
    other: impl Fn(&Object, &Object) -> bool + Send + Sync + 'static,
) -> impl Fn(&Object, &Object) -> bool + Send + Sync + 'static {
    move |old, new| !other(old, new)
}

fn sorted<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<(&'a str, &'a str)> {
    let mut all: Vec<_> = pairs.collect();
    all.sort_unstable();
    all
}
