//! Shared registry: the registry of a running server, to which custom resources are added and removed.

use std::sync::Arc;

use parking_lot::RwLock;

use super::Registry;

/// The registry of a server. Clones share it.
///
/// Take one snapshot with [`now`](Self::now) for several consistent lookups.
#[derive(Debug, Clone)]
pub struct SharedRegistry {
    current: Arc<RwLock<Arc<Registry>>>,
}

impl SharedRegistry {
    /// Returns the current registry.
    pub fn now(&self) -> Arc<Registry> {
        self.current.read().clone()
    }

    /// Replaces the registry.
    pub fn replace(&self, registry: Registry) {
        let before = std::mem::replace(&mut *self.current.write(), Arc::new(registry));
        drop(before); // after releasing the lock
    }
}

impl From<Arc<Registry>> for SharedRegistry {
    fn from(registry: Arc<Registry>) -> Self {
        Self { current: Arc::new(RwLock::new(registry)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::{Resource, builtin};

    #[test]
    fn a_snapshot_does_not_change() {
        let shared = SharedRegistry::from(Arc::new(builtin().clone()));
        let (other, before) = (shared.clone(), shared.now());
        let mut registry = builtin().clone();
        registry.add(Resource::new("example.com", "v1", "widgets")).unwrap();
        shared.replace(registry);
        assert!(other.now().get("example.com", "v1", "widgets").is_some());
        assert!(before.get("example.com", "v1", "widgets").is_none());
    }
}
