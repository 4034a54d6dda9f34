//! Quiet: nothing is written and nothing goes wrong, so that what informers have can be held against the server.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use http::Method;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use serde_json::Value;
use watchkeeper_cache::reflector::Progress;
use watchkeeper_cache::{Keep, Snapshot};
use watchkeeper_core::{Collection, LabelSelector, Object, ObjectKey};
use watchkeeper_oracle::Cluster;
use watchkeeper_wire::{Kind, decode, read_field};

use crate::fleet::Member;
use crate::resources::NAMESPACES;

/// How long an informer or a handler may take to have all of it.
const PATIENCE: Duration = Duration::from_secs(60);

/// Label selectors that stores are asked.
const SELECTORS: [&str; 7] = [
    "app=web",
    "app in (web,db),tier!=gold",
    "!tier",
    "shard>3",
    "shard notin (1,2)",
    "app,tier",
    "app=none",
];

/// What is wrong with an informer, and where.
pub(crate) type Wrong = String;

/// What the server has, by key.
type Served = BTreeMap<ObjectKey, Value>;

/// Checks an informer and all who listen to it.
pub(crate) async fn check(member: &Member, cluster: &Cluster) -> Result<(), Wrong> {
    let served = ask(cluster, &member.collection).await;
    catch_up(member, &served).await?;
    let now = member.informer.store().snapshot();
    compare(member, &now, &served)?;
    queries(member, &now)?;
    typed(member, &now)?;
    for listener in &member.listeners {
        let settled = listener.settle(&member.informer, PATIENCE).await;
        settled.map_err(|flaw| format!("{} handler: {flaw}", listener.name))?;
        let (panics, reported) = listener.panics();
        if panics != reported {
            return Err(format!("{} handler: {panics} panics, {reported} reported", listener.name));
        }
    }
    Ok(())
}

/// Asks the server itself, without any of Watchkeeper in between.
async fn ask(cluster: &Cluster, collection: &Collection) -> Served {
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
    let answer = cluster.request(Method::GET, &path, accept).await.unwrap();
    assert!(answer.status().is_success(), "{path}: {answer:?}");
    let mut list: Value = serde_json::from_slice(answer.body()).unwrap();
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

/// Waits until the store has the versions that the server has.
async fn catch_up(member: &Member, served: &Served) -> Result<(), Wrong> {
    let mut progress = member.informer.progress();
    let caught_up = async {
        loop {
            progress.mark_unchanged();
            if difference(&member.informer.store().snapshot(), served).is_none() {
                return;
            }
            progress.changed().await.expect("the informer runs");
        }
    };
    let in_time = tokio::time::timeout(PATIENCE, caught_up).await.is_ok();
    let now = member.informer.store().snapshot();
    match difference(&now, served) {
        None => Ok(()),
        Some(wrong) => {
            let Progress { phase, version, .. } = member.informer.progress().borrow().clone();
            let waited = if in_time { "then" } else { "in the end" };
            Err(format!(
                "{waited} the store at {}: {wrong}; the reflector: {phase:?} at {version}",
                now.version()
            ))
        }
    }
}

/// The first object of which the store and the server do not have the same version.
fn difference(now: &Snapshot, served: &Served) -> Option<Wrong> {
    let version = |object: &Value| {
        let metadata = &object["metadata"];
        (metadata["uid"].as_str().unwrap_or_default().to_owned(), metadata["resourceVersion"].clone())
    };
    let held = |object: &Arc<Object>| {
        (object.metadata.uid().to_owned(), Value::from(object.metadata.resource_version().to_string()))
    };
    for (key, object) in served {
        let (expected, found) = (version(object), now.get(key).map(held));
        if found.as_ref() != Some(&expected) {
            return Some(format!("{key}: the server has {expected:?}, the store {found:?}"));
        }
    }
    let extra = now.iter().find(|object| !served.contains_key(object.metadata.key()))?;
    Some(format!("{}: the server does not have it, the store {:?}", extra.metadata.key(), held(extra)))
}

/// Object by object, but for what the intake cuts out.
fn compare(member: &Member, now: &Snapshot, served: &Served) -> Result<(), Wrong> {
    let kind = member.informer.kind();
    for object in now.iter() {
        let key = object.metadata.key();
        let mut found: Value = decode(&object.encoded, kind).map_err(|error| format!("{key}: {error}"))?;
        let mut expected = served[key].clone();
        for value in [&mut found, &mut expected] {
            // Items of lists do not say what they are; managed fields are cut out.
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

/// Every index and every query says what a scan says.
fn queries(member: &Member, now: &Snapshot) -> Result<(), Wrong> {
    let keys = |objects: &mut dyn Iterator<Item = &Arc<Object>>| -> Vec<String> {
        objects.map(|object| object.metadata.key().to_string()).collect()
    };
    let same = |what: &str, found: Vec<String>, scanned: Vec<String>| match found == scanned {
        true => Ok(()),
        false => Err(format!("{what}: the index has {found:?}, a scan {scanned:?}")),
    };
    for path in &member.indexes {
        let scanned = scan(now, member.informer.kind(), path);
        let values: BTreeSet<&str> = now.index_values(path).unwrap().collect();
        if !values.iter().eq(scanned.keys()) {
            return Err(format!("{path}: the index has {values:?}, a scan {:?}", scanned.keys()));
        }
        for (value, expected) in scanned {
            let found = keys(&mut now.by_index(path, &value).unwrap());
            same(&format!("{path}={value}"), found, expected)?;
        }
    }
    for text in SELECTORS {
        let selector: LabelSelector = text.parse().unwrap();
        for namespace in [None].into_iter().chain(NAMESPACES.map(Some)) {
            let there = |object: &&Arc<Object>| {
                namespace.is_none_or(|wanted| object.metadata.key().namespace() == Some(wanted))
                    && selector.matches(|key| object.metadata.label(key))
            };
            let found = keys(&mut now.select(&selector, namespace).iter());
            same(text, found, keys(&mut now.iter().filter(there)))?;
        }
    }
    for owner in (0..10).map(|number| format!("owner-{number}")) {
        let owned = |object: &&Arc<Object>| object.metadata.owner_references().any(|it| it.uid == owner);
        same(&owner, keys(&mut now.owned_by(&owner)), keys(&mut now.iter().filter(owned)))?;
    }
    Ok(())
}

/// The keys of every value at a path.
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

/// Whoever reads a type has all objects as that type.
fn typed(member: &Member, now: &Snapshot) -> Result<(), Wrong> {
    let everything = LabelSelector::default();
    let count = match member.informer.kind().kind() {
        "ConfigMap" => {
            let listed = member.informer.reader::<ConfigMap>(Keep::Encoded).list(&everything);
            listed.items().map(|items| items.len())
        }
        "Pod" => {
            let listed = member.informer.reader::<Pod>(Keep::Decoded).list(&everything);
            listed.items().map(|items| items.len())
        }
        _ => return Ok(()),
    };
    match count {
        Err(error) => Err(format!("{error:?}")),
        Ok(count) if count != now.len() => Err(format!("{count} of {} objects can be read", now.len())),
        Ok(_) => Ok(()),
    }
}
