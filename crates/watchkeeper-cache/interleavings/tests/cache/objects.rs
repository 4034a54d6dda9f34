//! Test objects, and a mirror that applies deltas.

use std::collections::BTreeMap;
use std::sync::Arc;

use watchkeeper_cache_interleavings::delta::{Delta, Incarnation};
use watchkeeper_core::{Encoded, Object, ObjectMetaBuilder};

/// Creates an object with its version as the label `at`.
pub(crate) fn object(name: &str, uid: &str, version: u64) -> Object {
    let (mut head, version) = (ObjectMetaBuilder::default(), version.to_string());
    head.namespace("x").name(name).uid(uid).version(&version).label("at", &version);
    Object { metadata: head.finish(), encoded: Encoded::json(*b"{}") }
}

/// `uid@version`.
pub(crate) fn state(object: &Arc<Object>) -> String {
    format!("{}@{}", object.metadata.uid(), object.metadata.resource_version())
}

/// A mirror that applies the deltas it receives.
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
    /// Applies a delta, and panics if it does not fit the known state (`delta.Q4`).
    pub(crate) fn apply(&mut self, key: K, delta: Delta<T>) {
        let before = self.known.remove(&key);
        match delta {
            Delta::Added { new, .. } => {
                assert_eq!(before, None, "{key:?} already exists");
                self.known.insert(key, new);
            }
            Delta::Updated { old, new } => {
                assert_eq!(before.as_ref(), Some(&old), "{key:?}: unexpected old state");
                assert!(old != new && old.same_uid(&new), "invalid update from {old:?} to {new:?}");
                self.known.insert(key, new);
            }
            // An unknown object is transient: added and deleted before it was received.
            Delta::Deleted { old, .. } => {
                assert!(before.is_none_or(|before| before == old), "{key:?}: unexpected old state");
            }
            Delta::Resync(same) => {
                assert_eq!(before.as_ref(), Some(&same), "{key:?}: unexpected resync");
                self.known.insert(key, same);
            }
        }
    }
}
