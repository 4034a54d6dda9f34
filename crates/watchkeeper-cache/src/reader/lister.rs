//! Reader: typed reads from a store.

use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use watchkeeper_core::{LabelSelector, Object, ObjectKey};
use watchkeeper_wire::{Kind, decode};

use super::decoded::Decoded;
use super::{Keep, Listed, Notification, Notifications, Undecodable, notification};
use crate::delta::Delta;
use crate::handler::{Filter, Resync, Subscription, SubscriptionOptions};
use crate::store::{Snapshot, Store, UnknownIndex};

/// A typed, read-only view of a store; client-go's lister, kube-rs's `Store<K>`.
///
/// `K` is any type that implements `Deserialize`: a kind, a custom resource, or a struct with just the fields that the
/// program needs. Clones are cheap and share the decoded copies.
///
/// # Guarantees
/// Each call reads one consistent snapshot, from memory. Objects are decoded when they are read, and returned as
/// `Arc<K>`; with [`Keep::Decoded`] the decoded object is kept for the next read of the same state. Reads trail the server,
/// as all reads from an informer do.
///
/// # Failure
/// Reads fail for objects that cannot be decoded as a `K`; see [`Listed`] for lists that contain some. [`get`](Self::get)
/// also fails for an invalid name or a missing namespace, and [`by_index`](Self::by_index) for an unknown index.
///
/// # Lifetime
/// While a reader exists, its informer keeps running.
///
/// ```
/// use serde::Deserialize;
/// use watchkeeper_cache::{Keep, Reader, Sink as _, Store};
/// use watchkeeper_core::{Encoded, ObjectMetaBuilder, Object};
/// use watchkeeper_wire::Kind;
///
/// /// The one field of a pod that this program needs.
/// #[derive(Deserialize)]
/// struct Placed {
///     spec: Spec,
/// }
///
/// #[derive(Deserialize)]
/// #[serde(rename_all = "camelCase")]
/// struct Spec {
///     node_name: Option<String>,
/// }
///
/// let (store, mut writer) = Store::new();
/// # let metadata = ObjectMetaBuilder::default().namespace("shop").name("web-0").label("app", "web").finish();
/// # writer.put(Object { metadata, encoded: Encoded::json(*br#"{"spec":{"nodeName":"n1"}}"#) });
/// let pods = Reader::<Placed>::new(store, Kind::new("", "v1", "Pod"), Keep::Encoded).namespace("shop");
/// for pod in pods.list(&"app=web".parse()?).items()? {
///     println!("{:?}", pod.spec.node_name);
/// }
/// # assert_eq!(pods.get("web-0")?.unwrap().spec.node_name.as_deref(), Some("n1"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Reader<K> {
    store: Store,
    kind: Kind,
    namespace: Option<Arc<str>>,
    decoded: Option<Arc<Decoded<K>>>,
    resync: Resync,
}

/// The argument of [`Reader::get`]: a key, or a name in the reader's namespace.
#[derive(Debug, Clone, Copy)]
pub enum Lookup<'a> {
    /// A key, as from a work queue.
    Key(&'a ObjectKey),
    /// The name of an object in the reader's namespace, or of a cluster-scoped object.
    Name(&'a str),
}

impl<'a> From<&'a ObjectKey> for Lookup<'a> {
    fn from(key: &'a ObjectKey) -> Self {
        Self::Key(key)
    }
}

impl<'a> From<&'a str> for Lookup<'a> {
    fn from(name: &'a str) -> Self {
        Self::Name(name)
    }
}

impl<'a> From<&'a String> for Lookup<'a> {
    fn from(name: &'a String) -> Self {
        Self::Name(name)
    }
}

/// The error of [`Reader::get`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GetError {
    /// The kind is namespaced, and neither the reader nor the key has a namespace.
    #[error("{kind} {name:?} requires a namespace: use an ObjectKey or Reader::namespace")]
    MissingNamespace {
        /// The kind of the objects.
        kind: String,
        /// The requested name.
        name: String,
    },
    /// The name is empty or contains a slash.
    #[error("invalid object name {name:?}")]
    InvalidName {
        /// The name.
        name: String,
    },
    /// The object exists, and cannot be decoded.
    #[error(transparent)]
    Undecodable(#[from] Undecodable),
}

impl<K> Reader<K> {
    /// Creates a reader of all namespaces. `kind` is the kind of the objects in the store.
    pub fn new(store: Store, kind: Kind, keep: Keep) -> Self {
        let decoded = match keep {
            Keep::Encoded => None,
            Keep::Decoded => Some(Arc::default()),
        };
        Self { store, kind, namespace: None, decoded, resync: Resync::Default }
    }

    /// Sets the default resync period of subscriptions created from this reader.
    #[must_use]
    pub fn resync(mut self, resync: Resync) -> Self {
        self.resync = resync;
        self
    }

    /// Returns a reader restricted to one namespace; an empty namespace means all.
    #[must_use]
    pub fn namespace(&self, namespace: &str) -> Self {
        let namespace = Some(namespace).filter(|namespace| !namespace.is_empty()).map(Arc::from);
        Self { namespace, ..self.clone() }
    }

    /// Returns the underlying store of encoded objects.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Returns the kind of the objects.
    pub fn kind(&self) -> &Kind {
        &self.kind
    }
}

impl<K: DeserializeOwned> Reader<K> {
    /// Returns one object, by its key or by its name in the reader's [namespace](Self::namespace).
    ///
    /// ```
    /// # use serde_json::Value;
    /// # use watchkeeper_cache::Reader;
    /// # fn example(pods: &Reader<Value>, nodes: &Reader<Value>) -> Result<(), Box<dyn std::error::Error>> {
    /// use watchkeeper_core::ObjectKey;
    ///
    /// let pod = pods.get(&ObjectKey::namespaced("shop", "web-0"))?;
    /// let same = pods.namespace("shop").get("web-0")?;
    /// let node = nodes.get("n1")?; // cluster-scoped
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the name is invalid, if the objects are namespaced and there is no namespace, or if the object cannot be decoded.
    /// While the store is empty, a missing namespace is not detected, and the result is `None`.
    pub fn get<'a>(&self, key: impl Into<Lookup<'a>>) -> Result<Option<Arc<K>>, GetError> {
        let lookup = key.into();
        let key = match (lookup, &self.namespace) {
            (Lookup::Key(key), Some(namespace)) if key.namespace() != Some(namespace) => return Ok(None),
            (Lookup::Key(key), _) => key.clone(),
            (Lookup::Name(name), _) if name.is_empty() || name.contains('/') => {
                return Err(GetError::InvalidName { name: name.to_owned() });
            }
            (Lookup::Name(name), Some(namespace)) => ObjectKey::namespaced(namespace, name),
            (Lookup::Name(name), None) => ObjectKey::cluster(name),
        };
        let now = self.store.snapshot();
        match now.get(&key) {
            Some(object) => Ok(Some(self.decode(object, &now)?)),
            // The objects of a collection are either all namespaced or all cluster-scoped.
            None if key.namespace().is_none()
                && now.iter().next().is_some_and(|it| it.metadata.key().namespace().is_some()) =>
            {
                let (kind, name) = (self.kind.kind().to_owned(), key.name().to_owned());
                Err(GetError::MissingNamespace { kind, name })
            }
            None => Ok(None),
        }
    }

    /// Returns the objects that match a label selector, ordered by namespace and name.
    pub fn list(&self, labels: &LabelSelector) -> Listed<K> {
        let now = self.store.snapshot();
        if labels.is_everything() {
            return match self.namespace.as_deref() {
                Some(namespace) => self.listed(&now, now.in_namespace(namespace)),
                None => self.listed(&now, now.iter()),
            };
        }
        self.listed(&now, &now.select(labels, self.namespace.as_deref()))
    }

    /// Returns the objects with this index value, ordered by namespace and name.
    ///
    /// # Errors
    /// If the index does not exist.
    pub fn by_index(&self, index: &str, value: &str) -> Result<Listed<K>, UnknownIndex> {
        let now = self.store.snapshot();
        let found = now.by_index(index, value)?;
        Ok(self.listed(&now, found.filter(|object| self.is_here(object))))
    }

    /// Returns the objects with an owner reference to this UID, ordered by namespace and name.
    pub fn owned_by(&self, uid: &str) -> Listed<K> {
        let now = self.store.snapshot();
        self.listed(&now, now.owned_by(uid).filter(|object| self.is_here(object)))
    }

    /// Subscribes to all objects and their changes, decoded.
    pub fn changes(&self, options: SubscriptionOptions) -> Notifications<K> {
        Notifications::new(self.subscribe(options), self.clone())
    }

    /// Subscribes to all objects and their changes, encoded. [`notification`](Self::notification) decodes a change.
    pub fn subscribe(&self, mut options: SubscriptionOptions) -> Subscription {
        options.resync = options.resync.or(self.resync);
        if let Some(namespace) = &self.namespace {
            options.filter = options.filter.and(Filter::namespace(namespace));
        }
        Subscription::new(&self.store, options)
    }

    /// Decodes a change.
    pub fn notification(&self, delta: Delta<Arc<Object>>) -> Notification<K> {
        notification::decoded(self, delta)
    }

    pub(super) fn decode(&self, object: &Arc<Object>, now: &Snapshot) -> Result<Arc<K>, Undecodable> {
        if let Some(copy) = self.decoded.as_ref().and_then(|decoded| decoded.get(object)) {
            return Ok(copy);
        }
        let copy = self.decode_alone(object)?;
        if let Some(decoded) = &self.decoded {
            decoded.keep(object, &copy, now);
        }
        Ok(copy)
    }

    /// Decodes a state that may no longer be in the store. Uses a kept copy, and does not keep a new one.
    pub(super) fn decode_former(&self, object: &Arc<Object>) -> Result<Arc<K>, Undecodable> {
        match self.decoded.as_ref().and_then(|decoded| decoded.get(object)) {
            Some(copy) => Ok(copy),
            None => self.decode_alone(object),
        }
    }

    fn decode_alone(&self, object: &Arc<Object>) -> Result<Arc<K>, Undecodable> {
        decode(&object.encoded, &self.kind).map(Arc::new).map_err(|source| Undecodable {
            key: object.metadata.key().clone(),
            version: object.metadata.resource_version().clone(),
            source,
        })
    }

    fn is_here(&self, object: &Object) -> bool {
        self.namespace.as_deref().is_none_or(|namespace| object.metadata.key().namespace() == Some(namespace))
    }

    fn listed<'a>(&self, now: &Snapshot, objects: impl IntoIterator<Item = &'a Arc<Object>>) -> Listed<K> {
        let decoded = objects.into_iter().map(|object| self.decode(object, now));
        Listed::new(decoded, now.version().clone())
    }
}

impl<K> Clone for Reader<K> {
    fn clone(&self) -> Self {
        Self {
            store: self.store.clone(),
            kind: self.kind.clone(),
            namespace: self.namespace.clone(),
            decoded: self.decoded.clone(),
            resync: self.resync,
        }
    }
}

impl<K> fmt::Debug for Reader<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Reader");
        shown.field("kind", &self.kind.kind()).field("namespace", &self.namespace).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sink::Sink as _;
    use serde::{Deserialize, Serialize};
    use watchkeeper_core::{Encoded, ObjectMetaBuilder};

    #[derive(Debug, Deserialize, PartialEq, Serialize)]
    struct Sized {
        size: u32,
    }

    fn object(name: &str, version: u64, body: &str) -> Object {
        let mut head = ObjectMetaBuilder::default();
        head.namespace("x").name(name).version(&version.to_string()).label("app", "web");
        Object { metadata: head.finish(), encoded: Encoded::json(body.as_bytes()) }
    }

    fn key(name: &str) -> ObjectKey {
        ObjectKey::namespaced("x", name)
    }

    fn sizes(keep: Keep) -> (Reader<Sized>, crate::store::Writer) {
        let (store, writer) = Store::new();
        (Reader::new(store, Kind::new("example.com", "v1", "Sized"), keep), writer)
    }

    #[test]
    fn an_undecodable_object_does_not_hide_the_others() {
        let (reader, mut writer) = sizes(Keep::Encoded);
        writer.put(object("a", 1, r#"{"size":1}"#));
        writer.put(object("b", 2, r#"{"size":"large"}"#));
        let all = || reader.list(&LabelSelector::default());
        assert_eq!(all().version(), &2.into());
        let (items, undecodable) = all().partial();
        assert_eq!(items, [Arc::new(Sized { size: 1 })]);
        assert_eq!(undecodable[0].to_string(), "failed to decode x/b at resource version 2");
        assert!(
            matches!(reader.get(&key("b")), Err(GetError::Undecodable(error)) if error.key.name() == "b")
        );
    }

    #[test]
    fn a_list_and_its_objects_can_be_serialized() {
        let (reader, mut writer) = sizes(Keep::Encoded);
        writer.put(object("a", 1, r#"{"size":1}"#));
        writer.put(object("b", 2, r#"{"size":2}"#));
        let all = reader.list(&LabelSelector::default()).items().unwrap();
        assert_eq!(serde_json::to_string(&all).unwrap(), r#"[{"size":1},{"size":2}]"#);
        let one = reader.get(&key("a")).unwrap();
        assert_eq!(serde_json::to_string(&one).unwrap(), r#"{"size":1}"#);
    }

    #[test]
    fn a_list_with_an_undecodable_object_is_an_error() {
        let (reader, mut writer) = sizes(Keep::Encoded);
        writer.put(object("a", 1, r#"{"size":1}"#));
        assert_eq!(reader.list(&LabelSelector::default()).items().unwrap().len(), 1);
        writer.put(object("b", 2, r#"{"size":"large"}"#));
        writer.put(object("c", 3, r#"{"size":"small"}"#));
        let error = reader.list(&LabelSelector::default()).items().unwrap_err();
        assert_eq!(error.to_string(), "failed to decode 2 of 3 objects");
        assert_eq!(error.first.to_string(), "failed to decode x/b at resource version 2");
        assert_eq!(reader.namespace("y").list(&LabelSelector::default()).items().unwrap(), []);
        assert!(reader.namespace("").list(&"app=web".parse().unwrap()).items().is_err());
    }

    #[test]
    fn a_namespaced_object_is_not_found_by_its_name_alone() {
        let (reader, mut writer) = sizes(Keep::Encoded);
        assert_eq!(reader.get("a").unwrap(), None);
        writer.put(object("a", 1, r#"{"size":1}"#));
        let there = reader.namespace("x");
        assert_eq!((there.get("a").unwrap().unwrap().size, there.get("c").unwrap()), (1, None));
        assert_eq!(reader.get(&key("a")).unwrap().unwrap().size, 1);
        assert_eq!(there.get(&key("a")).unwrap().unwrap().size, 1);
        assert_eq!(reader.namespace("y").get(&key("a")).unwrap(), None, "another namespace");
        let error = reader.get("a").unwrap_err();
        assert_eq!(
            error.to_string(),
            r#"Sized "a" requires a namespace: use an ObjectKey or Reader::namespace"#
        );
        for name in ["", "x/a", "a/b/c"] {
            assert!(matches!(there.get(name), Err(GetError::InvalidName { .. })), "{name}");
        }
    }

    #[test]
    fn a_cluster_scoped_object_is_found_by_its_name() {
        let (reader, mut writer) = sizes(Keep::Encoded);
        let mut head = ObjectMetaBuilder::default();
        head.name("n1").version("1");
        writer.put(Object { metadata: head.finish(), encoded: Encoded::json(*br#"{"size":1}"#) });
        assert_eq!(reader.get("n1").unwrap().unwrap().size, 1);
        assert_eq!(reader.get("n2").unwrap(), None);
    }

    #[test]
    fn a_decoded_copy_is_kept_until_the_object_changes() {
        let (reader, mut writer) = sizes(Keep::Decoded);
        writer.put(object("a", 1, r#"{"size":1}"#));
        let one = reader.get(&key("a")).unwrap().unwrap();
        assert!(Arc::ptr_eq(
            &one,
            &reader.namespace("x").list(&LabelSelector::default()).items().unwrap()[0]
        ));
        writer.put(object("a", 2, r#"{"size":2}"#));
        assert_eq!(reader.get(&key("a")).unwrap().unwrap().size, 2);
        let (reader, mut writer) = sizes(Keep::Encoded);
        writer.put(object("a", 1, r#"{"size":1}"#));
        let one = reader.get(&key("a")).unwrap().unwrap();
        assert!(!Arc::ptr_eq(&one, &reader.get(&key("a")).unwrap().unwrap()));
    }

    #[test]
    fn copies_of_deleted_objects_do_not_accumulate() {
        let (reader, mut writer) = sizes(Keep::Decoded);
        for number in 0..1_000 {
            let name = number.to_string();
            writer.put(object(&name, 1, r#"{"size":1}"#));
            reader.namespace("x").get(&name).unwrap().unwrap();
            writer.delete(object(&name, 2, "{}"));
        }
        assert!(reader.decoded.unwrap().len() < 100);
    }
}
