//! Notifications: changes with decoded objects.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use tokio::sync::watch;
use watchkeeper_core::{Object, ObjectKey};

use super::{Reader, Undecodable};
use crate::delta::Delta;
use crate::handler::Subscription;

/// A change of one object, decoded: a [`Delta`] at the typed edge.
#[derive(Debug)]
pub enum Notification<K> {
    /// The object exists, and the consumer has not received it before.
    Added {
        /// The object.
        new: Arc<K>,
        /// Whether the object is part of the initial state rather than newly created.
        initial: bool,
    },
    /// The object has changed.
    Updated {
        /// The state that the consumer last received.
        old: Arc<K>,
        /// The current state.
        new: Arc<K>,
    },
    /// The object was deleted.
    Deleted {
        /// The state that the consumer last received.
        old: Arc<K>,
        /// The final state; `None` if the deletion was missed and noticed by a relist (client-go's
        /// `DeletedFinalStateUnknown`).
        last: Option<Arc<K>>,
    },
    /// The object has not changed, and is due to be processed again.
    Resync(Arc<K>),
    /// The object has changed, and its current or former state cannot be decoded.
    Undecodable {
        /// The key of the object.
        key: ObjectKey,
        /// The decode error.
        error: Undecodable,
        /// The change, encoded.
        delta: Delta<Arc<Object>>,
    },
}

impl<K> Notification<K> {
    /// Returns the newest state in this notification: the current one, or the last known one of a deleted object. Returns
    /// `None` if it cannot be decoded.
    pub fn newest(&self) -> Option<&Arc<K>> {
        match self {
            Self::Added { new, .. } | Self::Updated { new, .. } | Self::Resync(new) => Some(new),
            Self::Deleted { old, last } => Some(last.as_ref().unwrap_or(old)),
            Self::Undecodable { .. } => None,
        }
    }
}

/// A [`Subscription`] that decodes. Dropping it unsubscribes.
#[derive(Debug)]
#[must_use = "a subscription ends when it is dropped"]
pub struct Notifications<K> {
    subscription: Subscription,
    reader: Reader<K>,
}

impl<K: DeserializeOwned> Notifications<K> {
    pub(super) fn new(subscription: Subscription, reader: Reader<K>) -> Self {
        Self { subscription, reader }
    }

    /// Waits for the next change: see [`Subscription::next`].
    pub async fn next(&mut self) -> Option<Notification<K>> {
        let delta = self.subscription.next().await?;
        Some(self.reader.notification(delta))
    }

    /// Returns a receiver that becomes true when all objects of the first list have been handled.
    pub fn caught_up(&self) -> watch::Receiver<bool> {
        self.subscription.caught_up()
    }

    /// Returns the underlying subscription.
    pub fn subscription(&self) -> &Subscription {
        &self.subscription
    }
}

pub(super) fn decoded<K: DeserializeOwned>(reader: &Reader<K>, delta: Delta<Arc<Object>>) -> Notification<K> {
    match try_decoded(reader, &delta) {
        Ok(notification) => notification,
        Err(error) => Notification::Undecodable { key: error.key.clone(), error, delta },
    }
}

fn try_decoded<K: DeserializeOwned>(
    reader: &Reader<K>,
    delta: &Delta<Arc<Object>>,
) -> Result<Notification<K>, Undecodable> {
    let now = reader.store().snapshot();
    let current = |object| reader.decode(object, &now);
    let former = |object| reader.decode_former(object);
    Ok(match delta {
        Delta::Added { new, initial } => Notification::Added { new: current(new)?, initial: *initial },
        Delta::Updated { old, new } => Notification::Updated { old: former(old)?, new: current(new)? },
        Delta::Deleted { old, last } => {
            Notification::Deleted { old: former(old)?, last: last.as_ref().map(former).transpose()? }
        }
        Delta::Resync(object) => Notification::Resync(current(object)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::Keep;
    use crate::sink::Sink as _;
    use crate::store::Store;
    use serde::Deserialize;
    use watchkeeper_core::{Encoded, ObjectMetaBuilder};
    use watchkeeper_wire::Kind;

    #[derive(Debug, Deserialize)]
    struct Sized {
        size: u32,
    }

    fn object(name: &str, version: u64, body: &str) -> Object {
        let mut head = ObjectMetaBuilder::default();
        head.namespace("x").name(name).version(&version.to_string());
        Object { metadata: head.finish(), encoded: Encoded::json(body.as_bytes()) }
    }

    #[tokio::test]
    async fn a_kept_copy_is_delivered_as_old_without_decoding_it_again() {
        let (store, mut writer) = Store::new();
        writer.put(object("a", 1, r#"{"size":1}"#));
        let reader = Reader::<Sized>::new(store, Kind::new("example.com", "v1", "Sized"), Keep::Decoded);
        let mut changes = reader.changes(Default::default());
        let Some(Notification::Added { new: first, .. }) = changes.next().await else { panic!("not added") };
        writer.put(object("a", 2, r#"{"size":2}"#));
        let Some(Notification::Updated { old, .. }) = changes.next().await else { panic!("not updated") };
        assert!(Arc::ptr_eq(&first, &old));
        writer.put(object("a", 3, r#"{"size":3}"#));
        assert_eq!(reader.namespace("x").get("a").unwrap().unwrap().size, 3); // replaces the kept copy
        let Some(Notification::Updated { old, new }) = changes.next().await else { panic!("not updated") };
        assert_eq!((old.size, new.size), (2, 3));
    }

    #[tokio::test]
    async fn changes_are_decoded_and_undecodable_ones_are_delivered_as_such() {
        let (store, mut writer) = Store::new();
        writer.put(object("a", 1, r#"{"size":1}"#));
        let reader = Reader::<Sized>::new(store, Kind::new("example.com", "v1", "Sized"), Keep::Decoded);
        let mut changes = reader.changes(Default::default());
        assert!(
            matches!(changes.next().await, Some(Notification::Added { new, initial: true }) if new.size == 1)
        );
        writer.put(object("a", 2, r#"{"size":2}"#));
        let Some(Notification::Updated { old, new }) = changes.next().await else { panic!("not updated") };
        assert_eq!((old.size, new.size), (1, 2));
        writer.put(object("b", 3, r#"{"size":"large"}"#));
        let Some(Notification::Undecodable { key, delta, .. }) = changes.next().await else {
            panic!("decoded")
        };
        assert_eq!(
            (key.to_string().as_str(), delta.newest().metadata.resource_version()),
            ("x/b", &3.into())
        );
        writer.delete(object("a", 4, r#"{"size":3}"#));
        let Some(Notification::Deleted { old, last: Some(last) }) = changes.next().await else {
            panic!("not deleted")
        };
        assert_eq!((old.size, last.size), (2, 3));
        writer.begin();
        writer.stage(object("c", 5, r#"{"size":5}"#));
        writer.commit(5.into());
        writer.begin();
        writer.commit(6.into());
        let Some(Notification::Undecodable { delta, .. }) = changes.next().await else { panic!("decoded") };
        assert!(matches!(delta, Delta::Deleted { last: None, .. }));
        // Added by one list and missing from the next.
        assert!(
            matches!(changes.next().await, Some(Notification::Deleted { old, last: None }) if old.size == 5)
        );
        writer.put(object("d", 7, r#"{"size":7}"#));
        assert!(matches!(changes.next().await, Some(Notification::Added { initial: false, .. })));
        writer.begin();
        writer.commit(8.into());
        assert!(
            matches!(changes.next().await, Some(Notification::Deleted { old, last: None }) if old.size == 7)
        );
    }
}
