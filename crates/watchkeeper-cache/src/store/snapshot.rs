//! Snapshot: an immutable view of the store.

use std::sync::Arc;

use watchkeeper_core::{LabelSelector, Object, ObjectKey, ResourceVersion};

use super::index::{NAMESPACE_INDEX, UnknownIndex};
use super::select;
use super::sizes::Sizes;
use super::state::State;

/// All objects of a store at one moment, consistent with their indexes and with [`version`](Self::version).
///
/// A snapshot never changes, however long it is held. Taking or cloning one copies a pointer; objects are shared with
/// the store.
///
/// ```
/// # use watchkeeper_cache::Store;
/// # use watchkeeper_core::{Encoded, ObjectMetaBuilder, Object};
/// # let (store, mut writer) = Store::new();
/// # let metadata = ObjectMetaBuilder::default().namespace("shop").name("web-0").version("7").label("app", "web").finish();
/// # watchkeeper_cache::Sink::put(&mut writer, Object { metadata, encoded: Encoded::json(*b"{}") });
/// let now = store.snapshot();
/// for object in now.in_namespace("shop") {
///     println!("{} at version {}", object.metadata.key(), object.metadata.resource_version());
/// }
/// assert_eq!(now.select(&"app=web".parse()?, None).len(), 1);
/// # Ok::<(), watchkeeper_core::SelectorError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    state: Arc<State>,
}

impl Snapshot {
    pub(super) fn new(state: Arc<State>) -> Self {
        Self { state }
    }

    /// Returns the resource version of the snapshot: every change up to it is included. For a
    /// [`Union`](watchkeeper_core::Union) of collections this is the lowest of their versions.
    pub fn version(&self) -> &ResourceVersion {
        &self.state.version
    }

    /// Returns the number of objects.
    pub fn len(&self) -> usize {
        self.state.objects().len()
    }

    /// Returns whether the snapshot has no objects.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the object with this key.
    pub fn get(&self, key: &ObjectKey) -> Option<&Arc<Object>> {
        self.state.objects().get(key)
    }

    /// Returns all objects, ordered by namespace and name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Object>> {
        self.state.objects().iter().map(|(_, object)| object)
    }

    /// Returns the objects after `key`, ordered by namespace and name; for paging.
    pub fn iter_after(&self, key: &ObjectKey) -> impl Iterator<Item = &Arc<Object>> {
        self.state.objects().iter_from(move |other| other <= key).map(|(_, object)| object)
    }

    /// Returns the objects in a namespace, ordered by name.
    pub fn in_namespace(&self, namespace: &str) -> impl Iterator<Item = &Arc<Object>> {
        let of = |key: &ObjectKey| key.namespace().unwrap_or_default().cmp(namespace);
        self.state
            .objects()
            .iter_from(move |key| of(key).is_lt())
            .take_while(move |(key, _)| of(key).is_eq())
            .map(|(_, object)| object)
    }

    /// Returns the objects that match a label selector, in one namespace or in all, ordered by namespace and name.
    ///
    /// A selector that requires a label is answered from the label index; only a selector without such a requirement
    /// scans all objects.
    pub fn select(&self, labels: &LabelSelector, namespace: Option<&str>) -> Vec<Arc<Object>> {
        select::select(self, labels, namespace)
    }

    /// Returns the objects with this index value, ordered by namespace and name.
    ///
    /// # Errors
    /// If the index does not exist.
    pub fn by_index(
        &self,
        index: &str,
        value: &str,
    ) -> Result<impl Iterator<Item = &Arc<Object>>, UnknownIndex> {
        let (in_namespace, added) = if index == NAMESPACE_INDEX {
            (Some(self.in_namespace(value)), None)
        } else {
            (None, Some(self.state.table.by_index(index, value).map_err(with_namespace_index)?))
        };
        Ok(in_namespace.into_iter().flatten().chain(added.into_iter().flatten()))
    }

    /// Returns all values of an index, in order.
    ///
    /// # Errors
    /// If the index does not exist.
    pub fn index_values(&self, index: &str) -> Result<impl Iterator<Item = &str>, UnknownIndex> {
        let (namespaces, added) = if index == NAMESPACE_INDEX {
            (Some(self.namespaces()), None)
        } else {
            (None, Some(self.state.table.index_values(index).map_err(with_namespace_index)?))
        };
        Ok(namespaces.into_iter().flatten().chain(added.into_iter().flatten()))
    }

    /// Returns the distinct namespaces in order, with one lookup for each.
    fn namespaces(&self) -> impl Iterator<Item = &str> {
        let after = |last: Option<&str>| {
            let mut rest = self.state.objects().iter_from(move |key| key.namespace() <= last);
            rest.next().and_then(|(key, _)| key.namespace())
        };
        std::iter::successors(after(None), move |last| after(Some(last)))
    }

    /// Returns the objects with an owner reference to this UID, ordered by namespace and name.
    pub fn owned_by(&self, uid: &str) -> impl Iterator<Item = &Arc<Object>> {
        self.state.owners.keys(uid).filter_map(|key| self.get(key))
    }

    /// Returns the memory in use. Memory shared between snapshots is counted in each of them.
    pub fn sizes(&self) -> Sizes {
        self.state.sizes()
    }

    pub(super) fn state(&self) -> &State {
        &self.state
    }
}

fn with_namespace_index(mut error: UnknownIndex) -> UnknownIndex {
    error.known.insert(0, NAMESPACE_INDEX.to_owned());
    error
}
