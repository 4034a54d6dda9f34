//! Consistency checks of one informer against the server, while nothing is written and no fault is active.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use http::Method;
use serde_json::Value;
use watchkeeper_cache::reflector::Progress;
use watchkeeper_cache::{Keep, Snapshot};
use watchkeeper_core::{Collection, LabelSelector, Object, ObjectKey};
use watchkeeper_kinds::api::core::v1::{ConfigMap, Pod};
use watchkeeper_oracle::Cluster;
use watchkeeper_wire::{Kind, decode, read_field};

use crate::resources::NAMESPACES;
use crate::test_informers::TestInformer;

/// Time limit for an informer or a handler to catch up.
const PATIENCE: Duration = Duration::from_secs(60);

/// Label selectors to query the stores with.
const SELECTORS: [&str; 7] = [
    "app=web",
    "app in (web,db),tier!=gold",
    "!tier",
    "shard>3",
    "shard notin (1,2)",
    "app,tier",
    "app=none",
];

/// A description of what is wrong.
pub(crate) type Violation = String;

/// The server's objects by key.
type Served = BTreeMap<ObjectKey, Value>;

/// Checks an informer's store, indexes, readers and handlers.
pub(crate) async fn check(test: &TestInformer, cluster: &Cluster) -> Result<(), Violation> {
    let served = list(cluster, &test.collection).await;
    catch_up(test, &served).await?;
    let now = test.informer.store().snapshot();
    compare(test, &now, &served)?;
    queries(test, &now)?;
    typed(test, &now)?;
    for handler in &test.handlers {
        let settled = handler.settle(&test.informer, PATIENCE).await;
        settled.map_err(|violation| format!("{} handler: {violation}", handler.name))?;
        let (panics, reported) = handler.panics();
        if panics != reported {
            return Err(format!("{} handler: {panics} panics, {reported} reported", handler.name));
        }
    }
    Ok(())
}

/// Lists the collection from the server, without any Watchkeeper code.
async fn list(cluster: &Cluster, collection: &Collection) -> Served {
    let group_version = collection.group_version();
    let root = if group_version.group.is_empty() { "/api" } else { "/apis" };
    let namespace = collection.in_namespace().map(|name| format!("/namespaces/{name}")).unwrap_or_default();
    let path = format!(
        "{root}/{group_version}{namespace}/{}?labelSelector={}&fieldSelector={}",
        collection.resource(),
        escaped(&collection.label_selector().to_string()),
        escaped(&collection.field_selector().to_string()),
    );
    let accept = match collection.is_metadata_only() {
        true => "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
        false => "application/json",
    };
    let response = cluster.request(Method::GET, &path, accept).await.unwrap();
    assert!(response.status().is_success(), "{path}: {response:?}");
    let mut list: Value = serde_json::from_slice(response.body()).unwrap();
    let Value::Array(items) = list["items"].take() else { panic!("{path}: no items") };
    items.into_iter().map(|item| (key(&item), item)).collect()
}

fn escaped(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

fn key(object: &Value) -> ObjectKey {
    let name = object["metadata"]["name"].as_str().unwrap();
    match object["metadata"]["namespace"].as_str() {
        Some(namespace) => ObjectKey::namespaced(namespace, name),
        None => ObjectKey::cluster(name),
    }
}

/// Waits until the store has the server's version of each object.
async fn catch_up(test: &TestInformer, served: &Served) -> Result<(), Violation> {
    let mut progress = test.informer.progress();
    let caught_up = async {
        loop {
            progress.mark_unchanged();
            if difference(&test.informer.store().snapshot(), served).is_none() {
                return;
            }
            progress.changed().await.expect("the informer is running");
        }
    };
    let in_time = tokio::time::timeout(PATIENCE, caught_up).await.is_ok();
    let now = test.informer.store().snapshot();
    match difference(&now, served) {
        None => Ok(()),
        Some(difference) => {
            let Progress { phase, version, .. } = test.informer.progress().borrow().clone();
            let outcome = if in_time { "changed after catching up" } else { "did not catch up" };
            Err(format!(
                "the store {outcome}, at {}: {difference}; the reflector is {phase:?} at {version}",
                now.version()
            ))
        }
    }
}

/// Returns the first object whose versions in the store and on the server differ.
fn difference(now: &Snapshot, served: &Served) -> Option<Violation> {
    let served_version = |object: &Value| {
        let metadata = &object["metadata"];
        (metadata["uid"].as_str().unwrap_or_default().to_owned(), metadata["resourceVersion"].clone())
    };
    let stored_version = |object: &Arc<Object>| {
        (object.metadata.uid().to_owned(), Value::from(object.metadata.resource_version().to_string()))
    };
    for (key, object) in served {
        let (expected, found) = (served_version(object), now.get(key).map(stored_version));
        if found.as_ref() != Some(&expected) {
            return Some(format!("{key}: the server has {expected:?}, the store {found:?}"));
        }
    }
    let extra = now.iter().find(|object| !served.contains_key(object.metadata.key()))?;
    Some(format!("{}: the server has none, the store {:?}", extra.metadata.key(), stored_version(extra)))
}

/// Compares the contents of each object, except for the fields that the informer prunes.
fn compare(test: &TestInformer, now: &Snapshot, served: &Served) -> Result<(), Violation> {
    let kind = test.informer.kind();
    for object in now.iter() {
        let key = object.metadata.key();
        let mut found: Value = decode(&object.encoded, kind).map_err(|error| format!("{key}: {error}"))?;
        let mut expected = served[key].clone();
        for value in [&mut found, &mut expected] {
            // Items of lists have no apiVersion and kind; the informer prunes managedFields.
            let fields = value.as_object_mut().unwrap();
            fields.retain(|name, _| name != "apiVersion" && name != "kind");
            fields.get_mut("metadata").and_then(Value::as_object_mut).unwrap().remove("managedFields");
        }
        if found != expected {
            return Err(format!("{key}: the store has {found}, the server {expected}"));
        }
    }
    Ok(())
}

/// Checks that every index and every query returns what a full scan returns.
fn queries(test: &TestInformer, now: &Snapshot) -> Result<(), Violation> {
    let keys = |objects: &mut dyn Iterator<Item = &Arc<Object>>| -> Vec<String> {
        objects.map(|object| object.metadata.key().to_string()).collect()
    };
    let check_same = |what: &str, found: Vec<String>, scanned: Vec<String>| match found == scanned {
        true => Ok(()),
        false => Err(format!("{what}: the index has {found:?}, a scan {scanned:?}")),
    };
    for path in &test.indexes {
        let scanned = scan(now, test.informer.kind(), path);
        let values: BTreeSet<&str> = now.index_values(path).unwrap().collect();
        if !values.iter().eq(scanned.keys()) {
            return Err(format!("{path}: the index has {values:?}, a scan {:?}", scanned.keys()));
        }
        for (value, expected) in scanned {
            let found = keys(&mut now.by_index(path, &value).unwrap());
            check_same(&format!("{path}={value}"), found, expected)?;
        }
    }
    for text in SELECTORS {
        let selector: LabelSelector = text.parse().unwrap();
        for namespace in [None].into_iter().chain(NAMESPACES.map(Some)) {
            let matches = |object: &&Arc<Object>| {
                namespace.is_none_or(|wanted| object.metadata.key().namespace() == Some(wanted))
                    && selector.matches(|key| object.metadata.label(key))
            };
            let found = keys(&mut now.select(&selector, namespace).iter());
            check_same(text, found, keys(&mut now.iter().filter(matches)))?;
        }
    }
    for owner in (0..10).map(|number| format!("owner-{number}")) {
        let owned = |object: &&Arc<Object>| {
            object.metadata.owner_references().any(|reference| reference.uid == owner)
        };
        check_same(&owner, keys(&mut now.owned_by(&owner)), keys(&mut now.iter().filter(owned)))?;
    }
    Ok(())
}

/// Returns the keys of the objects with each value at a field path.
fn scan(now: &Snapshot, kind: &Kind, path: &str) -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for object in now.iter() {
        let key = object.metadata.key().to_string();
        read_field(&object.encoded, kind, &path.parse().unwrap(), &mut |value| {
            found.entry(value.to_owned()).or_default().push(key.clone());
        })
        .unwrap();
    }
    found
}

/// Checks that a typed reader returns every object.
fn typed(test: &TestInformer, now: &Snapshot) -> Result<(), Violation> {
    let everything = LabelSelector::default();
    let count = match test.informer.kind().kind() {
        "ConfigMap" => {
            let listed = test.informer.reader::<ConfigMap>(Keep::Encoded).list(&everything);
            listed.items().map(|items| items.len())
        }
        "Pod" => {
            let listed = test.informer.reader::<Pod>(Keep::Decoded).list(&everything);
            listed.items().map(|items| items.len())
        }
        _ => return Ok(()),
    };
    match count {
        Err(error) => Err(format!("{error:?}")),
        Ok(count) if count != now.len() => {
            Err(format!("the typed reader returned {count} of {} objects", now.len()))
        }
        Ok(_) => Ok(()),
    }
}
