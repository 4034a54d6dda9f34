//! References: cluster-scoped objects that other objects name in their fields.

use watchkeeper_cache::Informer;
use watchkeeper_core::{Object, ObjectKey};
use watchkeeper_wire::{FieldPath, read_field};

/// The fields in which the objects of an informer name others.
#[derive(Clone)]
pub(super) struct References {
    from: Informer,
    paths: Vec<FieldPath>,
}

impl References {
    pub(super) fn new(from: &Informer, paths: &[&str]) -> Self {
        let paths = paths.iter().map(|path| path.parse().expect("a valid field path")).collect();
        Self { from: from.clone(), paths }
    }

    /// Returns the keys that an object names.
    pub(super) fn of(&self, object: &Object) -> Vec<ObjectKey> {
        let mut keys = Vec::new();
        for path in &self.paths {
            let read = read_field(&object.encoded, self.from.kind(), path, &mut |name| {
                keys.extend((!name.is_empty()).then(|| ObjectKey::cluster(name)));
            });
            if let Err(error) = read {
                tracing::warn!(key = %object.metadata.key(), %path, %error, "failed to read a reference; ignoring it");
            }
        }
        keys
    }

    /// Returns whether any object names this one.
    pub(super) fn any_to(&self, name: &str) -> bool {
        let key = ObjectKey::cluster(name);
        self.from.store().snapshot().iter().any(|object| self.of(object).contains(&key))
    }
}
