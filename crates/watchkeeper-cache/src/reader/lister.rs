//! The reader.

use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use watchkeeper_core::{LabelSelector, Object, ObjectKey, ResourceVersion};
use watchkeeper_wire::{DecodeError, Kind, decode};

use super::decoded::Decoded;
use super::{Keep, Notification, Notifications, notification};
use crate::delta::Delta;
use crate::handler::{Filter, Resync, Subscription, SubscriptionOptions};
use crate::store::{Snapshot, Store, UnknownIndex};

/// The objects of a store as `K`s: any type that can be deserialized. Clones share what they keep.
///
/// ```
/// use serde::Deserialize;
/// use watchkeeper_cache::{Keep, Reader, Sink as _, Store};
/// use watchkeeper_core::{Encoded, HeadBuilder, Object};
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
/// # let head = HeadBuilder::default().namespace("shop").name("web-0").label("app", "web").finish();
/// # writer.put(Object { head, encoded: Encoded::json(*br#"{"spec":{"nodeName":"n1"}}"#) });
/// let pods = Reader::<Placed>::new(store, Kind::new("", "v1", "Pod"), Keep::Encoded).namespace("shop");
/// for pod in pods.list(&"app=web".parse()?).items {
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

/// An object is there and is no `K`.
#[derive(Debug, thiserror::Error)]
#[error("{key} in version {version} cannot be decoded")]
pub struct Undecodable {
    /// Which object.
    pub key: ObjectKey,
    /// In which version.
    pub version: ResourceVersion,
    /// Why not.
    #[source]
    pub source: DecodeError,
}

/// Objects, and those that are none.
#[derive(Debug)]
pub struct Listed<K> {
    /// The objects, by namespace and name.
    pub items: Vec<Arc<K>>,
    /// Those that could not be decoded (R1).
    pub undecodable: Vec<Undecodable>,
    /// The version of all of it.
    pub version: ResourceVersion,
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
    /// One object: by its name in the namespace of this reader, or by `namespace/name`.
    ///
    /// # Errors
    /// If it is there and is no `K`.
    pub fn get(&self, name: &str) -> Result<Option<Arc<K>>, Undecodable> {
        let key = match &self.namespace {
            Some(namespace) => ObjectKey::namespaced(namespace, name),
            None => match name.parse() {
                Ok(key) => key,
                Err(_) => return Ok(None), // no object has such a name
            },
        };
        let now = self.store.snapshot();
        now.get(&key).map(|object| self.decode(object, &now)).transpose()
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
            key: object.head.key().clone(),
            version: object.head.version().clone(),
            source,
        })
    }

    fn is_here(&self, object: &Object) -> bool {
        self.namespace.as_deref().is_none_or(|namespace| object.head.key().namespace() == Some(namespace))
    }

    fn listed<'a>(&self, now: &Snapshot, objects: impl IntoIterator<Item = &'a Arc<Object>>) -> Listed<K> {
        let mut listed =
            Listed { items: Vec::new(), undecodable: Vec::new(), version: now.version().clone() };
        for object in objects {
            match self.decode(object, now) {
                Ok(item) => listed.items.push(item),
                Err(error) => listed.undecodable.push(error),
            }
        }
        listed
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
    use watchkeeper_core::{Encoded, HeadBuilder};

    #[derive(Debug, Deserialize, PartialEq)]
    struct Sized {
        size: u32,
    }

    fn object(name: &str, version: u64, body: &str) -> Object {
        let mut head = HeadBuilder::default();
        head.namespace("x").name(name).version(&version.to_string()).label("app", "web");
        Object { head: head.finish(), encoded: Encoded::json(body.as_bytes()) }
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
        let listed = reader.list(&LabelSelector::default());
        assert_eq!(listed.items, [Arc::new(Sized { size: 1 })]);
        assert_eq!(listed.undecodable[0].to_string(), "x/b in version 2 cannot be decoded");
        assert_eq!(listed.version, 2.into());
        assert_eq!(reader.get("x/b").unwrap_err().key, "x/b".parse().unwrap());
        let there = reader.namespace("x");
        assert_eq!((there.get("a").unwrap().unwrap().size, there.get("c").unwrap()), (1, None));
        assert_eq!(reader.namespace("y").list(&LabelSelector::default()).items, []);
        assert_eq!(reader.namespace("").list(&"app=web".parse().unwrap()).items.len(), 1);
        assert_eq!(reader.get("a/b/c").unwrap(), None);
    }

    #[test]
    fn a_copy_is_kept_as_long_as_the_object_stays_as_it_is() {
        let (reader, mut writer) = sizes(Keep::Decoded);
        writer.put(object("a", 1, r#"{"size":1}"#));
        let one = reader.get("x/a").unwrap().unwrap();
        assert!(Arc::ptr_eq(&one, &reader.namespace("x").list(&LabelSelector::default()).items[0]));
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
