//! Notifications: changes, with objects of a type.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use tokio::sync::watch;
use watchkeeper_core::{Object, ObjectKey};

use super::{Reader, Undecodable};
use crate::delta::Delta;
use crate::handler::Subscription;

/// What has happened to an object.
#[derive(Debug)]
pub enum Notification<K> {
    /// It is there.
    Added {
        /// The object.
        new: Arc<K>,
        /// Whether it was there before one began to look.
        initial: bool,
    },
    /// It has changed.
    Updated {
        /// What one last saw.
        old: Arc<K>,
        /// What it is now.
        new: Arc<K>,
    },
    /// It is gone.
    Deleted {
        /// Its last state.
        last: Arc<K>,
    },
    /// It went while nobody looked: a list did not have it any more.
    DeletedWhileAway {
        /// The last state that was seen; others may have followed.
        last_seen: Arc<K>,
    },
    /// Nothing has happened: it is time to look at it again.
    Resync(Arc<K>),
    /// Something has happened to it, and what it is or was cannot be decoded.
    Undecodable {
        /// Which object.
        key: ObjectKey,
        /// Why not.
        error: Undecodable,
        /// What has happened, in bytes.
        delta: Delta<Arc<Object>>,
    },
}

/// All objects, and then every change of them, as a type. Dropped, it ends.
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

    /// The next change; waits for one. `None` once the store gets no more. What was returned before counts as
    /// handled.
    pub async fn next(&mut self) -> Option<Notification<K>> {
        let delta = self.subscription.next().await?;
        Some(self.reader.notification(delta))
    }

    /// Becomes true when all that was there at the beginning has been handled.
    pub fn caught_up(&self) -> watch::Receiver<bool> {
        self.subscription.caught_up()
    }

    /// The same changes in bytes, and how far behind one is.
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
        Delta::Deleted { last: Some(last), .. } => Notification::Deleted { last: former(last)? },
        Delta::Deleted { old, .. } => Notification::DeletedWhileAway { last_seen: former(old)? },
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
    async fn what_was_told_as_new_is_told_as_old_without_being_decoded_again() {
        let (store, mut writer) = Store::new();
        writer.put(object("a", 1, r#"{"size":1}"#));
        let reader = Reader::<Sized>::new(store, Kind::new("example.com", "v1", "Sized"), Keep::Decoded);
        let mut changes = reader.changes(Default::default());
        let Some(Notification::Added { new: first, .. }) = changes.next().await else {
            panic!("it is there")
        };
        writer.put(object("a", 2, r#"{"size":2}"#));
        let Some(Notification::Updated { old, .. }) = changes.next().await else { panic!("it has changed") };
        assert!(Arc::ptr_eq(&first, &old));
        writer.put(object("a", 3, r#"{"size":3}"#));
        assert_eq!(reader.get("x/a").unwrap().unwrap().size, 3); // its copy takes the place of the former
        let Some(Notification::Updated { old, new }) = changes.next().await else { panic!("it has changed") };
        assert_eq!((old.size, new.size), (2, 3));
    }

    #[tokio::test]
    async fn changes_are_told_as_a_type_and_what_is_none_is_told_too() {
        let (store, mut writer) = Store::new();
        writer.put(object("a", 1, r#"{"size":1}"#));
        let reader = Reader::<Sized>::new(store, Kind::new("example.com", "v1", "Sized"), Keep::Decoded);
        let mut changes = reader.changes(Default::default());
        assert!(
            matches!(changes.next().await, Some(Notification::Added { new, initial: true }) if new.size == 1)
        );
        writer.put(object("a", 2, r#"{"size":2}"#));
        let Some(Notification::Updated { old, new }) = changes.next().await else { panic!("it has changed") };
        assert_eq!((old.size, new.size), (1, 2));
        writer.put(object("b", 3, r#"{"size":"large"}"#));
        let Some(Notification::Undecodable { key, delta, .. }) = changes.next().await else { panic!("bad") };
        assert_eq!(
            (key.to_string().as_str(), delta.newest().metadata.resource_version()),
            ("x/b", &3.into())
        );
        writer.delete(object("a", 4, r#"{"size":3}"#));
        assert!(matches!(changes.next().await, Some(Notification::Deleted { last }) if last.size == 3));
        writer.begin();
        writer.stage(object("c", 5, r#"{"size":5}"#));
        writer.commit(5.into());
        writer.begin();
        writer.commit(6.into());
        let Some(Notification::Undecodable { delta, .. }) = changes.next().await else { panic!("b is gone") };
        assert!(matches!(delta, Delta::Deleted { last: None, .. }));
        // It came with one list and went with the next.
        assert!(
            matches!(changes.next().await, Some(Notification::DeletedWhileAway { last_seen }) if last_seen.size == 5)
        );
        writer.put(object("d", 7, r#"{"size":7}"#));
        assert!(matches!(changes.next().await, Some(Notification::Added { initial: false, .. })));
        writer.begin();
        writer.commit(8.into());
        assert!(
            matches!(changes.next().await, Some(Notification::DeletedWhileAway { last_seen }) if last_seen.size == 7)
        );
    }
}
