//! Shared: the registry of a server that runs, which custom resources come to and go from.

use std::sync::Arc;

use parking_lot::RwLock;

use super::Registry;

/// The registry of a server. Clones are of the same server.
///
/// Whoever needs several answers of one moment asks them of one snapshot.
#[derive(Debug, Clone)]
pub struct SharedRegistry {
    current: Arc<RwLock<Arc<Registry>>>,
}

impl SharedRegistry {
    /// What is served at this moment.
    pub fn now(&self) -> Arc<Registry> {
        self.current.read().clone()
    }

    /// Serves these resources from now on.
    pub fn replace(&self, registry: Registry) {
        let before = std::mem::replace(&mut *self.current.write(), Arc::new(registry));
        drop(before); // after the lock
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
    fn a_snapshot_stays_as_it_was() {
        let shared = SharedRegistry::from(Arc::new(builtin().clone()));
        let (other, before) = (shared.clone(), shared.now());
        let mut registry = builtin().clone();
        registry.add(Resource::new("example.com", "v1", "widgets")).unwrap();
        shared.replace(registry);
        assert!(other.now().get("example.com", "v1", "widgets").is_some());
        assert!(before.get("example.com", "v1", "widgets").is_none());
    }
}
