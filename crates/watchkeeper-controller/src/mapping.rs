//! Mapping: whose keys a change of an object is about.

use watchkeeper_cache::Store;
use watchkeeper_core::{GroupVersionKind, Object, ObjectKey, Owner};

/// An object by its own key.
pub(crate) fn itself(object: &Object) -> Vec<ObjectKey> {
    vec![object.head.key().clone()]
}

/// The object of this kind that manages another.
pub(crate) fn controller_of(kind: &GroupVersionKind, object: &Object) -> Vec<ObjectKey> {
    let owner = object.head.controller().filter(|owner| is_of(kind, owner));
    owner.map(|owner| beside(object, owner.name)).into_iter().collect()
}

/// All objects of this kind that own another.
pub(crate) fn owners_of(kind: &GroupVersionKind, object: &Object) -> Vec<ObjectKey> {
    object.head.owners().filter(|owner| is_of(kind, owner)).map(|owner| beside(object, owner.name)).collect()
}

/// The object that a label names.
pub(crate) fn labelled(label: &str, object: &Object) -> Vec<ObjectKey> {
    let name = object.head.label(label).filter(|name| !name.is_empty());
    name.map(|name| beside(object, name)).into_iter().collect()
}

/// The objects that have the name of another in an index, in its namespace. What is in no namespace can be meant
/// from all of them, and can mean what is in any.
pub(crate) fn referring(store: &Store, index: &str, object: &Object) -> Vec<ObjectKey> {
    let key = object.head.key();
    let meant = |other: &ObjectKey| match (other.namespace(), key.namespace()) {
        (Some(other), Some(own)) => other == own,
        _ => true,
    };
    let now = store.snapshot();
    let Ok(found) = now.by_index(index, key.name()) else { return Vec::new() }; // cannot be: it was looked for
    found.map(|object| object.head.key().clone()).filter(meant).collect()
}

/// Of whatever version: an owner of another is the same object.
fn is_of(kind: &GroupVersionKind, owner: &Owner<'_>) -> bool {
    let (group, _) = owner.api_version.rsplit_once('/').unwrap_or(("", owner.api_version));
    owner.kind == kind.kind && group == kind.group
}

/// The key of this name where the object is.
fn beside(object: &Object, name: &str) -> ObjectKey {
    match object.head.key().namespace() {
        Some(namespace) => ObjectKey::namespaced(namespace, name),
        None => ObjectKey::cluster(name),
    }
}
