//! Objects from keys and values (`source.S3`), and watch events from changes.

use watchkeeper_core::{Encoded, Object, ObjectKey, ObjectMetaBuilder, WatchEvent};

use super::{Collection, Skipped};
use crate::{Change, ChangeKind, KeyValue};

/// Whether to report a value that cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Report {
    Yes,
    /// It was reported when it was written.
    No,
}

impl Collection {
    /// Returns the object of a key, if it is one of the collection.
    pub(super) fn object(&self, kv: &KeyValue) -> Option<Object> {
        let key = self.keys.object_key(&kv.key)?;
        self.decode(&key, kv, kv.mod_revision, Report::Yes)
    }

    /// Returns the watch event of a change, if it affects the collection.
    pub(super) fn event(&self, change: &Change) -> Option<WatchEvent> {
        let Change { kind, kv, previous: before } = change;
        let key = self.keys.object_key(&kv.key)?;
        let current = match kind {
            ChangeKind::Put => self.decode(&key, kv, kv.mod_revision, Report::Yes),
            ChangeKind::Delete => None,
        };
        let is_new = *kind == ChangeKind::Put && kv.version == 1;
        let previous = match before {
            _ if is_new => None,
            Some(before) => self.decode(&key, before, kv.mod_revision, Report::No),
            // The previous value is compacted. Reporting a deletion is safe in any case.
            None => Some(self.bare(&key, kv)),
        };
        match (current, previous) {
            (Some(object), None) => Some(WatchEvent::Added(object)),
            (Some(object), Some(_)) => Some(WatchEvent::Modified(object)),
            (None, Some(last)) => Some(WatchEvent::Deleted(last)),
            (None, None) => None,
        }
    }

    fn decode(&self, key: &ObjectKey, kv: &KeyValue, version: i64, report: Report) -> Option<Object> {
        let mut metadata = ObjectMetaBuilder::default();
        let encoded = match self.values.decode(kv, &mut metadata) {
            Ok(encoded) => encoded,
            Err(error) => {
                if report == Report::Yes {
                    (self.skipped)(&Skipped { key, kv, error: &error });
                }
                return None;
            }
        };
        metadata.uid(&kv.create_revision.to_string());
        let object = finish(metadata, key, version, encoded);
        self.selector.matches(|name| object.metadata.label(name)).then_some(object)
    }

    /// Returns an object of which only the key is known.
    fn bare(&self, key: &ObjectKey, kv: &KeyValue) -> Object {
        finish(ObjectMetaBuilder::default(), key, kv.mod_revision, Encoded::json(*b"{}"))
    }
}

fn finish(mut metadata: ObjectMetaBuilder, key: &ObjectKey, version: i64, encoded: Encoded) -> Object {
    metadata.namespace(key.namespace().unwrap_or_default()).name(key.name()).version(&version.to_string());
    Object { metadata: metadata.finish(), encoded }
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

    fn format_event(event: Option<WatchEvent>) -> String {
        event.map_or_else(String::new, |event| match &event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) | WatchEvent::Deleted(object) => {
                let body = String::from_utf8_lossy(&object.encoded.body).into_owned();
                let (key, version, uid) =
                    (object.metadata.key(), object.metadata.resource_version(), object.metadata.uid());
                format!("{} {key}@{version} of {uid}: {body}", event.kind())
            }
            WatchEvent::Bookmark(_) => unreachable!("changes have no bookmarks"),
        })
    }

    const RED: &str = r#"{"metadata":{"labels":{"colour":"red"}}}"#;
    const BLUE: &str = r#"{"metadata":{"labels":{"colour":"blue"}}}"#;

    #[tokio::test]
    async fn a_watch_leads_to_the_same_state_as_a_list() {
        let etcd = Etcd::builder(["http://127.0.0.1:1"]).build().unwrap();
        let skipped = Arc::new(Mutex::new(Vec::new()));
        let recorded = skipped.clone();
        let reds = EtcdSource::new(etcd, "/c/")
            .labels("colour=red".parse().unwrap())
            .on_skipped(move |skipped| recorded.lock().push(skipped.kv.value.clone()));
        let event = |change: &Change| format_event(reds.shared.event(change));

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
        assert_eq!(*skipped.lock(), [&b"torn"[..]], "reported once, when it was written");

        // The previous value is compacted.
        assert_eq!(event(&deleted(None)), "DELETED shop/web@9 of : {}");
        let forgotten = |value| Change { previous: None, ..put(value, Some(RED)) };
        assert_eq!(event(&forgotten(RED)), format!("MODIFIED shop/web@9 of 3: {RED}"));
        assert_eq!(event(&forgotten(BLUE)), "DELETED shop/web@9 of : {}");

        let elsewhere = Change { kv: KeyValue { key: "/c/a/b/c".into(), ..kv(RED, 9, 1) }, ..put(RED, None) };
        assert_eq!(event(&elsewhere), "");
    }
}
