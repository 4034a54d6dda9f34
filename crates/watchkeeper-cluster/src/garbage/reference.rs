//! References between objects.

use std::fmt;
use std::sync::Arc;

use watchkeeper_core::ObjectKey;

/// The UID of an object, which alone identifies it.
pub(super) type Uid = Arc<str>;

/// The type of an object, as an owner reference states it.
#[derive(Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Type {
    pub(super) kind: String,
    /// `apps/v1`.
    pub(super) api_version: String,
}

/// An object and its coordinates. In an owner reference all but the UID may be wrong.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Reference {
    pub(super) of: Arc<Type>,
    pub(super) key: ObjectKey,
    pub(super) uid: Uid,
}

/// An owner reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) of: Arc<Type>,
    pub(super) name: Arc<str>,
    pub(super) uid: Uid,
    /// Whether it blocks the owner's foreground deletion.
    pub(super) blocks: bool,
}

impl Owner {
    /// Returns the owner's coordinates from a dependent's point of view: in the dependent's namespace.
    pub(super) fn seen_from(&self, dependent: &ObjectKey) -> Reference {
        let key = ObjectKey::namespaced(dependent.namespace().unwrap_or_default(), &self.name);
        Reference { of: self.of.clone(), key, uid: self.uid.clone() }
    }

    /// Returns whether UID, type and name match, in any namespace.
    pub(super) fn is_of(&self, owner: &Reference) -> bool {
        self.uid == owner.uid && self.of == owner.of && *self.name == *owner.key.name()
    }
}

impl Reference {
    /// Returns whether it can own an object with this key: owners are in the same namespace or
    /// cluster-scoped.
    pub(super) fn is_above(&self, dependent: &ObjectKey) -> bool {
        self.key.namespace().is_none_or(|namespace| dependent.namespace() == Some(namespace))
    }

    /// Returns the same reference at cluster scope.
    pub(super) fn of_cluster(&self) -> Self {
        Self { key: ObjectKey::cluster(self.key.name()), ..self.clone() }
    }
}

/// Formats it as kube-controller-manager does.
impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Type { kind, api_version } = &*self.of;
        let (namespace, name) = (self.key.namespace().unwrap_or_default(), self.key.name());
        write!(f, "[{api_version}/{kind}, namespace: {namespace}, name: {name}, uid: {}]", self.uid)
    }
}
