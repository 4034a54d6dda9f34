//! Informers of the embedded server in the same process, compared with informers over the network.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use watchkeeper_cache::handler::SubscriptionOptions;
use watchkeeper_cache::{Informer, InformerFactory, Keep};
use watchkeeper_client::dynamic::DynamicObject;
use watchkeeper_core::{Collection, LabelSelector, ResourceVersion};

use crate::{PATIENCE, World, config_maps};

/// Returns the objects of an informer by key, without the fields that the client prunes.
fn held(informer: &Informer) -> BTreeMap<String, Value> {
    let listed = informer.reader::<Value>(Keep::Encoded).list(&LabelSelector::default());
    let objects = listed.items().unwrap().into_iter().map(|object| {
        let mut object = (*object).clone();
        let metadata = object["metadata"].as_object_mut().unwrap();
        metadata.remove("managedFields");
        (format!("{}/{}", metadata.get("namespace").unwrap_or(&Value::Null), metadata["name"]), object)
    });
    objects.collect()
}

/// Waits until an informer has an object with this version.
async fn has(informer: &Informer, version: &ResourceVersion) {
    let mut changes = informer.subscribe(SubscriptionOptions::default());
    while let Some(change) = changes.next().await {
        if change.newest().metadata.resource_version() == version {
            return;
        }
    }
}

#[tokio::test]
async fn an_in_process_informer_equals_one_over_the_network() {
    let world = World::start().await;
    let (here, there) =
        (world.cluster.namespace().to_owned(), world.cluster.fresh_namespace().await.unwrap());
    for name in ["a", "b"] {
        world.create(name, "web").await;
    }
    let events = world.client.dynamic(&"v1".parse().unwrap(), "events").namespace(&here);
    let mut event = DynamicObject::new("v1", "Event", "e");
    event.set(&["involvedObject"], json!({"kind": "Pod", "namespace": here, "name": "p"}));
    event.set(&["message"], "it is so".into());
    events.create(&event, &Default::default()).await.unwrap();

    let services = Collection::SERVICES;
    let collections = [
        config_maps(),
        config_maps().metadata_only(),
        config_maps().namespaces([&here, &there]),
        config_maps().labels(&"app=web".parse().unwrap()),
        config_maps().fields(&"metadata.name=b".parse().unwrap()),
        services,
        Collection::NAMESPACES,
        Collection::EVENTS,
    ];
    let near = InformerFactory::new(world.cluster.server().sources());
    let far = InformerFactory::new(world.client.clone());
    let pairs =
        collections.each_ref().map(|collection| (near.informer(collection), far.informer(collection)));
    for factory in [&near, &far] {
        factory.start();
        factory.wait_until_ready(PATIENCE).await.unwrap();
    }
    world.change("a", &json!({"x": "1"})).await;
    world.maps().delete("b", &Default::default()).await.unwrap();
    world.maps().delete("a", &Default::default()).await.unwrap();
    let last: ResourceVersion = world.create("b", "web").await.resource_version().into();
    for (near, far) in &pairs[..5] {
        for informer in [near, far] {
            tokio::time::timeout(PATIENCE, has(informer, &last)).await.unwrap();
        }
    }
    for ((near, far), collection) in pairs.iter().zip(&collections) {
        assert_eq!(held(near), held(far), "{collection}");
        assert!(!held(near).is_empty(), "{collection}");
    }
    assert_eq!(held(&pairs[7].0).values().next().unwrap()["note"], "it is so", "converted to this version");
    near.stop().await;
    far.stop().await;
    world.cluster.stop().await;
}

#[tokio::test]
async fn an_unknown_resource_is_not_found_in_process_either() {
    let world = World::start().await;
    let factory = InformerFactory::new(world.cluster.server().sources());
    let widgets = Collection::new("example.com", "v1", "widgets", "Widget");
    factory.informer(&widgets);
    factory.start();
    assert_eq!(
        factory.wait_until_ready(Duration::from_millis(200)).await.unwrap_err().collections(),
        [&widgets]
    );
    factory.stop().await;
    world.cluster.stop().await;
}
