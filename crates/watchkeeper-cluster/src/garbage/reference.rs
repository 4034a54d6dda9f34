//! References: which object is meant, by whom.

use std::fmt;
use std::sync::Arc;

use watchkeeper_core::ObjectKey;

/// The uid of an object, which alone identifies it.
pub(super) type Uid = Arc<str>;

/// What an object is, as a reference to it says.
#[derive(Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Type {
    pub(super) kind: String,
    /// `apps/v1`.
    pub(super) api_version: String,
}

/// An object and where it is, as far as is known: who refers to an owner may be wrong about all but the uid.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Reference {
    pub(super) of: Arc<Type>,
    pub(super) key: ObjectKey,
    pub(super) uid: Uid,
}

/// An owner, as its dependent has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) of: Arc<Type>,
    pub(super) name: Arc<str>,
    pub(super) uid: Uid,
    /// Whether the owner is not to go before the dependent.
    pub(super) blocks: bool,
}

impl Owner {
    /// The owner where a dependent looks for it: in its own namespace.
    pub(super) fn seen_from(&self, dependent: &ObjectKey) -> Reference {
        let key = ObjectKey::namespaced(dependent.namespace().unwrap_or_default(), &self.name);
        Reference { of: self.of.clone(), key, uid: self.uid.clone() }
    }

    /// Whether it says of the owner what is so, wherever that is.
    pub(super) fn is_of(&self, owner: &Reference) -> bool {
        self.uid == owner.uid && self.of == owner.of && *self.name == *owner.key.name()
    }
}

impl Reference {
    /// Whether it can own what is in this place: owners are in the same namespace or in none.
    pub(super) fn is_above(&self, dependent: &ObjectKey) -> bool {
        self.key.namespace().is_none_or(|namespace| dependent.namespace() == Some(namespace))
    }

    /// The same in no namespace.
    pub(super) fn of_cluster(&self) -> Self {
        Self { key: ObjectKey::cluster(self.key.name()), ..self.clone() }
    }
}

/// As the real collector prints it.
impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Type { kind, api_version } = &*self.of;
        let (namespace, name) = (self.key.namespace().unwrap_or_default(), self.key.name());
        write!(f, "[{api_version}/{kind}, namespace: {namespace}, name: {name}, uid: {}]", self.uid)
    }
}
