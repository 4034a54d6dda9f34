//! The reader.

use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use watchkeeper_core::{KeyError, LabelSelector, Object, ObjectKey};
use watchkeeper_wire::{Kind, decode};

use super::decoded::Decoded;
use super::{Keep, Listed, Notification, Notifications, Undecodable, notification};
use crate::delta::Delta;
use crate::handler::{Filter, Resync, Subscription, SubscriptionOptions};
use crate::store::{Snapshot, Store, UnknownIndex};

/// The objects of a store as `K`s: any type that can be deserialized. Clones share what they keep. While a reader
/// exists, the informer it came from keeps running.
///
/// ```
/// use serde::Deserialize;
/// use watchkeeper_cache::{Keep, Reader, Sink as _, Store};
/// use watchkeeper_core::{Encoded, ObjectMetaBuilder, Object};
/// use watchkeeper_wire::Kind;
///
/// /// All that this program wants to know of a pod.
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
/// # let head = ObjectMetaBuilder::default().namespace("shop").name("web-0").label("app", "web").finish();
/// # writer.put(Object { metadata: head, encoded: Encoded::json(*br#"{"spec":{"nodeName":"n1"}}"#) });
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

/// Why [`Reader::get`] has no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GetError {
    /// The objects are in namespaces, and neither the reader nor the key has one.
    #[error("{kind} {name:?} has no namespace: get \"namespace/name\", or use Reader::namespace")]
    MissingNamespace {
        /// The kind of the objects.
        kind: String,
        /// The name that was asked for.
        name: String,
    },
    /// The text is not the name or key of an object.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The object exists and is not a `K`.
    #[error(transparent)]
    Undecodable(#[from] Undecodable),
}

impl<K> Reader<K> {
    /// Of all namespaces. The kind is that of the objects in the store.
    pub fn new(store: Store, kind: Kind, keep: Keep) -> Self {
        let decoded = match keep {
            Keep::Encoded => None,
            Keep::Decoded => Some(Arc::default()),
        };
        Self { store, kind, namespace: None, decoded, resync: Resync::Default }
    }

    /// How often those who hear of changes look at every object again, where they do not say so themselves.
    #[must_use]
    pub fn resync(mut self, resync: Resync) -> Self {
        self.resync = resync;
        self
    }

    /// Only of one namespace; an empty one stands for all of them.
    #[must_use]
    pub fn namespace(&self, namespace: &str) -> Self {
        let namespace = Some(namespace).filter(|namespace| !namespace.is_empty()).map(Arc::from);
        Self { namespace, ..self.clone() }
    }

    /// The objects as they are in the store: for who only passes them on.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The kind of the objects.
    pub fn kind(&self) -> &Kind {
        &self.kind
    }
}

impl<K: DeserializeOwned> Reader<K> {
    /// Returns one object: by its name where the reader has a [namespace](Self::namespace) or the objects are
    /// cluster-scoped, by `namespace/name` otherwise.
    ///
    /// # Errors
    /// If the key has no namespace and the objects are in namespaces, if it cannot be a key, or if the object cannot
    /// be decoded.
    pub fn get(&self, name: &str) -> Result<Option<Arc<K>>, GetError> {
        let key = match &self.namespace {
            Some(namespace) => format!("{namespace}/{name}").parse(),
            None => name.parse::<ObjectKey>(),
        }?;
        let now = self.store.snapshot();
        match now.get(&key) {
            Some(object) => Ok(Some(self.decode(object, &now)?)),
            // The objects of a collection are all in namespaces, or none of them is.
            None if key.namespace().is_none()
                && now.iter().next().is_some_and(|it| it.metadata.key().namespace().is_some()) =>
            {
                Err(GetError::MissingNamespace { kind: self.kind.kind().to_owned(), name: name.to_owned() })
            }
            None => Ok(None),
        }
    }

    /// The objects that are selected, at one moment.
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

    /// The objects that have a value in an index, at one moment.
    ///
    /// # Errors
    /// If there is no such index.
    pub fn by_index(&self, index: &str, value: &str) -> Result<Listed<K>, UnknownIndex> {
        let now = self.store.snapshot();
        let found = now.by_index(index, value)?;
        Ok(self.listed(&now, found.filter(|object| self.is_here(object))))
    }

    /// The objects that an object owns, at one moment.
    pub fn owned_by(&self, uid: &str) -> Listed<K> {
        let now = self.store.snapshot();
        self.listed(&now, now.owned_by(uid).filter(|object| self.is_here(object)))
    }

    /// All objects, and then every change of them.
    pub fn changes(&self, options: SubscriptionOptions) -> Notifications<K> {
        Notifications::new(self.subscribe(options), self.clone())
    }

    /// The same in bytes, each of which can be made a [`notification`](Self::notification) of.
    pub fn subscribe(&self, mut options: SubscriptionOptions) -> Subscription {
        options.resync = options.resync.or(self.resync);
        if let Some(namespace) = &self.namespace {
            options.filter = options.filter.and(Filter::namespace(namespace));
        }
        Subscription::new(&self.store, options)
    }

    /// What has happened, with the object as a `K`.
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

    /// A state that may not be in the store any more, and so is not kept. Where it was, and nothing newer was
    /// decoded since, it is still there.
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
    use serde::Deserialize;
    use watchkeeper_core::{Encoded, ObjectMetaBuilder};

    #[derive(Debug, Deserialize, PartialEq)]
    struct Sized {
        size: u32,
    }

    fn object(name: &str, version: u64, body: &str) -> Object {
        let mut head = ObjectMetaBuilder::default();
        head.namespace("x").name(name).version(&version.to_string()).label("app", "web");
        Object { metadata: head.finish(), encoded: Encoded::json(body.as_bytes()) }
    }

    fn sizes(keep: Keep) -> (Reader<Sized>, crate::store::Writer) {
        let (store, writer) = Store::new();
        (Reader::new(store, Kind::new("example.com", "v1", "Sized"), keep), writer)
    }

    #[test]
    fn what_is_no_such_type_is_an_error_of_its_own() {
        let (reader, mut writer) = sizes(Keep::Encoded);
        writer.put(object("a", 1, r#"{"size":1}"#));
        writer.put(object("b", 2, r#"{"size":"large"}"#));
        let all = || reader.list(&LabelSelector::default());
        assert_eq!(all().version(), &2.into());
        let (items, undecodable) = all().partial();
        assert_eq!(items, [Arc::new(Sized { size: 1 })]);
        assert_eq!(undecodable[0].to_string(), "x/b in version 2 cannot be decoded");
        assert!(matches!(reader.get("x/b"), Err(GetError::Undecodable(error)) if error.key.name() == "b"));
    }

    #[test]
    fn a_list_with_an_object_that_cannot_be_decoded_is_an_error() {
        let (reader, mut writer) = sizes(Keep::Encoded);
        writer.put(object("a", 1, r#"{"size":1}"#));
        assert_eq!(reader.list(&LabelSelector::default()).items().unwrap().len(), 1);
        writer.put(object("b", 2, r#"{"size":"large"}"#));
        writer.put(object("c", 3, r#"{"size":"small"}"#));
        let error = reader.list(&LabelSelector::default()).items().unwrap_err();
        assert_eq!(error.to_string(), "2 of 3 objects cannot be decoded");
        assert_eq!(error.first.to_string(), "x/b in version 2 cannot be decoded");
        assert_eq!(reader.namespace("y").list(&LabelSelector::default()).items().unwrap(), []);
        assert!(reader.namespace("").list(&"app=web".parse().unwrap()).items().is_err());
    }

    #[test]
    fn an_object_in_a_namespace_is_not_found_by_its_name_alone() {
        let (reader, mut writer) = sizes(Keep::Encoded);
        assert_eq!(reader.get("a").unwrap(), None);
        writer.put(object("a", 1, r#"{"size":1}"#));
        let there = reader.namespace("x");
        assert_eq!((there.get("a").unwrap().unwrap().size, there.get("c").unwrap()), (1, None));
        assert_eq!(reader.get("x/a").unwrap().unwrap().size, 1);
        let error = reader.get("a").unwrap_err();
        assert_eq!(
            error.to_string(),
            r#"Sized "a" has no namespace: get "namespace/name", or use Reader::namespace"#
        );
        assert!(matches!(reader.get("a/b/c"), Err(GetError::Key(_))));
        assert!(matches!(there.get("x/a"), Err(GetError::Key(_))), "a name has no slash");
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
    fn a_copy_is_kept_as_long_as_the_object_stays_as_it_is() {
        let (reader, mut writer) = sizes(Keep::Decoded);
        writer.put(object("a", 1, r#"{"size":1}"#));
        let one = reader.get("x/a").unwrap().unwrap();
        assert!(Arc::ptr_eq(
            &one,
            &reader.namespace("x").list(&LabelSelector::default()).items().unwrap()[0]
        ));
        writer.put(object("a", 2, r#"{"size":2}"#));
        assert_eq!(reader.get("x/a").unwrap().unwrap().size, 2);
        let (reader, mut writer) = sizes(Keep::Encoded);
        writer.put(object("a", 1, r#"{"size":1}"#));
        let one = reader.get("x/a").unwrap().unwrap();
        assert!(!Arc::ptr_eq(&one, &reader.get("x/a").unwrap().unwrap()));
    }

    #[test]
    fn copies_of_what_is_gone_do_not_pile_up() {
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
