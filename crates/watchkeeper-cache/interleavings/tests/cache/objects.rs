//! Objects, and who follows what is told of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use watchkeeper_cache_interleavings::delta::{Delta, Incarnation};
use watchkeeper_core::{Encoded, Object, ObjectMetaBuilder};

/// An object in a version, with a label that says which.
pub(crate) fn object(name: &str, uid: &str, version: u64) -> Object {
    let (mut head, version) = (ObjectMetaBuilder::default(), version.to_string());
    head.namespace("x").name(name).uid(uid).version(&version).label("at", &version);
    Object { metadata: head.finish(), encoded: Encoded::json(*b"{}") }
}

/// `uid@version`.
pub(crate) fn state(object: &Arc<Object>) -> String {
    format!("{}@{}", object.metadata.uid(), object.metadata.resource_version())
}

/// Whoever takes what he is told for true.
#[derive(Debug)]
pub(crate) struct Follower<K, T> {
    pub(crate) known: BTreeMap<K, T>,
}

impl<K, T> Default for Follower<K, T> {
    fn default() -> Self {
        Self { known: BTreeMap::new() }
    }
}

impl<K: Ord + std::fmt::Debug, T: PartialEq + std::fmt::Debug + Incarnation> Follower<K, T> {
    /// Follows; fails where that cannot be.
    pub(crate) fn hear(&mut self, key: K, delta: Delta<T>) {
        let before = self.known.remove(&key);
        match delta {
            Delta::Added { new, .. } => {
                assert_eq!(before, None, "{key:?} is there already");
                self.known.insert(key, new);
            }
            Delta::Updated { old, new } => {
                assert_eq!(before.as_ref(), Some(&old), "{key:?} was another");
                assert!(old != new && old.is_same_as(&new), "{old:?} does not become {new:?}");
                self.known.insert(key, new);
            }
            // What is not known is transient: added and deleted before this follower looked.
            Delta::Deleted { old, .. } => {
                assert!(before.is_none_or(|before| before == old), "{key:?} was another");
            }
            Delta::Resync(same) => {
                assert_eq!(before.as_ref(), Some(&same), "{key:?} is not known so");
                self.known.insert(key, same);
            }
        }
    }
}
