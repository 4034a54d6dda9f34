//! Snapshot: the objects at one moment, for reading.

use std::sync::Arc;

use watchkeeper_core::{LabelSelector, Object, ObjectKey, ResourceVersion};

use super::index::UnknownIndex;
use super::select;
use super::sizes::Sizes;
use super::state::State;

/// All objects at one moment: what the store does afterwards does not show. Clones are cheap.
///
/// ```
/// # use watchkeeper_cache::Store;
/// # use watchkeeper_core::{Encoded, ObjectMetaBuilder, Object};
/// # let (store, mut writer) = Store::new();
/// # let head = ObjectMetaBuilder::default().namespace("shop").name("web-0").version("7").label("app", "web").finish();
/// # watchkeeper_cache::Sink::put(&mut writer, Object { metadata: head, encoded: Encoded::json(*b"{}") });
/// let now = store.snapshot();
/// for object in now.in_namespace("shop") {
///     println!("{} in version {}", object.metadata.key(), object.metadata.resource_version());
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

    /// The version of all of it: nothing that happened after it is in here. Of several collections as one it is
    /// the lowest: see [`Union`](watchkeeper_core::Union).
    pub fn version(&self) -> &ResourceVersion {
        &self.state.version
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.state.objects().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One object.
    pub fn get(&self, key: &ObjectKey) -> Option<&Arc<Object>> {
        self.state.objects().get(key)
    }

    /// All objects, by namespace and name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Object>> {
        self.state.objects().iter().map(|(_, object)| object)
    }

    /// The objects after a key, by namespace and name: for pages.
    pub fn iter_after(&self, key: &ObjectKey) -> impl Iterator<Item = &Arc<Object>> {
        self.state.objects().iter_from(move |other| other <= key).map(|(_, object)| object)
    }

    /// The objects of a namespace, by name.
    pub fn in_namespace(&self, namespace: &str) -> impl Iterator<Item = &Arc<Object>> {
        let of = |key: &ObjectKey| key.namespace().unwrap_or_default().cmp(namespace);
        self.state
            .objects()
            .iter_from(move |key| of(key).is_lt())
            .take_while(move |(key, _)| of(key).is_eq())
            .map(|(_, object)| object)
    }

    /// The objects that a selector selects, in one namespace or in all, by namespace and name. Where the
    /// selector names a value, only those that have it are looked at.
    pub fn select(&self, labels: &LabelSelector, namespace: Option<&str>) -> Vec<Arc<Object>> {
        select::select(self, labels, namespace)
    }

    /// The objects that have a value in an index that was added, by namespace and name.
    ///
    /// # Errors
    /// If there is no such index.
    pub fn by_index(
        &self,
        index: &str,
        value: &str,
    ) -> Result<impl Iterator<Item = &Arc<Object>>, UnknownIndex> {
        self.state.table.by_index(index, value)
    }

    /// All values in an index that was added, in order.
    ///
    /// # Errors
    /// If there is no such index.
    pub fn index_values(&self, index: &str) -> Result<impl Iterator<Item = &str>, UnknownIndex> {
        self.state.table.index_values(index)
    }

    /// The objects that an object owns, by namespace and name.
    pub fn owned_by(&self, uid: &str) -> impl Iterator<Item = &Arc<Object>> {
        self.state.owners.keys(uid).filter_map(|key| self.get(key))
    }

    /// What the memory is used for. What several snapshots share counts for each of them.
    pub fn sizes(&self) -> Sizes {
        self.state.sizes()
    }

    pub(super) fn state(&self) -> &State {
        &self.state
    }
}
