//! Mappings from an object to the keys of the primary objects it affects, for [`Controller::watches`](crate::Controller::watches).

use watchkeeper_cache::Store;
use watchkeeper_core::{GroupVersionKind, Object, ObjectKey, OwnerReference};

/// Returns the object's own key.
pub(crate) fn self_key(object: &Object) -> Vec<ObjectKey> {
    vec![object.metadata.key().clone()]
}

/// Returns the key of the object's controlling owner, if that is of this kind.
pub(crate) fn controlling_owner(kind: &GroupVersionKind, object: &Object) -> Vec<ObjectKey> {
    let owner = object.metadata.controller().filter(|owner| is_of_kind(kind, owner));
    owner.map(|owner| key_in_same_namespace(object, owner.name)).into_iter().collect()
}

/// Returns a mapping to the keys of all owners of this kind, controlling or not.
///
/// ```no_run
/// # fn example(shops: watchkeeper_cache::Informer, parts: watchkeeper_cache::Informer) {
/// use watchkeeper_controller::{Controller, mapping};
///
/// let controller =
///     Controller::new("shops", &shops).watches(&parts, mapping::all_owners(shops.kind().name()));
/// # }
/// ```
pub fn all_owners(kind: &GroupVersionKind) -> impl Fn(&Object) -> Vec<ObjectKey> + Send + Sync + 'static {
    let kind = kind.clone();
    move |object| {
        let owners = object.metadata.owner_references().filter(|owner| is_of_kind(&kind, owner));
        owners.map(|owner| key_in_same_namespace(object, owner.name)).collect()
    }
}

/// Returns the key of the primary object that a label names.
pub(crate) fn named_by_label(label: &str, object: &Object) -> Vec<ObjectKey> {
    let name = object.metadata.label(label).filter(|name| !name.is_empty());
    name.map(|name| key_in_same_namespace(object, name)).into_iter().collect()
}

/// Returns the keys of the primary objects that the index lists under the object's name, in its namespace. If
/// either side is cluster-scoped, all namespaces match.
pub(crate) fn referring(store: &Store, index: &str, object: &Object) -> Vec<ObjectKey> {
    let key = object.metadata.key();
    let in_scope = |other: &ObjectKey| match (other.namespace(), key.namespace()) {
        (Some(other), Some(own)) => other == own,
        _ => true,
    };
    let now = store.snapshot();
    let Ok(found) = now.by_index(index, key.name()) else { return Vec::new() }; // unreachable: the index exists
    found.map(|object| object.metadata.key().clone()).filter(in_scope).collect()
}

/// Returns whether an owner is of this kind, in any version: versions are views of the same object.
fn is_of_kind(kind: &GroupVersionKind, owner: &OwnerReference<'_>) -> bool {
    let (group, _) = owner.api_version.rsplit_once('/').unwrap_or(("", owner.api_version));
    owner.kind == kind.kind && group == kind.group
}

/// Returns the key with this name in the object's namespace.
fn key_in_same_namespace(object: &Object, name: &str) -> ObjectKey {
    match object.metadata.key().namespace() {
        Some(namespace) => ObjectKey::namespaced(namespace, name),
        None => ObjectKey::cluster(name),
    }
}
