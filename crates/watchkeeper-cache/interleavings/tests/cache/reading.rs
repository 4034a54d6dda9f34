//! Readers concurrent with relists.

use std::sync::Arc;

use shuttle::thread;
use watchkeeper_cache_interleavings::{Indexer, Sink as _, Snapshot, Store};
use watchkeeper_core::ObjectKey;

use crate::interleave;
use crate::objects::{object, state};

/// Returns the objects at each version.
fn expected(version: u64) -> &'static [&'static str] {
    match version {
        0 => &[],
        10 => &["a@4", "b@9"],
        11 => &["a@4", "b@9", "c@11"],
        20 => &["b@9", "c@20", "d@19"],
        21 => &["b@9", "d@19"],
        other => panic!("unexpected version {other}"),
    }
}

fn check(now: &Snapshot) -> u64 {
    let version = now.version().as_u64().unwrap_or_default();
    assert_eq!(now.iter().map(state).collect::<Vec<_>>(), expected(version));
    for object in now.iter() {
        let label = format!("at={}", object.metadata.resource_version());
        let found = now.select(&label.parse().unwrap(), None);
        assert_eq!(found.iter().collect::<Vec<_>>(), [object], "{label}");
        let found: Vec<_> = now.by_index("uid", object.metadata.uid()).unwrap().collect();
        assert_eq!(found, [object]);
    }
    assert_eq!(now.index_values("uid").unwrap().count(), now.len());
    assert_eq!(now.select(&"at".parse().unwrap(), None).len(), now.len());
    version
}

#[test]
fn a_reader_sees_a_list_as_a_whole_and_never_goes_back() {
    interleave(|| {
        let (store, mut writer) = Store::new();
        store.add_index("uid", |it: &watchkeeper_core::Object| vec![it.metadata.uid().to_owned()]).unwrap();
        let readers = [store.clone(), store.clone()].map(|store| {
            thread::spawn(move || {
                let mut newest = 0;
                for _ in 0..4 {
                    let version = check(&store.snapshot());
                    assert!(version >= newest, "from {newest} back to {version}");
                    newest = version;
                }
            })
        });
        writer.begin();
        writer.stage(object("a", "a", 4));
        writer.stage(object("b", "b", 9));
        writer.commit(10.into());
        writer.put(object("c", "c", 11));
        writer.begin();
        writer.stage(object("b", "b", 9));
        writer.stage(object("c", "c", 20));
        writer.stage(object("d", "d", 19));
        writer.commit(20.into());
        writer.delete(object("c", "c", 21));
        for reader in readers {
            reader.join().unwrap();
        }
        assert_eq!(check(&store.snapshot()), 21);
    });
}

#[test]
fn an_index_added_during_a_replace_is_kept() {
    interleave(|| {
        let names = Arc::new(Indexer::new(|name: &&'static str| ObjectKey::cluster(name)));
        names.put("a");
        let replacing = thread::spawn({
            let names = names.clone();
            move || names.replace(["b", "c"])
        });
        names.add_index("length", |name| vec![name.len().to_string()]).unwrap();
        replacing.join().unwrap();
        assert_eq!(names.by_index("length", "1").map(|found| found.len()), Ok(2));
    });
}
