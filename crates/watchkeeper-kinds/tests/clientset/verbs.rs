//! Every verb.

use futures_util::StreamExt as _;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use watchkeeper_client::dynamic::DynamicObject;
use watchkeeper_client::resource::{
    DeleteOptions, Deleted, DeletedMany, Event, List, ListOptions, ResourceClient, WriteOptions,
};
use watchkeeper_client::rest::PatchKind;
use watchkeeper_core::{ListAt, ListPart, ListRequest, ListWatch as _, ObjectKey, WatchFrom, WatchRequest};

use crate::way::{Transcript, Way, World, object};

fn deployment(name: &str, tier: &str) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": {"tier": tier}},
        "spec": {
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "c", "image": "nginx", "ports": [{"containerPort": 80}]}]},
            },
        },
    })
}

fn write() -> WriteOptions {
    WriteOptions::default()
}

/// An object, changed in one place.
fn with<T: Serialize + DeserializeOwned>(object: &T, path: &str, value: Value) -> T {
    let mut tree = serde_json::to_value(object).unwrap();
    *tree.pointer_mut(path).unwrap() = value;
    serde_json::from_value(tree).unwrap()
}

fn version_of(object: &impl Serialize) -> String {
    let tree = serde_json::to_value(object).unwrap();
    tree["metadata"]["resourceVersion"].as_str().unwrap().to_owned()
}

/// All that can be asked of deployments.
async fn ask<T>(deployments: &ResourceClient<T>) -> Transcript
where
    T: Serialize + DeserializeOwned + Send + 'static,
{
    let mut transcript = Transcript::default();
    let note = &mut transcript;

    let dry = WriteOptions { dry_run: true, field_manager: Some("me".into()), ..write() };
    note.note_outcome("dry create", &deployments.create(&object(deployment("a", "x")), &dry).await);
    assert!(deployments.find("a").await.unwrap().is_none());
    note.note_outcome("get none", &deployments.get("a").await);
    let created = deployments.create(&object(deployment("a", "x")), &write()).await.unwrap();
    note.note("create", &created);
    note.note_outcome("create again", &deployments.create(&object(deployment("a", "x")), &write()).await);
    note.note("get", &deployments.get("a").await.unwrap());
    note.note("find", &deployments.find("a").await.unwrap());

    let changes = WatchRequest::new(WatchFrom::After(version_of(&created).as_str().into()));
    let mut changes = deployments.watch(&changes, &ListOptions::default()).await.unwrap();

    let updated = deployments.update(&with(&created, "/spec/replicas", json!(2)), &write()).await.unwrap();
    note.note("update", &updated);
    let stale = deployments.update(&with(&created, "/spec/replicas", json!(9)), &write()).await;
    assert!(stale.as_ref().is_err_and(|error| error.is_conflict()));
    note.note_outcome("update stale", &stale);
    for (step, kind, patch) in [
        ("json", PatchKind::Json, json!([{"op": "replace", "path": "/spec/replicas", "value": 3}])),
        ("merge", PatchKind::Merge, json!({"metadata": {"annotations": {"k": "v"}}})),
        (
            "strategic",
            PatchKind::Strategic,
            json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "nginx:2"}]}}}}),
        ),
    ] {
        note.note(step, &deployments.patch("a", kind, &patch, &write()).await.unwrap());
    }

    let read = deployments.get_status("a").await.unwrap();
    note.note("get status", &read);
    let written = with(&read, "/status", json!({"replicas": 1, "observedGeneration": 4}));
    note.note("update status", &deployments.update_status(&written, &write()).await.unwrap());
    let patch = json!({"status": {"readyReplicas": 1}});
    let patched = deployments.patch_status("a", PatchKind::Merge, &patch, &write()).await;
    note.note("patch status", &patched.unwrap());

    for (name, tier) in [("b", "x"), ("c", "y")] {
        deployments.create(&object(deployment(name, tier)), &write()).await.unwrap();
    }
    let request = ListRequest { at: ListAt::MostRecent, limit: 2.try_into().ok() };
    let page = deployments.list(&ListOptions { request, ..Default::default() }).await.unwrap();
    note_list(note, "first page", &page);
    let request = ListRequest { at: ListAt::Page(page.continue_token.unwrap()), limit: None };
    let rest = deployments.list(&ListOptions { request, ..Default::default() }).await.unwrap();
    note_list(note, "second page", &rest);
    let some = ListOptions { labels: "tier=x".parse().unwrap(), ..Default::default() };
    note_list(note, "selected", &deployments.list(&some).await.unwrap());
    let named = ListOptions { fields: "metadata.name=c".parse().unwrap(), ..Default::default() };
    note_list(note, "by field", &deployments.list(&named).await.unwrap());

    let metadata = deployments.metadata::<DynamicObject>();
    note.note("metadata", &metadata.get("a").await.unwrap());
    note_list(note, "metadata of all", &metadata.list(&ListOptions::default()).await.unwrap());

    let wrong = DeleteOptions { uid: Some("another".into()), ..Default::default() };
    let refused = deployments.delete("a", &wrong).await.err().unwrap();
    assert!(refused.is_conflict());
    match deployments.delete("a", &DeleteOptions::default()).await.unwrap() {
        Deleted::Gone(status) => note.note("delete", &status),
        Deleted::Going(object) => note.note("delete, going", &object),
    }
    match deployments.delete_collection(&some, &DeleteOptions::default()).await.unwrap() {
        DeletedMany::Gone(status) => note.note("delete collection", &status),
        DeletedMany::Going(list) => note_list(note, "delete collection, going", &list),
    }
    note_list(note, "left", &deployments.list(&ListOptions::default()).await.unwrap());

    let mut deleted = 0;
    while deleted < 2 {
        match changes.next().await.unwrap().unwrap() {
            Event::Added(object) => note.note("added", &object),
            Event::Modified(object) => note.note("modified", &object),
            Event::Deleted(object) => {
                deleted += 1;
                note.note("deleted", &object);
            }
            Event::Bookmark(_) => {}
        }
    }
    transcript
}

fn note_list<T: Serialize>(transcript: &mut Transcript, step: &str, list: &List<T>) {
    assert!(!list.version.to_string().is_empty());
    transcript.note(step, &json!({"items": list.items, "remaining": list.remaining}));
}

#[tokio::test]
async fn every_verb_answers_the_same_however_it_is_asked() {
    let mut transcripts = Vec::new();
    for way in [Way::Protobuf, Way::Json, Way::Dynamic] {
        let world = World::start().await;
        let client = &world.client;
        transcripts.push(match way {
            Way::Dynamic => {
                let deployments = client.dynamic(&"apps/v1".parse().unwrap(), "deployments");
                ask(&deployments.namespace(world.namespace())).await
            }
            _ => Box::pin(ask(&*way.typed(client.apps_v1().deployments(world.namespace())))).await,
        });
        world.cluster.stop().await;
    }
    let [protobuf, json, dynamic] = &transcripts[..] else { panic!("three ways") };
    protobuf.assert_same(json, "protobuf, JSON");
    json.assert_same(dynamic, "typed, dynamic");

    assert_eq!(dynamic.step("create")["spec"]["replicas"], 1);
    assert_eq!(dynamic.step("json")["spec"]["replicas"], 3);
    assert_eq!(dynamic.step("merge")["metadata"]["annotations"], json!({"k": "v"}));
    let container = &dynamic.step("strategic")["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(
        (&container["image"], &container["ports"][0]["containerPort"]),
        (&json!("nginx:2"), &json!(80))
    );
    assert_eq!(dynamic.step("patch status")["status"]["readyReplicas"], 1);
    assert_eq!(dynamic.step("first page")["remaining"], 1);
    assert_eq!(dynamic.step("selected")["items"].as_array().unwrap().len(), 2);
    assert_eq!(dynamic.step("metadata")["kind"], "PartialObjectMetadata");
    assert_eq!(dynamic.step("left")["items"].as_array().unwrap().len(), 1);
    assert_eq!(dynamic.step("deleted")["metadata"]["name"], "a");
}

#[tokio::test]
async fn an_empty_namespace_stands_for_all() {
    let world = World::start().await;
    let other = world.cluster.fresh_namespace().await.unwrap();
    let client = &world.client;
    for namespace in [world.namespace(), &other] {
        let deployments = client.apps_v1().deployments(namespace);
        deployments.create(&object(deployment("a", "x")), &write()).await.unwrap();
    }
    let all = client.apps_v1().deployments("").list(&ListOptions::default()).await.unwrap();
    assert_eq!(all.items.len(), 2);
    assert!(client.apps_v1().deployments("").get("a").await.is_err());
    world.cluster.stop().await;
}

#[tokio::test]
async fn the_source_of_a_kind_lists_its_collection() {
    let world = World::start().await;
    let deployments = world.client.apps_v1().deployments(world.namespace());
    deployments.create(&object(deployment("a", "x")), &write()).await.unwrap();
    let mut parts = deployments.source().list(ListRequest::default());
    let mut keys = Vec::new();
    while let Some(part) = parts.next().await {
        if let ListPart::Item(found) = part.unwrap() {
            keys.push(found.head.key().clone());
        }
    }
    assert_eq!(keys, [ObjectKey::namespaced(world.namespace(), "a")]);
    world.cluster.stop().await;
}
