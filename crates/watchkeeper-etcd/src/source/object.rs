//! Objects out of keys and values (S3), and out of changes.

use watchkeeper_core::{Encoded, Object, ObjectKey, ObjectMetaBuilder, WatchEvent};

use super::{Collection, Skipped};
use crate::{Change, ChangeKind, KeyValue};

/// Whether a value that cannot be read is to be heard of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Report {
    Yes,
    /// It was, when it was written.
    No,
}

impl Collection {
    /// The object that a key is, if it is one of the collection.
    pub(super) fn object(&self, kv: &KeyValue) -> Option<Object> {
        let key = self.keys.object_key(&kv.key)?;
        self.read(&key, kv, kv.mod_revision, Report::Yes)
    }

    /// What a change means to who has followed the collection so far.
    pub(super) fn event(&self, change: &Change) -> Option<WatchEvent> {
        let Change { kind, kv, previous } = change;
        let key = self.keys.object_key(&kv.key)?;
        let is = match kind {
            ChangeKind::Put => self.read(&key, kv, kv.mod_revision, Report::Yes),
            ChangeKind::Delete => None,
        };
        let is_new = *kind == ChangeKind::Put && kv.version == 1;
        let was = match previous {
            _ if is_new => None,
            Some(previous) => self.read(&key, previous, kv.mod_revision, Report::No),
            // etcd has forgotten what was there: that it is not there any more holds in any case.
            None => Some(self.bare(&key, kv)),
        };
        match (is, was) {
            (Some(object), None) => Some(WatchEvent::Added(object)),
            (Some(object), Some(_)) => Some(WatchEvent::Modified(object)),
            (None, Some(last)) => Some(WatchEvent::Deleted(last)),
            (None, None) => None,
        }
    }

    fn read(&self, key: &ObjectKey, kv: &KeyValue, version: i64, report: Report) -> Option<Object> {
        let mut head = ObjectMetaBuilder::default();
        let encoded = match self.values.read(kv, &mut head) {
            Ok(encoded) => encoded,
            Err(error) => {
                if report == Report::Yes {
                    (self.skipped)(&Skipped { key, kv, error: &error });
                }
                return None;
            }
        };
        head.uid(&kv.create_revision.to_string());
        let object = finish(head, key, version, encoded);
        self.selector.matches(|name| object.metadata.label(name)).then_some(object)
    }

    /// An object of which nothing is known but its key.
    fn bare(&self, key: &ObjectKey, kv: &KeyValue) -> Object {
        finish(ObjectMetaBuilder::default(), key, kv.mod_revision, Encoded::json(*b"{}"))
    }
}

fn finish(mut head: ObjectMetaBuilder, key: &ObjectKey, version: i64, encoded: Encoded) -> Object {
    head.namespace(key.namespace().unwrap_or_default()).name(key.name()).version(&version.to_string());
    Object { metadata: head.finish(), encoded }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parking_lot::Mutex;

    use super::*;
    use crate::{Etcd, EtcdSource};

    fn kv(value: &'static str, revision: i64, version: i64) -> KeyValue {
        KeyValue {
            key: "/c/shop/web".into(),
            value: value.into(),
            create_revision: 3,
            mod_revision: revision,
            version,
            lease: 0,
        }
    }

    fn put(value: &'static str, previous: Option<&'static str>) -> Change {
        let version = if previous.is_some() { 2 } else { 1 };
        let previous = previous.map(|value| kv(value, 8, 1));
        Change { kind: ChangeKind::Put, kv: kv(value, 9, version), previous }
    }

    fn deleted(previous: Option<&'static str>) -> Change {
        let gone = KeyValue { key: "/c/shop/web".into(), mod_revision: 9, ..KeyValue::default() };
        Change { kind: ChangeKind::Delete, kv: gone, previous: previous.map(|value| kv(value, 8, 1)) }
    }

    fn told(event: Option<WatchEvent>) -> String {
        event.map_or_else(String::new, |event| match &event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) | WatchEvent::Deleted(object) => {
                let body = String::from_utf8_lossy(&object.encoded.body).into_owned();
                let (key, version, uid) =
                    (object.metadata.key(), object.metadata.resource_version(), object.metadata.uid());
                format!("{} {key}@{version} of {uid}: {body}", event.kind())
            }
            WatchEvent::Bookmark(_) => unreachable!("a change is none"),
        })
    }

    const RED: &str = r#"{"metadata":{"labels":{"colour":"red"}}}"#;
    const BLUE: &str = r#"{"metadata":{"labels":{"colour":"blue"}}}"#;

    #[tokio::test]
    async fn a_watch_leads_to_what_a_list_would_show() {
        let etcd = Etcd::builder(["http://127.0.0.1:1"]).build().unwrap();
        let skipped = Arc::new(Mutex::new(Vec::new()));
        let hear = skipped.clone();
        let reds = EtcdSource::new(etcd, "/c/")
            .labels("colour=red".parse().unwrap())
            .on_skipped(move |skipped| hear.lock().push(skipped.kv.value.clone()));
        let event = |change: &Change| told(reds.shared.event(change));

        assert_eq!(event(&put(RED, None)), format!("ADDED shop/web@9 of 3: {RED}"));
        assert_eq!(event(&put(RED, Some(RED))), format!("MODIFIED shop/web@9 of 3: {RED}"));
        assert_eq!(event(&put(RED, Some(BLUE))), format!("ADDED shop/web@9 of 3: {RED}"));
        assert_eq!(event(&put(BLUE, Some(RED))), format!("DELETED shop/web@9 of 3: {RED}"));
        assert_eq!(event(&put(BLUE, None)), "");
        assert_eq!(event(&deleted(Some(RED))), format!("DELETED shop/web@9 of 3: {RED}"));
        assert_eq!(event(&deleted(Some(BLUE))), "");
        assert_eq!(*skipped.lock(), [] as [&[u8]; 0]);

        assert_eq!(event(&put("torn", Some(RED))), format!("DELETED shop/web@9 of 3: {RED}"));
        assert_eq!(event(&put(RED, Some("torn"))), format!("ADDED shop/web@9 of 3: {RED}"));
        assert_eq!(event(&deleted(Some("torn"))), "");
        assert_eq!(*skipped.lock(), [&b"torn"[..]], "once, when it was written");

        // Compacted away: it is gone whatever it was.
        assert_eq!(event(&deleted(None)), "DELETED shop/web@9 of : {}");
        let forgotten = |value| Change { previous: None, ..put(value, Some(RED)) };
        assert_eq!(event(&forgotten(RED)), format!("MODIFIED shop/web@9 of 3: {RED}"));
        assert_eq!(event(&forgotten(BLUE)), "DELETED shop/web@9 of : {}");

        let elsewhere = Change { kv: KeyValue { key: "/c/a/b/c".into(), ..kv(RED, 9, 1) }, ..put(RED, None) };
        assert_eq!(event(&elsewhere), "");
    }
}
