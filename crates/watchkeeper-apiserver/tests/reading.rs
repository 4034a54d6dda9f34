//! Lists and watches of a store, on a paused clock.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use watchkeeper_apiserver::http::{GetOptions, ListOptions, Query};
use watchkeeper_apiserver::read::{ContinueToken, Page, Reader, Scope, Step, StoreSource, View, Watcher};
use watchkeeper_apiserver::registry;
use watchkeeper_apiserver::store::{
    CollectionId, HistoryLimits, MemoryStore, Precondition, Revision, Store, Unversioned,
};
use watchkeeper_core::{
    ListRequest, ListWatch as _, ObjectKey, Status, WatchEventType, WatchFrom, WatchRequest,
};

struct World {
    store: Arc<MemoryStore>,
    reader: Reader,
    collection: CollectionId,
}

impl World {
    fn new() -> Self {
        let store = Arc::new(MemoryStore::new(HistoryLimits::default()));
        Self { reader: Reader::new(store.clone()), store, collection: CollectionId::from("pods") }
    }

    async fn put(&self, name: &str, labels: Value, node: &str) -> u64 {
        let body = json!({"metadata": {"name": name, "namespace": "n", "labels": labels}, "spec": {"nodeName": node}});
        let value = Unversioned::from_json(body.to_string().as_bytes()).unwrap();
        self.store.put(&self.collection, value, Precondition::Any).await.unwrap().modified().get()
    }

    async fn delete(&self, name: &str) -> u64 {
        let key = ObjectKey::namespaced("n", name);
        self.store.delete(&self.collection, &key, None).await.unwrap().modified().get()
    }

    /// Creates objects `a`, `b`, `c`, `d` at revisions 2 to 5; `b` and `d` have a label.
    async fn four() -> Self {
        let world = Self::new();
        for name in ["a", "b", "c", "d"] {
            let labels = if matches!(name, "b" | "d") { json!({"app": "web"}) } else { json!({}) };
            world.put(name, labels, name).await;
        }
        world
    }

    fn scope(&self) -> Scope {
        let resource = registry::builtin().get("", "v1", "pods").unwrap().clone();
        Scope { resource, namespace: Some("n".to_owned()), name: None, view: View::Own }
    }

    async fn list(&self, query: &str) -> Result<Page, Status> {
        self.reader.list(&self.scope(), &ListOptions::read(&Query::parse(query))?).await
    }

    async fn watch(&self, query: &str) -> Watcher {
        let options = ListOptions::read(&Query::parse(&format!("watch=true&{query}"))).unwrap();
        self.reader.watch(&self.scope(), &options).await.unwrap()
    }
}

/// Formats a page as `a,b @5 +2`: names, revision, number of remaining items; `...` if there are more.
fn shown(page: &Page) -> String {
    let names: Vec<&str> = page.items.iter().map(|stored| stored.key().name()).collect();
    let mut text = format!("{} @{}", names.join(","), page.revision);
    if page.continue_token.is_some() {
        text.push_str(" ...");
    }
    if let Some(left) = page.remaining {
        text.push_str(&format!(" +{left}"));
    }
    text
}

/// Formats the next step of a watch.
async fn step(watcher: &mut Watcher) -> String {
    match watcher.next().await {
        None => "end".to_owned(),
        Some(Step::Initial(items)) => {
            let items: Vec<_> =
                items.iter().map(|it| format!("{}@{}", it.key().name(), it.modified())).collect();
            format!("initial {}", items.join(","))
        }
        Some(Step::Changes(changes)) => {
            let changes = changes.iter().map(|change| {
                let stored = change.event.state(change.change_type.shown()).unwrap();
                format!(
                    "{} {}@{}",
                    WatchEventType::from(change.change_type),
                    stored.key().name(),
                    stored.object().metadata.resource_version()
                )
            });
            changes.collect::<Vec<_>>().join(", ")
        }
        Some(Step::Bookmark { revision, initial_events_end: true }) => format!("initial end @{revision}"),
        Some(Step::Bookmark { revision, .. }) => format!("bookmark @{revision}"),
        Some(Step::Failed(status)) => format!("{} {}", status.code, status.message),
    }
}

#[tokio::test(start_paused = true)]
async fn a_get_returns_the_object_or_a_404_in_upstream_words() {
    let world = World::four().await;
    let mut scope = world.scope();
    scope.name = Some("a".to_owned());
    assert_eq!(world.reader.get(&scope, &GetOptions::default()).await.unwrap().modified(), Revision::new(2));
    scope.name = Some("x".to_owned());
    let status = world.reader.get(&scope, &GetOptions::default()).await.unwrap_err();
    assert_eq!((status.code, status.message.as_str()), (404, "pods \"x\" not found"));
}

#[tokio::test(start_paused = true)]
async fn a_list_honours_resource_version_match() {
    let world = World::four().await;
    let table = [
        ("", "a,b,c,d @5"),
        ("resourceVersion=0", "a,b,c,d @5"),
        ("resourceVersion=0&limit=1", "a,b,c,d @5"),
        ("resourceVersion=3", "a,b,c,d @5"),
        ("resourceVersion=3&resourceVersionMatch=NotOlderThan", "a,b,c,d @5"),
        ("resourceVersion=3&resourceVersionMatch=Exact", "a,b @3"),
        ("resourceVersion=4&limit=2", "a,b @4 ... +1"),
        ("resourceVersion=4&resourceVersionMatch=NotOlderThan&limit=2", "a,b @5 ... +2"),
        ("limit=3", "a,b,c @5 ... +1"),
        ("limit=4", "a,b,c,d @5"),
        ("labelSelector=app%3Dweb", "b,d @5"),
        ("labelSelector=app%3Dweb&limit=1", "b @5 ..."),
        ("fieldSelector=spec.nodeName%3Dc", "c @5"),
        ("fieldSelector=metadata.name!%3Dc", "a,b,d @5"),
    ];
    for (query, expected) in table {
        assert_eq!(shown(&world.list(query).await.unwrap()), expected, "{query}");
    }
}

#[tokio::test(start_paused = true)]
async fn all_pages_are_at_one_revision() {
    let world = World::four().await;
    let first = world.list("limit=2").await.unwrap();
    world.delete("c").await;
    world.put("e", json!({}), "").await;
    let token = first.continue_token.unwrap();
    let second = world.list(&format!("limit=2&continue={token}")).await.unwrap();
    assert_eq!(shown(&second), "c,d @5");
}

#[tokio::test(start_paused = true)]
async fn an_expired_page_returns_a_token_for_the_newest_revision() {
    let world = World::four().await;
    let token = world.list("limit=2").await.unwrap().continue_token.unwrap();
    world.put("e", json!({}), "").await;
    world.store.compact(Revision::new(6)).await.unwrap();
    let status = world.list(&format!("limit=2&continue={token}")).await.unwrap_err();
    assert!(status.is_expired() && status.message.starts_with("The provided continue parameter is too old"));
    let replacement = status.continue_token.unwrap();
    assert_eq!(ContinueToken::decode(&replacement).unwrap().at, None);
    let page = world.list(&format!("continue={replacement}")).await.unwrap();
    assert_eq!(shown(&page), "c,d,e @6");
    let status = world.list("resourceVersion=3&resourceVersionMatch=Exact").await.unwrap_err();
    assert_eq!(
        (status.code, status.message.as_str()),
        (410, "The resourceVersion for the provided list is too old.")
    );
}

#[tokio::test(start_paused = true)]
async fn invalid_requests_are_refused() {
    let world = World::four().await;
    for (query, code) in [
        ("continue=bogus!", 400),
        ("continue=e30", 400),
        ("fieldSelector=spec.bogus%3D1", 400),
        ("resourceVersionMatch=Exact", 422),
    ] {
        assert_eq!(world.list(query).await.unwrap_err().code, code, "{query}");
    }
    let token = world.list("limit=1").await.unwrap().continue_token.unwrap();
    let status = world.list(&format!("continue={token}&resourceVersion=3")).await.unwrap_err();
    assert_eq!(status.message, "specifying resource version is not allowed when using continue");
}

#[tokio::test(start_paused = true)]
async fn a_version_of_the_future_is_waited_for_and_then_refused() {
    let world = World::four().await;
    let start = Instant::now();
    let status = world.list("resourceVersion=6").await.unwrap_err();
    assert_eq!((status.code, start.elapsed().as_secs()), (504, 3));
    assert_eq!(status.message, "Timeout: Too large resource version: 6, current: 5");
    assert!(status.is_too_large_resource_version());
    let (page, _) = tokio::join!(world.list("resourceVersion=6"), world.put("e", json!({}), ""));
    assert_eq!(shown(&page.unwrap()), "a,b,c,d,e @6");
}

#[tokio::test(start_paused = true)]
async fn a_watch_without_a_version_begins_with_the_current_objects() {
    let world = World::four().await;
    for query in ["", "resourceVersion=0"] {
        let mut watch = world.watch(query).await;
        assert_eq!(step(&mut watch).await, "initial a@2,b@3,c@4,d@5", "{query}");
    }
    let mut watch = world
        .watch("sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true")
        .await;
    assert_eq!(step(&mut watch).await, "initial a@2,b@3,c@4,d@5");
    assert_eq!(step(&mut watch).await, "initial end @5");
    let mut late = world.watch("resourceVersion=4").await;
    assert_eq!(step(&mut late).await, "ADDED d@5");
    let mut newest = world.watch("sendInitialEvents=false&resourceVersionMatch=NotOlderThan").await;
    world.put("a", json!({}), "z").await;
    world.delete("b").await;
    assert_eq!(step(&mut newest).await, "MODIFIED a@6, DELETED b@7");
    assert_eq!(step(&mut watch).await, "MODIFIED a@6, DELETED b@7");
}

#[tokio::test(start_paused = true)]
async fn leaving_the_selection_is_a_deletion_and_entering_it_an_addition() {
    let world = World::four().await;
    let mut watch = world.watch("resourceVersion=5&labelSelector=app%3Dweb").await;
    world.put("a", json!({"app": "web"}), "").await;
    world.put("c", json!({}), "other").await;
    world.put("b", json!({}), "").await;
    assert_eq!(step(&mut watch).await, "ADDED a@6, DELETED b@8");
    let mut fields = world.watch("resourceVersion=5&fieldSelector=spec.nodeName%3Dc").await;
    assert_eq!(step(&mut fields).await, "DELETED c@7");
}

#[tokio::test(start_paused = true)]
async fn bookmarks_come_about_every_minute_and_shortly_before_the_end() {
    let world = World::four().await;
    let start = Instant::now();
    let mut watch = world.watch("resourceVersion=5&allowWatchBookmarks=true&timeoutSeconds=70").await;
    assert_eq!(step(&mut watch).await, "bookmark @5");
    assert!((45..=60).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());
    assert_eq!(step(&mut watch).await, "bookmark @5");
    assert_eq!(start.elapsed().as_secs(), 68);
    assert_eq!(step(&mut watch).await, "end");
    assert_eq!(start.elapsed().as_secs(), 70);
}

#[tokio::test(start_paused = true)]
async fn a_watch_without_a_timeout_ends_after_30_to_60_minutes() {
    let world = World::four().await;
    let start = Instant::now();
    assert_eq!(step(&mut world.watch("resourceVersion=5").await).await, "end");
    assert!((1800..3600).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_watch_from_a_compacted_version_ends_with_an_error() {
    let world = World::four().await;
    world.store.compact(Revision::new(5)).await.unwrap();
    let mut watch = world.watch("resourceVersion=2").await;
    assert_eq!(step(&mut watch).await, "410 too old resource version: 2 (5)");
    assert_eq!(step(&mut watch).await, "end");
}

#[tokio::test(start_paused = true)]
async fn a_watcher_that_falls_behind_the_history_ends_with_an_error() {
    let world = World::four().await;
    let mut watch = world.watch("resourceVersion=5").await;
    for _ in 0..3 {
        world.put("a", json!({}), "").await;
    }
    world.store.compact(Revision::new(8)).await.unwrap();
    let last = step(&mut watch).await;
    assert!(last.starts_with("410 too old resource version: 5 ("), "{last}");
    assert_eq!(step(&mut watch).await, "end");
}

#[tokio::test(start_paused = true)]
async fn a_watch_of_a_future_version_waits_for_what_comes_after_it() {
    let world = World::four().await;
    let mut watch = world.watch("resourceVersion=6").await;
    world.put("e", json!({}), "").await;
    world.put("f", json!({}), "").await;
    assert_eq!(step(&mut watch).await, "ADDED f@7");
}

#[tokio::test(start_paused = true)]
async fn a_source_in_process_lists_and_watches_as_a_server_does() {
    use futures_util::StreamExt as _;
    let world = World::four().await;
    let source = StoreSource::new(world.reader.clone(), world.scope()).labels(&"app=web".parse().unwrap());
    let parts: Vec<_> = source.list(ListRequest::default()).map(Result::unwrap).collect().await;
    assert_eq!(parts.len(), 3);
    let mut watch = source.watch(WatchRequest::new(WatchFrom::After(5.into()))).await.unwrap();
    world.put("b", json!({}), "").await;
    let event = tokio::time::timeout(Duration::from_secs(1), watch.next()).await.unwrap().unwrap().unwrap();
    assert_eq!((event.kind().to_string().as_str(), event.version()), ("DELETED", &6.into()));
}
