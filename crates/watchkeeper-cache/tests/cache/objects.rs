//! Objects for tests.

use watchkeeper_core::{Encoded, Object, ObjectMetaBuilder, OwnerReference};

/// Creates an object whose UID is its version.
pub(crate) fn object(namespace: &str, name: &str, version: u64) -> Object {
    Build::new(namespace, name, version).object()
}

/// A builder of objects.
pub(crate) struct Build {
    head: ObjectMetaBuilder,
}

impl Build {
    pub(crate) fn new(namespace: &str, name: &str, version: u64) -> Self {
        let mut head = ObjectMetaBuilder::default();
        head.namespace(namespace).name(name).version(&version.to_string());
        Self { head }
    }

    pub(crate) fn label(mut self, key: &str, value: &str) -> Self {
        self.head.label(key, value);
        self
    }

    pub(crate) fn uid(mut self, uid: &str) -> Self {
        self.head.uid(uid);
        self
    }

    pub(crate) fn owner(mut self, uid: &str) -> Self {
        self.head.owner(&OwnerReference { uid, ..OwnerReference::default() });
        self
    }

    pub(crate) fn object(mut self) -> Object {
        Object { metadata: self.head.finish(), encoded: Encoded::json(*b"{}") }
    }
}
