//! The store: lookups, order, versions and waiting.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::objects::{Build, object};
use futures_util::FutureExt as _;
use proptest::prelude::*;
use watchkeeper_cache::store::NAMESPACE_INDEX;
use watchkeeper_cache::{Sink as _, Snapshot, Store};
use watchkeeper_core::{Bookmark, LabelSelector, Object, ObjectKey};

fn names<'a>(objects: impl IntoIterator<Item = &'a Arc<Object>>) -> Vec<String> {
    objects.into_iter().map(|object| object.metadata.key().to_string()).collect()
}

fn key(text: &str) -> ObjectKey {
    text.parse().unwrap()
}

#[test]
fn objects_are_ordered_by_namespace_and_name() {
    let (store, mut writer) = Store::new();
    for (namespace, name) in [("b", "1"), ("a", "2"), ("b", "0"), ("", "node"), ("a-b", "3")] {
        writer.put(object(namespace, name, 1));
    }
    let now = store.snapshot();
    assert_eq!(names(now.iter()), ["node", "a/2", "a-b/3", "b/0", "b/1"]);
    assert_eq!(names(now.in_namespace("b")), ["b/0", "b/1"]);
    assert_eq!(names(now.in_namespace("c")), [""; 0]);
    assert_eq!(names(now.iter_after(&key("a-b/3"))), ["b/0", "b/1"]);
    assert_eq!(now.get(&key("a/2")).unwrap().metadata.resource_version(), &1.into());
    assert!(now.get(&key("a/3")).is_none());
}

#[test]
fn a_snapshot_never_changes() {
    let (store, mut writer) = Store::new();
    writer.put(object("a", "1", 1));
    let before = store.snapshot();
    writer.put(object("a", "1", 2));
    writer.put(object("a", "2", 3));
    writer.delete(object("a", "1", 4));
    assert_eq!((names(before.iter()), before.version()), (vec!["a/1".to_owned()], &1.into()));
    assert_eq!(
        (names(store.snapshot().iter()), store.snapshot().version()),
        (vec!["a/2".to_owned()], &4.into())
    );
}

#[test]
fn the_version_is_that_of_the_last_event() {
    let (store, mut writer) = Store::new();
    let version = |store: &Store| store.snapshot().version().to_string();
    assert_eq!(version(&store), "");
    writer.begin();
    writer.stage(object("a", "1", 3));
    assert_eq!((version(&store), store.is_ready(), store.snapshot().len()), (String::new(), false, 0));
    writer.commit(5.into());
    assert_eq!((version(&store), store.is_ready(), store.snapshot().len()), ("5".to_owned(), true, 1));
    writer.put(object("a", "1", 4));
    assert_eq!(version(&store), "4", "even a lower one");
    writer.delete(object("a", "9", 7));
    assert_eq!(version(&store), "7", "even of an unknown object");
    writer.bookmark(&Bookmark { version: 9.into(), initial_events_end: false });
    assert_eq!(version(&store), "9");
}

#[test]
fn a_list_replaces_all_objects_and_a_failed_one_changes_nothing() {
    let (store, mut writer) = Store::new();
    writer.begin();
    for name in ["a", "b", "c"] {
        writer.stage(object("x", name, 1));
    }
    writer.commit(1.into());
    writer.begin();
    writer.stage(object("x", "d", 2));
    writer.begin(); // the one before has failed
    writer.stage(object("x", "b", 1));
    writer.stage(object("x", "c", 2));
    writer.stage(object("x", "e", 2));
    writer.stage(object("x", "e", 3));
    writer.stage(object("x", "f", 2));
    writer.unstage(&key("x/f"));
    assert_eq!(names(store.snapshot().iter()), ["x/a", "x/b", "x/c"]);
    writer.commit(3.into());
    let now = store.snapshot();
    let versions: Vec<_> = now
        .iter()
        .map(|object| format!("{}@{}", object.metadata.key(), object.metadata.resource_version()))
        .collect();
    assert_eq!(versions, ["x/b@1", "x/c@2", "x/e@3"]);
}

#[test]
fn owners_and_named_indexes_find_objects_whether_added_early_or_late() {
    let zones = |object: &Object| {
        object
            .metadata
            .label("zone")
            .into_iter()
            .flat_map(|all| all.split('.'))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let (store, mut writer) = Store::new();
    store.add_index("early", zones).unwrap();
    writer.put(Build::new("x", "a", 1).label("zone", "e.w").owner("u1").object());
    writer.put(Build::new("x", "b", 2).label("zone", "e").owner("u1").owner("u2").object());
    store.add_index("late", zones).unwrap();
    writer.put(Build::new("x", "a", 3).label("zone", "w.n").owner("u2").object());
    writer.put(Build::new("x", "c", 4).label("zone", "e").object());
    writer.delete(object("x", "c", 5));
    let now = store.snapshot();
    for index in ["early", "late"] {
        assert_eq!(names(now.by_index(index, "e").unwrap()), ["x/b"]);
        assert_eq!(names(now.by_index(index, "w").unwrap()), ["x/a"]);
        assert_eq!(now.index_values(index).unwrap().collect::<Vec<_>>(), ["e", "n", "w"]);
    }
    assert_eq!(names(now.owned_by("u1")), ["x/b"]);
    assert_eq!(names(now.owned_by("u2")), ["x/a", "x/b"]);
    assert_eq!(store.add_index("late", zones).unwrap_err().to_string(), "index \"late\" already exists");
    let unknown = now.by_index("node", "n1").map(|_| ()).unwrap_err();
    assert_eq!(unknown.to_string(), "index \"node\" not found: available indexes are namespace, early, late");
}

#[test]
fn the_namespace_index_is_built_in() {
    let (store, mut writer) = Store::new();
    for (namespace, name) in [("b", "1"), ("a", "2"), ("b", "0"), ("", "node"), ("a-b", "3")] {
        writer.put(object(namespace, name, 1));
    }
    let now = store.snapshot();
    assert_eq!(names(now.by_index(NAMESPACE_INDEX, "b").unwrap()), ["b/0", "b/1"]);
    assert_eq!(names(now.by_index("namespace", "c").unwrap()), [""; 0]);
    assert_eq!(now.index_values("namespace").unwrap().collect::<Vec<_>>(), ["a", "a-b", "b"]);
    assert_eq!(store.add_index("namespace", |_| Vec::new()).unwrap_err().name, "namespace");
}

#[test]
fn sizes_follow_the_stored_objects() {
    let (store, mut writer) = Store::new();
    assert_eq!(store.snapshot().sizes().total(), 0);
    writer.put(Build::new("x", "a", 1).label("app", "web").owner("u").object());
    let one = store.snapshot().sizes();
    assert_eq!((one.objects, one.bodies), (1, 2));
    assert!(one.metadata > 0 && one.indexes > 0 && one.entries > 0);
    writer.put(Build::new("x", "a", 2).label("app", "web").owner("u").object());
    assert_eq!(store.snapshot().sizes(), one);
    writer.delete(object("x", "a", 3));
    assert_eq!(store.snapshot().sizes().total(), 0);
}

#[test]
fn waiting_for_a_version_ends_when_the_store_reaches_it() {
    let (store, mut writer) = Store::new();
    let (nine, ten) = (9.into(), 10.into());
    let waits = store.clone();
    let mut for_ten = Box::pin(waits.wait_for(&ten));
    let mut for_sync = Box::pin(waits.wait_until_ready());
    assert!((&mut for_ten).now_or_never().is_none());
    writer.put(object("x", "a", 9));
    assert!((&mut for_ten).now_or_never().is_none());
    assert!(store.wait_for(&nine).now_or_never().is_some());
    assert!((&mut for_sync).now_or_never().is_none());
    writer.bookmark(&Bookmark { version: 11.into(), initial_events_end: false });
    assert!((&mut for_ten).now_or_never().is_some());
    writer.begin();
    writer.commit(12.into());
    assert!((&mut for_sync).now_or_never().is_some());
}

/// Returns the expected result of a selector, by scanning.
fn scanned(now: &Snapshot, labels: &LabelSelector, namespace: Option<&str>) -> Vec<String> {
    let found = now.iter().filter(|object| {
        namespace.is_none_or(|namespace| object.metadata.key().namespace() == Some(namespace))
            && labels.matches(|key| object.metadata.label(key))
    });
    names(found)
}

#[derive(Debug, Clone)]
enum Step {
    Put(u8, u8, u8, u8),
    Delete(u8, u8),
    Replace(Vec<(u8, u8, u8, u8)>),
}

fn step() -> impl Strategy<Value = Step> {
    let one = (0..3_u8, 0..60_u8, 0..4_u8, 0..3_u8);
    prop_oneof![
        20 => one.clone().prop_map(|(namespace, name, app, tier)| Step::Put(namespace, name, app, tier)),
        8 => (0..3_u8, 0..60_u8).prop_map(|(namespace, name)| Step::Delete(namespace, name)),
        1 => prop::collection::vec(one, 0..80).prop_map(Step::Replace),
    ]
}

fn built(namespace: u8, name: u8, app: u8, tier: u8, version: u64) -> Object {
    let mut build = Build::new(&format!("n{namespace}"), &format!("o{name:02}"), version);
    if app > 0 {
        build = build.label("app", &format!("a{app}")).owner(&format!("u{app}"));
    }
    if tier > 0 {
        build = build.label("tier", &tier.to_string());
    }
    build.object()
}

proptest! {
    #[test]
    fn selectors_and_indexes_find_what_a_scan_finds(steps in prop::collection::vec(step(), 0..200)) {
        let (store, mut writer) = Store::new();
        let mut model: BTreeMap<ObjectKey, Object> = BTreeMap::new();
        for (version, step) in (1..).zip(steps) {
            match step {
                Step::Put(namespace, name, app, tier) => {
                    let object = built(namespace, name, app, tier, version);
                    model.insert(object.metadata.key().clone(), object.clone());
                    writer.put(object);
                }
                Step::Delete(namespace, name) => {
                    let object = built(namespace, name, 0, 0, version);
                    model.remove(object.metadata.key());
                    writer.delete(object);
                }
                Step::Replace(objects) => {
                    model.clear();
                    writer.begin();
                    for (namespace, name, app, tier) in objects {
                        let object = built(namespace, name, app, tier, version);
                        model.insert(object.metadata.key().clone(), object.clone());
                        writer.stage(object);
                    }
                    writer.commit(version.into());
                }
            }
        }
        let now = store.snapshot();
        prop_assert!(now.iter().map(|object| &**object).eq(model.values()));
        for text in [
            "app=a1", "app=a1,tier=2", "app in (a1,a3)", "app", "!app", "app!=a1", "tier>1", "tier<2,app",
            "app notin (a1,a2),tier", "", "app=none", "tier=1,app in (a2,a3)",
        ] {
            let labels: LabelSelector = text.parse().unwrap();
            for namespace in [None, Some("n0"), Some("n2"), Some("n9")] {
                let found = names(&now.select(&labels, namespace));
                prop_assert_eq!(found, scanned(&now, &labels, namespace), "{} in {:?}", text, namespace);
            }
        }
        for owner in ["u1", "u2", "u3"] {
            let owned = model.values().filter(|object| object.metadata.owner_references().any(|one| one.uid == owner));
            prop_assert!(now.owned_by(owner).map(|object| &**object).eq(owned));
        }
    }
}
