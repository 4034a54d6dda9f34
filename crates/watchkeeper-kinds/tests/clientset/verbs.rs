//! Every verb on deployments.

use futures_util::StreamExt as _;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use watchkeeper_client::dynamic::DynamicObject;
use watchkeeper_client::resource::{
    ApplyOptions, DeleteOptions, Deleted, DeletedCollection, List, ListOptions, ResourceClient, WriteOptions,
};
use watchkeeper_client::rest::PatchKind;
use watchkeeper_core::{ListAt, ListRequest, WatchEvent, WatchFrom, WatchRequest};

use crate::access::{Access, Target, Transcript, object};

pub(crate) fn deployment(name: &str, tier: &str) -> Value {
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

pub(crate) fn write() -> WriteOptions {
    WriteOptions::default()
}

/// Returns an object with one field changed.
fn with<T: Serialize + DeserializeOwned>(object: &T, path: &str, value: Value) -> T {
    let mut tree = serde_json::to_value(object).unwrap();
    *tree.pointer_mut(path).unwrap() = value;
    serde_json::from_value(tree).unwrap()
}

fn version_of(object: &impl Serialize) -> String {
    let tree = serde_json::to_value(object).unwrap();
    tree["metadata"]["resourceVersion"].as_str().unwrap().to_owned()
}

/// Runs all verbs.
pub(crate) async fn play(access: Access, target: &Target) -> Transcript {
    match access {
        Access::Dynamic => {
            let deployments = target.client.dynamic(&"apps/v1".parse().unwrap(), "deployments");
            Box::pin(ask(&deployments.namespace(&target.namespace))).await
        }
        _ => {
            let deployments = access.typed(target.client.apps_v1().deployments(&target.namespace));
            Box::pin(ask(&*deployments)).await
        }
    }
}

async fn ask<T>(deployments: &ResourceClient<T>) -> Transcript
where
    T: Serialize + DeserializeOwned + Send + 'static,
{
    let mut transcript = Transcript::default();
    let note = &mut transcript;

    let dry = WriteOptions { dry_run: true, field_manager: Some("me".into()), ..write() };
    note.note_outcome("dry create", &deployments.create(&object(deployment("a", "x")), &dry).await);
    assert!(deployments.get_opt("a").await.unwrap().is_none());
    note.note_outcome("get none", &deployments.get("a").await);
    let created = deployments.create(&object(deployment("a", "x")), &write()).await.unwrap();
    note.note("create", &created);
    note.note_outcome("create again", &deployments.create(&object(deployment("a", "x")), &write()).await);
    note.note("get", &deployments.get("a").await.unwrap());
    note.note("get_opt", &deployments.get_opt("a").await.unwrap());

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
    let request = ListRequest { at: ListAt::Page(page.metadata.continue_token.unwrap()), limit: None };
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
        Deleted::Completed(status) => note.note("delete", &status),
        Deleted::Pending(object) => note.note("delete, going", &object),
    }
    match deployments.delete_collection(&some, &DeleteOptions::default()).await.unwrap() {
        DeletedCollection::Completed(status) => note.note("delete collection", &status),
        DeletedCollection::Pending(list) => note_list(note, "delete collection, going", &list),
    }
    note_list(note, "left", &deployments.list(&ListOptions::default()).await.unwrap());

    let mut deleted = 0;
    while deleted < 2 {
        match changes.next().await.unwrap().unwrap() {
            WatchEvent::Added(object) => note.note("added", &object),
            WatchEvent::Modified(object) => note.note("modified", &object),
            WatchEvent::Deleted(object) => {
                deleted += 1;
                note.note("deleted", &object);
            }
            WatchEvent::Bookmark(_) => {}
        }
    }
    Box::pin(ask_to_apply(note, deployments)).await;
    transcript
}

/// Applies a deployment by two managers, and records field ownership.
async fn ask_to_apply<T>(note: &mut Transcript, deployments: &ResourceClient<T>)
where
    T: Serialize + DeserializeOwned,
{
    let by = |manager: &str| ApplyOptions { field_manager: manager.into(), force: false, dry_run: false };
    let forced = ApplyOptions { force: true, ..by("scaler") };
    let applied = deployment("d", "x");
    let with = |part: &str, value: Value| {
        let mut object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}});
        object[part] = value;
        object
    };
    let template = json!({"spec": {"containers": [{"name": "c", "image": "nginx:2"}]}});
    let scaled = with("spec", json!({"replicas": 4, "template": template}));
    let condition = json!({"type": "Available", "status": "True", "reason": "Observed", "message": "so"});
    let observed = with("status", json!({"replicas": 4, "conditions": [condition]}));
    let left = with("spec", json!({"template": template}));

    let dry = ApplyOptions { dry_run: true, ..by("owner") };
    note.note_outcome("dry apply", &deployments.apply_object(&applied, &dry).await);
    assert!(deployments.get_opt("d").await.unwrap().is_none());
    note.note_outcome("apply", &deployments.apply_object(&applied, &by("owner")).await);
    note.note_outcome("apply again", &deployments.apply_object(&applied, &by("owner")).await);
    let refused = deployments.apply_object(&scaled, &by("scaler")).await;
    assert!(refused.as_ref().is_err_and(|error| error.is_conflict()));
    note.note_outcome("apply, in conflict", &refused);
    note.note_outcome("apply, by force", &deployments.apply_object(&scaled, &forced).await);
    let refused = deployments.apply_object(&applied, &by("owner")).await;
    note.note_outcome("apply, in conflict with force", &refused);
    note.note_outcome("apply status", &deployments.apply_object_status(&observed, &by("controller")).await);
    // Fields without an owner are removed.
    let left = deployments.apply_object(&left, &by("scaler")).await.unwrap();
    note.note("apply less", &left);
    note.note("owners", &owners(&left));
}

/// Returns the managed fields of an object, without timestamps.
fn owners(object: &impl Serialize) -> Vec<Value> {
    let tree = serde_json::to_value(object).unwrap();
    let mut owners = tree["metadata"]["managedFields"].as_array().unwrap().clone();
    for owner in &mut owners {
        owner["time"].take();
    }
    owners.sort_by_key(|owner| (owner["manager"].to_string(), owner["subresource"].to_string()));
    owners
}

fn note_list<T: Serialize>(transcript: &mut Transcript, step: &str, list: &List<T>) {
    assert!(!list.metadata.resource_version.to_string().is_empty());
    transcript.note(step, &json!({"items": list.items, "remaining": list.metadata.remaining_item_count}));
}

/// Checks that all steps succeeded.
pub(crate) fn check(transcript: &Transcript) {
    assert_eq!(transcript.step("create")["spec"]["replicas"], 1);
    assert_eq!(transcript.step("json")["spec"]["replicas"], 3);
    assert_eq!(transcript.step("merge")["metadata"]["annotations"], json!({"k": "v"}));
    let container = &transcript.step("strategic")["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(
        (&container["image"], &container["ports"][0]["containerPort"]),
        (&json!("nginx:2"), &json!(80))
    );
    assert_eq!(transcript.step("patch status")["status"]["readyReplicas"], 1);
    assert_eq!(transcript.step("first page")["remaining"], 1);
    assert_eq!(transcript.step("selected")["items"].as_array().unwrap().len(), 2);
    assert_eq!(transcript.step("metadata")["kind"], "PartialObjectMetadata");
    assert_eq!(transcript.step("left")["items"].as_array().unwrap().len(), 1);
    assert_eq!(transcript.step("deleted")["metadata"]["name"], "a");
    assert_eq!(transcript.step("apply, by force")["spec"]["replicas"], 4);
    assert!(transcript.step("apply, in conflict with force").as_str().unwrap().contains("\"scaler\""));
    assert_eq!(transcript.step("apply status")["status"]["conditions"][0]["reason"], "Observed");
    assert_eq!(transcript.step("apply less")["spec"]["replicas"], 1);
    assert_eq!(transcript.step("owners").as_array().unwrap().len(), 3);
}
