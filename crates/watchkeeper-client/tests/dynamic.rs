//! Every verb of the dynamic client against the embedded server.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::json;
use watchkeeper_apiserver::server::ApiServer;
use watchkeeper_client::dynamic::{
    ApplyOptions, DeleteOptions, Deleted, DeletedCollection, DynamicApi, DynamicObject, ListOptions,
    Propagation, WriteOptions,
};
use watchkeeper_client::rest::{PatchKind, RateLimiter};
use watchkeeper_client::{Client, retry_on_conflict};
use watchkeeper_core::{ListAt, ListRequest, WatchEvent, WatchFrom, WatchRequest};

struct World {
    server: ApiServer,
    client: Client,
}

impl World {
    async fn start() -> Self {
        let server = ApiServer::builder().start().await.unwrap();
        let client = Client::new(&support::config(&server)).unwrap();
        Self { server, client }
    }

    fn api(&self, group_version: &str, resource: &str) -> DynamicApi {
        self.client.dynamic(&group_version.parse().unwrap(), resource).namespace("default")
    }
}

fn write() -> WriteOptions {
    WriteOptions::default()
}

fn deployment() -> DynamicObject {
    let mut web = DynamicObject::new("apps/v1", "Deployment", "web");
    web.set(&["spec", "selector", "matchLabels", "app"], json!("web"));
    web.set(&["spec", "template", "metadata", "labels", "app"], json!("web"));
    web.set(&["spec", "template", "spec", "containers"], json!([{"name": "c", "image": "nginx"}]));
    web
}

#[tokio::test]
async fn every_verb_works_on_a_deployment() {
    let world = World::start().await;
    let deployments = world.api("apps/v1", "deployments");

    let dry = WriteOptions { dry_run: true, ..write() };
    assert_eq!(deployments.create(&deployment(), &dry).await.unwrap().name(), "web");
    assert!(deployments.get("web").await.unwrap_err().is_not_found());
    let created = deployments.create(&deployment(), &write()).await.unwrap();
    assert_eq!(created.get(&["spec", "replicas"]), Some(&json!(1)));
    assert!(deployments.create(&deployment(), &write()).await.unwrap_err().is_already_exists());

    let mut changed = deployments.get("web").await.unwrap();
    changed.set(&["spec", "replicas"], json!(2));
    let changed = deployments.update(&changed, &write()).await.unwrap();
    assert_eq!(changed.get(&["metadata", "generation"]), Some(&json!(2)));
    assert!(deployments.update(&created, &write()).await.unwrap_err().is_conflict());

    let mut status = changed.clone();
    status.set(&["status", "replicas"], json!(2));
    let status = deployments.update_status(&status, &write()).await.unwrap();
    assert_eq!(status.get(&["status", "replicas"]), Some(&json!(2)));
    let mut scale: DynamicObject = deployments.get_subresource("web", "scale").await.unwrap();
    assert_eq!(scale.kind(), "Scale");
    scale.set(&["spec", "replicas"], json!(5));
    deployments.update_subresource("scale", &scale, &write()).await.unwrap();
    assert_eq!(deployments.get("web").await.unwrap().get(&["spec", "replicas"]), Some(&json!(5)));

    for (kind, patch, replicas) in [
        (PatchKind::Json, json!([{"op": "replace", "path": "/spec/replicas", "value": 6}]), 6),
        (PatchKind::Merge, json!({"spec": {"replicas": 7}}), 7),
        (PatchKind::Strategic, json!({"spec": {"replicas": 8}}), 8),
    ] {
        let patched = deployments.patch("web", kind, &patch, &write()).await.unwrap();
        assert_eq!(patched.get(&["spec", "replicas"]), Some(&json!(replicas)));
    }
    let apply = ApplyOptions { field_manager: "me".into(), force: false, dry_run: false };
    let applied = deployments.apply_object(&deployment(), &apply).await.unwrap();
    let manager = applied.get(&["metadata", "managedFields"]).and_then(|entries| entries[0].get("manager"));
    assert_eq!(manager, Some(&json!("me")));
    let mut fewer = deployment();
    fewer.set(&["spec", "replicas"], json!(1));
    let error = deployments.apply_object(&fewer, &apply).await.unwrap_err();
    assert!(error.is_conflict(), "another manager owns the replicas");
    let forced = deployments.apply_object(&fewer, &ApplyOptions { force: true, ..apply }).await.unwrap();
    assert_eq!(forced.get(&["spec", "replicas"]), Some(&json!(1)));

    let wrong = DeleteOptions { uid: Some("other".into()), ..Default::default() };
    assert!(deployments.delete("web", &wrong).await.unwrap_err().is_conflict());
    let orphan = DeleteOptions { propagation: Some(Propagation::Orphan), ..Default::default() };
    assert!(matches!(deployments.delete("web", &orphan).await.unwrap(), Deleted::Pending(_)));
    world.server.stop().await;
}

#[tokio::test]
async fn collections_are_listed_in_pages_selected_and_deleted() {
    let world = World::start().await;
    let maps = world.api("v1", "configmaps");
    for (name, tier) in [("a", "x"), ("b", "x"), ("c", "y")] {
        let mut map = DynamicObject::new("v1", "ConfigMap", name);
        map.set(&["metadata", "labels", "tier"], tier.into());
        maps.create(&map, &write()).await.unwrap();
    }
    let request = ListRequest { at: ListAt::MostRecent, limit: 2.try_into().ok() };
    let page = maps.list(&ListOptions { request, ..Default::default() }).await.unwrap();
    assert_eq!((page.items.len(), page.metadata.remaining_item_count), (2, Some(1)));
    assert_eq!((page.items[0].api_version(), page.items[0].kind()), ("v1", "ConfigMap"));
    let request = ListRequest { at: ListAt::Page(page.metadata.continue_token.unwrap()), limit: None };
    let rest = maps.list(&ListOptions { request, ..Default::default() }).await.unwrap();
    assert_eq!(rest.metadata.resource_version, page.metadata.resource_version);
    assert_eq!(rest.into_iter().map(|map| map.name().to_owned()).collect::<Vec<_>>(), ["c"]);

    let some = ListOptions { labels: "tier=x".parse().unwrap(), ..Default::default() };
    assert_eq!(maps.list(&some).await.unwrap().items.len(), 2);
    maps.delete_collection(&some, &DeleteOptions::default()).await.unwrap();
    let left = maps.list(&ListOptions::default()).await.unwrap();
    assert_eq!(left.items.iter().map(DynamicObject::name).collect::<Vec<_>>(), ["c"]);
    assert!(matches!(maps.delete("c", &DeleteOptions::default()).await.unwrap(), Deleted::Completed(_)));
    world.server.stop().await;
}

#[tokio::test]
async fn a_conflict_is_retried_with_the_current_object() {
    let world = World::start().await;
    let maps = world.api("v1", "configmaps");
    maps.create(&DynamicObject::new("v1", "ConfigMap", "a"), &write()).await.unwrap();
    let mut attempts = 0;
    let done = retry_on_conflict(async || {
        attempts += 1;
        let mut map = maps.get("a").await?;
        if attempts < 3 {
            // A concurrent write.
            let patch = json!({"data": {"other": attempts.to_string()}});
            maps.patch("a", PatchKind::Merge, &patch, &write()).await?;
        }
        map.set(&["data", "mine"], json!("1"));
        maps.update(&map, &write()).await
    });
    let done = done.await.unwrap();
    assert_eq!((attempts, done.get(&["data"])), (3, Some(&json!({"mine": "1", "other": "2"}))));
    world.server.stop().await;
}

#[tokio::test]
async fn a_watch_delivers_changes() {
    let world = World::start().await;
    let maps = world.api("v1", "configmaps");
    let map = DynamicObject::new("v1", "ConfigMap", "a");
    let created = maps.create(&map, &write()).await.unwrap();
    let request = WatchRequest::new(WatchFrom::After(created.resource_version().into()));
    let mut events = maps.watch(&request, &ListOptions::default()).await.unwrap();
    let patch = json!({"data": {"k": "v"}});
    let changed = maps.patch("a", PatchKind::Merge, &patch, &write()).await.unwrap();
    maps.delete("a", &DeleteOptions::default()).await.unwrap();
    assert_eq!(events.next().await.unwrap().unwrap(), WatchEvent::Modified(changed));
    let Some(Ok(WatchEvent::Deleted(gone))) = events.next().await else { panic!("expected Deleted") };
    assert_eq!((gone.kind(), gone.name()), ("ConfigMap", "a"));
    world.server.stop().await;
}

#[tokio::test]
async fn qps_and_burst_limit_everything_made_from_a_client() {
    let world = World::start().await;
    let mut config = support::config(&world.server);
    (config.qps, config.burst) = (Some(0.001), 2);
    let client = Client::new(&config).unwrap();
    client.discovery().server_version().await.unwrap();
    let maps = client.dynamic(&"v1".parse().unwrap(), "configmaps");
    maps.list(&ListOptions::default()).await.unwrap();
    let third = tokio::time::timeout(Duration::from_millis(300), client.discovery().server_version()).await;
    assert!(third.is_err(), "the burst is used up");
    let generous = client.clone().rate_limiter(Arc::new(RateLimiter::new(100.0, 100)));
    generous.discovery().server_version().await.unwrap();
    world.server.stop().await;
}

#[tokio::test]
async fn metadata_is_read_without_the_rest() {
    let world = World::start().await;
    let whole = world.api("v1", "configmaps");
    let mut map = DynamicObject::new("v1", "ConfigMap", "a");
    map.set(&["data", "k"], json!("v"));
    let created = whole.create(&map, &write()).await.unwrap();
    let maps = world.client.metadata(&"v1".parse().unwrap(), "configmaps").namespace("default");

    let alone = maps.get("a").await.unwrap();
    assert_eq!((alone.kind(), alone.get(&["data"])), ("PartialObjectMetadata", None));
    assert_eq!(alone.get(&["metadata"]), created.get(&["metadata"]));
    let list = maps.list(&ListOptions::default()).await.unwrap();
    assert_eq!(list.items.iter().map(DynamicObject::name).collect::<Vec<_>>(), ["a"]);
    assert_eq!((list.items[0].kind(), list.items[0].get(&["data"])), ("PartialObjectMetadata", None));
    let from = WatchFrom::InitialEvents { not_older_than: None };
    let mut events = maps.watch(&WatchRequest::new(from), &ListOptions::default()).await.unwrap();
    assert_eq!(events.next().await.unwrap().unwrap(), WatchEvent::Added(alone));
    let patch = json!({"metadata": {"labels": {"x": "y"}}});
    let patched = maps.patch("a", PatchKind::Merge, &patch, &write()).await.unwrap();
    assert_eq!(patched.labels().collect::<Vec<_>>(), [("x", "y")]);
    assert_eq!(patched.get(&["data"]), None);
    let deleted = maps.delete_collection(&ListOptions::default(), &DeleteOptions::default()).await.unwrap();
    let DeletedCollection::Pending(deleted) = deleted else { panic!("expected the deleted objects") };
    assert_eq!((deleted.items[0].kind(), deleted.items.len()), ("PartialObjectMetadata", 1));
    assert!(whole.get_opt("a").await.unwrap().is_none());
    world.server.stop().await;
}
