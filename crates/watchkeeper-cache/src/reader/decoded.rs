//! Cache of decoded objects.

use std::collections::HashMap;
use std::sync::Arc;

use watchkeeper_core::{Object, ObjectKey};

use crate::lock::Mutex;
use crate::store::Snapshot;

/// Number of copies of deleted objects that are tolerated before a sweep, beyond a quarter of the objects.
const SLACK: usize = 64;

/// An encoded state and its decoded form.
type Copy<K> = (Arc<Object>, Arc<K>);

/// Decoded objects, each with the encoded state that it was decoded from.
#[derive(Debug)]
pub(super) struct Decoded<K> {
    copies: Mutex<HashMap<ObjectKey, Copy<K>>>,
}

impl<K> Default for Decoded<K> {
    fn default() -> Self {
        Self { copies: Mutex::default() }
    }
}

impl<K> Decoded<K> {
    pub(super) fn get(&self, object: &Arc<Object>) -> Option<Arc<K>> {
        let copies = self.copies.lock();
        let (encoded, copy) = copies.get(object.metadata.key())?;
        Arc::ptr_eq(encoded, object).then(|| copy.clone())
    }

    pub(super) fn keep(&self, object: &Arc<Object>, copy: &Arc<K>, now: &Snapshot) {
        let mut copies = self.copies.lock();
        copies.insert(object.metadata.key().clone(), (object.clone(), copy.clone()));
        if copies.len() > now.len() + now.len() / 4 + SLACK {
            copies.retain(|key, _| now.get(key).is_some());
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.copies.lock().len()
    }
}
