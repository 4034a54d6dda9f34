//! Field pruning: over the network in both encodings, and for in-process sources.

use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use watchkeeper_cache::source::{Page, from_closures};
use watchkeeper_cache::{Informer, InformerFactory, transform};
use watchkeeper_client::resource::ApplyOptions;
use watchkeeper_client::rest::Content;
use watchkeeper_core::{Encoded, Encoding, ListMeta, ListWatch, Object, ObjectMetaBuilder};
use watchkeeper_wire::{FieldPath, Kind, Paths, ReadOptions};

use crate::{PATIENCE, World, config_maps, kept};

fn paths<const N: usize>(texts: [&str; N]) -> [FieldPath; N] {
    texts.map(|text| text.parse().unwrap())
}

/// Applies a map with two data fields, so that it has managedFields.
async fn apply(world: &World, name: &str, extra: &str) {
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"app": "web"}},
        "data": {"a": "1", "b": extra}, "immutable": false});
    let options = ApplyOptions { field_manager: "tests".into(), force: false, dry_run: false };
    world.maps().apply_object(&map, &options).await.unwrap();
}

/// Waits for the map `last`, and returns the encoding and JSON of all test maps in an informer, with the metadata reduced
/// to name, labels and whether there are managedFields.
async fn taken_in(world: &World, maps: &Informer, last: &str) -> Vec<(Encoding, Value)> {
    let reach = async {
        while !kept(maps.store()).values().any(|map| map["metadata"]["name"] == last) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, reach).await.unwrap();
    let kind = Kind::new("", "v1", "ConfigMap");
    let now = maps.store().snapshot();
    let ours = now.in_namespace(world.cluster.namespace());
    ours.map(|map| {
        let mut value: Value = watchkeeper_wire::decode(&map.encoded, &kind).unwrap();
        let metadata = &value["metadata"];
        value["metadata"] =
            json!([metadata["name"], metadata["labels"], metadata.get("managedFields").is_some()]);
        assert_eq!(map.metadata.label("app"), Some("web"));
        (map.encoded.encoding, value)
    })
    .collect()
}

#[tokio::test]
async fn an_intake_prunes_fields_of_lists_and_events_in_both_encodings() {
    let world = World::start().await;
    let table = [
        (ReadOptions::default(), (false, json!({"data": {"a": "1", "b": "2"}, "immutable": false}))),
        (
            ReadOptions { cut: Paths::none(), ..ReadOptions::default() },
            (true, json!({"data": {"a": "1", "b": "2"}, "immutable": false})),
        ),
        (ReadOptions::dropping(paths(["data.b", "immutable"])), (false, json!({"data": {"a": "1"}}))),
        (ReadOptions::keeping(paths(["data.b"])), (false, json!({"data": {"b": "2"}}))),
    ];
    let whole = |name: &str, managed: bool, rest: &Value| {
        let mut whole = rest.clone();
        whole["metadata"] = json!([name, {"app": "web"}, managed]);
        whole["apiVersion"] = "v1".into();
        whole["kind"] = "ConfigMap".into();
        whole
    };
    apply(&world, "m0", "2").await;
    for (round, (read_options, (managed, rest))) in table.into_iter().enumerate() {
        let next = format!("m{}", round + 1);
        let mut informers = Vec::new();
        for content in [Content::json as fn() -> Content, Content::protobuf] {
            let read_options = read_options.clone();
            let sources = world
                .client
                .sources()
                .read_options(move |_| read_options.clone())
                .content(move |_| content());
            let factory = InformerFactory::new(sources);
            let maps = factory.informer(&config_maps());
            factory.start();
            factory.wait_until_ready(PATIENCE).await.unwrap();
            informers.push((factory, maps));
        }
        apply(&world, &next, "2").await;
        for ((factory, maps), encoding) in informers.into_iter().zip([Encoding::Json, Encoding::Protobuf]) {
            for (index, (found, map)) in taken_in(&world, &maps, &next).await.into_iter().enumerate() {
                let expected = whole(&format!("m{index}"), managed, &rest);
                assert_eq!((found, map), (encoding, expected), "{read_options:?}");
            }
            factory.stop().await;
        }
    }
    world.cluster.stop().await;
}

#[tokio::test]
async fn a_transform_prunes_fields_of_a_source_without_an_intake() {
    let world = World::start().await;
    apply(&world, "listed", "2").await;
    let kind = Kind::new("", "v1", "ConfigMap");
    let cut = ReadOptions::dropping(paths(["data.b"])).cut;
    let in_process = world.cluster.server().source("", "v1", "configmaps", None).unwrap();
    let maps = Informer::builder(kind.clone(), in_process)
        .configure(|reflector| reflector.transform(transform::cut(&kind, cut.clone()).unwrap()))
        .build();
    maps.start();
    assert!(maps.wait_until_ready().await);
    apply(&world, "watched", "2").await;
    for (_, map) in taken_in(&world, &maps, "watched").await {
        assert_eq!((&map["metadata"][2], &map["data"]), (&json!(false), &json!({"a": "1"})));
    }
    maps.stop().await;
    world.cluster.stop().await;
}

/// A source with one object that never changes.
fn one_widget() -> impl ListWatch + 'static {
    from_closures(
        |_| async {
            let head =
                ObjectMetaBuilder::default().name("w").version("7").uid("u").label("app", "web").finish();
            let body = br#"{"metadata":{"name":"w"},"spec":{"size":3,"colour":"red"}}"#;
            let end = ListMeta::new(7.into());
            Ok(Page { items: vec![Object { metadata: head, encoded: Encoded::json(*body) }], end })
        },
        |_| async { Ok(stream::pending().boxed()) },
    )
}

#[tokio::test]
async fn a_view_transform_is_stored_as_json_for_readers_and_handlers() {
    let kind = Kind::new("example.com", "v1", "Widget");
    let doubled = transform::view(kind.clone(), |widget: &mut Value| {
        let size = widget["spec"]["size"].as_i64().ok_or("it has no size")?;
        widget["spec"] = json!({"size": 2 * size});
        Ok(())
    });
    let widgets =
        Informer::builder(kind, one_widget()).configure(|reflector| reflector.transform(doubled)).build();
    let mut changes = widgets.subscribe(Default::default());
    widgets.start();
    let received = changes.next().await.unwrap();
    assert_eq!(&*received.newest().encoded.body, br#"{"metadata":{"name":"w"},"spec":{"size":6}}"#);
    assert_eq!(
        widgets.store().snapshot().select(&"app=web".parse().unwrap(), None),
        [received.newest().clone()]
    );
    widgets.stop().await;
}
