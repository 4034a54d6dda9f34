//! A collection of the embedded server as a `ListWatch`, in both encodings.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::error::Error;
use std::num::NonZeroU32;

use futures_util::{StreamExt as _, TryStreamExt as _};
use serde_json::json;
use watchkeeper_apiserver::faults::{Fault, Requests};
use watchkeeper_apiserver::http::Verb;
use watchkeeper_apiserver::server::ApiServer;
use watchkeeper_client::rest::Content;
use watchkeeper_client::source::RestSource;
use watchkeeper_client::{RestClient, Transport};
use watchkeeper_core::{
    Encoding, ListAt, ListError, ListMeta, ListPart, ListRequest, ListWatch, Object, WatchError, WatchEvent,
    WatchFrom, WatchRequest,
};
use watchkeeper_wire::Kind;

struct World {
    server: ApiServer,
    core: RestClient,
}

impl World {
    async fn start(content: Content) -> Self {
        let server = ApiServer::builder().start().await.unwrap();
        let transport = Transport::from_config(&support::config(&server)).unwrap();
        let core = RestClient::for_group_version(transport, &"v1".parse().unwrap(), content);
        Self { server, core }
    }

    fn config_maps(&self) -> RestSource {
        RestSource::new(self.core.clone(), "configmaps", Kind::new("", "v1", "ConfigMap"))
    }

    async fn create(&self, namespace: &str, name: &str, tier: &str) {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "labels": {"tier": tier}}, "data": {"k": name}});
        self.core.post().namespace(namespace).resource("configmaps").object(&object).send().await.unwrap();
    }
}

async fn list_all(source: &RestSource, request: ListRequest) -> Result<(Vec<Object>, ListMeta), ListError> {
    let parts: Vec<ListPart> = source.list(request).try_collect().await?;
    let mut items = Vec::new();
    for part in parts {
        match part {
            ListPart::Item(object) => items.push(object),
            ListPart::End(end) => return Ok((items, end)),
        }
    }
    panic!("the list has no end")
}

fn names(items: &[Object]) -> Vec<String> {
    items.iter().map(|object| object.metadata.key().to_string()).collect()
}

#[tokio::test]
async fn a_collection_is_listed_by_pages_and_selectors_in_both_encodings() {
    for (content, encoding) in [(Content::json(), Encoding::Json), (Content::protobuf(), Encoding::Protobuf)]
    {
        let world = World::start(content).await;
        for (namespace, name, tier) in
            [("default", "a", "x"), ("default", "b", "y"), ("kube-system", "c", "x")]
        {
            world.create(namespace, name, tier).await;
        }
        let source = world.config_maps();
        let (items, end) = list_all(&source, ListRequest::default()).await.unwrap();
        assert_eq!(names(&items), ["default/a", "default/b", "kube-system/c"]);
        assert!(items.iter().all(|object| object.encoded.encoding == encoding));
        assert!(!end.resource_version.is_empty() && end.continue_token.is_none());

        let page = ListRequest { at: ListAt::MostRecent, limit: NonZeroU32::new(2) };
        let (first, end) = list_all(&source, page).await.unwrap();
        assert_eq!((first.len(), end.remaining_item_count), (2, Some(1)));
        let rest = ListRequest { at: ListAt::Page(end.continue_token.unwrap()), limit: None };
        assert_eq!(names(&list_all(&source, rest).await.unwrap().0), ["kube-system/c"]);

        let some = source.clone().namespace("default").labels("tier=x".parse().unwrap());
        assert_eq!(names(&list_all(&some, ListRequest::default()).await.unwrap().0), ["default/a"]);
        let one = source.fields("metadata.name=c".parse().unwrap());
        assert_eq!(names(&list_all(&one, ListRequest::default()).await.unwrap().0), ["kube-system/c"]);
        world.server.stop().await;
    }
}

#[tokio::test]
async fn a_collection_is_watched_from_its_list_in_both_encodings() {
    for content in [Content::json(), Content::protobuf()] {
        let world = World::start(content).await;
        let source = world.config_maps().namespace("default");
        world.create("default", "old", "x").await;
        let mut watch =
            source.watch(WatchRequest::new(WatchFrom::InitialEvents { not_older_than: None })).await.unwrap();
        let WatchEvent::Added(old) = watch.next().await.unwrap().unwrap() else { panic!() };
        assert_eq!(old.metadata.key().name(), "old");
        let WatchEvent::Bookmark(bookmark) = watch.next().await.unwrap().unwrap() else { panic!() };
        assert!(bookmark.initial_events_end && !bookmark.version.is_empty());

        world.create("default", "new", "x").await;
        let WatchEvent::Added(new) = watch.next().await.unwrap().unwrap() else { panic!() };
        assert_eq!(new.metadata.key().name(), "new");
        let delete = world.core.delete().namespace("default").resource("configmaps").name("new");
        delete.send().await.unwrap();
        let WatchEvent::Deleted(gone) = watch.next().await.unwrap().unwrap() else { panic!() };
        assert!(
            gone.metadata
                .resource_version()
                .compare(new.metadata.resource_version())
                .is_ok_and(std::cmp::Ordering::is_gt)
        );

        // An expired version is reported as an error event, or when the watch is opened.
        world.server.compact().await.unwrap();
        let after = WatchRequest::new(WatchFrom::After(old.metadata.resource_version().clone()));
        let outcome = match source.watch(after).await {
            Ok(mut watch) => watch.next().await.unwrap().map(|_| ()),
            Err(error) => Err(error),
        };
        assert!(matches!(outcome, Err(WatchError::Expired(_))), "{outcome:?}");
        world.server.stop().await;
    }
}

#[tokio::test]
async fn interruptions_are_reported_as_such() {
    let world = World::start(Content::protobuf()).await;
    for number in 0..50 {
        world.create("default", &format!("m{number}"), "x").await;
    }
    let source = world.config_maps();
    let faults = world.server.faults();

    let cut = faults.add(Fault::on(Verb::List).resource("configmaps").cut().times(1));
    let error = list_all(&source, ListRequest::default()).await.unwrap_err();
    let ListError::Interrupted(why) = error else { panic!("{error:?}") };
    let request = "GET /api/v1/configmaps";
    assert_eq!(with_cause(&*why), format!("{request} failed: connection lost while reading the response"));
    assert_eq!(cut.hits(), 1);

    faults.add(Fault::on(Verb::List).resource("configmaps").answer(410).times(1));
    assert!(matches!(list_all(&source, ListRequest::default()).await, Err(ListError::Expired(_))));

    let mut watch = source.watch(WatchRequest::new(WatchFrom::After("0".into()))).await.unwrap();
    for _ in 0..50 {
        assert!(matches!(watch.next().await, Some(Ok(WatchEvent::Added(_)))));
    }
    faults.wait_for_watches(&Requests::any(), 1).await;
    assert_eq!(faults.cut_watches(&Requests::any()), 1);
    world.create("default", "last", "x").await;
    let mut last = None;
    while let Some(event) = watch.next().await {
        last = Some(event);
    }
    let Some(Err(WatchError::Interrupted(why))) = last else { panic!("{last:?}") };
    assert_eq!(with_cause(&*why), format!("{request} failed: connection lost while reading the response"));

    world.server.stop().await;
    let error = list_all(&source, ListRequest::default()).await.unwrap_err();
    let ListError::ConnectionRefused(why) = error else { panic!("{error:?}") };
    assert!(with_cause(&*why).starts_with(&format!("{request} failed: failed to connect to ")), "{why}");
}

/// Returns the message of an error and of its cause.
fn with_cause(error: &(dyn Error + Send + Sync + 'static)) -> String {
    format!("{error}: {}", error.source().unwrap())
}
