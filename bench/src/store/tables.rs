//! Tables: objects by key, label and index value, without a lock. The alternatives are built on them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use watchkeeper_core::{Object, ObjectKey};

use super::shared_store::index_value;

/// Hash maps as in client-go's `threadSafeMap`, with an additional index of labels.
#[derive(Debug, Clone, Default)]
pub(super) struct Tables {
    objects: HashMap<ObjectKey, Arc<Object>>,
    labels: HashMap<String, HashSet<ObjectKey>>,
    values: HashMap<String, HashSet<ObjectKey>>,
}

impl Tables {
    pub(super) fn get(&self, key: &ObjectKey) -> Option<Arc<Object>> {
        self.objects.get(key).cloned()
    }

    pub(super) fn with_label(&self, key: &str, value: &str) -> Vec<Arc<Object>> {
        self.resolve(self.labels.get(&format!("{key}={value}")))
    }

    pub(super) fn with_value(&self, value: &str) -> Vec<Arc<Object>> {
        self.resolve(self.values.get(value))
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<Object>> {
        self.objects.values()
    }

    pub(super) fn put(&mut self, object: &Arc<Object>) {
        let key = object.metadata.key().clone();
        for (label, value) in object.metadata.labels() {
            self.labels.entry(format!("{label}={value}")).or_default().insert(key.clone());
        }
        self.values.entry(index_value(object).to_owned()).or_default().insert(key.clone());
        let Some(old) = self.objects.insert(key, object.clone()) else { return };
        for (key, value) in
            old.metadata.labels().filter(|(key, value)| object.metadata.label(key) != Some(value))
        {
            remove(&mut self.labels, &format!("{key}={value}"), old.metadata.key());
        }
        if index_value(&old) != index_value(object) {
            remove(&mut self.values, index_value(&old), old.metadata.key());
        }
    }

    fn resolve(&self, keys: Option<&HashSet<ObjectKey>>) -> Vec<Arc<Object>> {
        keys.into_iter().flatten().filter_map(|key| self.get(key)).collect()
    }
}

impl FromIterator<Arc<Object>> for Tables {
    fn from_iter<I: IntoIterator<Item = Arc<Object>>>(objects: I) -> Self {
        let mut tables = Self::default();
        objects.into_iter().for_each(|object| tables.put(&object));
        tables
    }
}

fn remove(index: &mut HashMap<String, HashSet<ObjectKey>>, value: &str, key: &ObjectKey) {
    let Some(keys) = index.get_mut(value) else { return };
    keys.remove(key);
    if keys.is_empty() {
        index.remove(value);
    }
}
