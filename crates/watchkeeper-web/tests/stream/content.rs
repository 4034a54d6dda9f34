//! Content of a stream: rows and objects, added, changed and removed.

use serde_json::{Value, json};
use watchkeeper_client::rest::PatchKind;

use crate::reader::{Reader, View};
use crate::world::{World, maps};

#[tokio::test]
async fn rows_follow_their_columns_and_are_updated_and_removed() {
    let world = World::start().await;
    let made = world.create("one", "web").await;
    let mut reader = world.open(&[maps(&world, "a", "")]).await;
    let mut view = View::default();
    assert!(!reader.resumed);
    let first = reader.next().await;
    assert_eq!(first.event, "columns");
    view.see(&first);
    let columns = view.columns["a"].clone();
    assert_eq!((&columns[0]["name"], &columns[0]["type"]), (&json!("Name"), &json!("string")));
    let age = columns.as_array().unwrap().last().unwrap();
    assert_eq!((&age["name"], &age["type"]), (&json!("Age"), &json!("date")));
    reader.until("synced", &mut view).await;
    let row = view.subs["a"][&world.key("one")].clone();
    let metadata = &made["metadata"];
    assert_eq!(row[0], world.key("one"));
    assert_eq!((&row[1], &row[2]), (&metadata["uid"], &metadata["resourceVersion"]));
    assert_eq!((&row[3], &row[4]), (&metadata["creationTimestamp"], &json!({"app": "web"})));
    let cells = row[5].as_array().unwrap();
    assert_eq!(cells.len(), columns.as_array().unwrap().len());
    assert_eq!(cells[..], [json!("one"), json!(1), metadata["creationTimestamp"].clone()]);

    world.create("two", "web").await;
    reader.until_seen(&mut view, |view| view.keys("a").len() == 2).await;
    world.label("one", "db").await;
    let key = world.key("one");
    reader.until_seen(&mut view, |view| view.subs["a"][&key][4]["app"] == "db").await;
    assert_ne!(view.subs["a"][&key][2], row[2], "the version differs");
    world.delete("one").await;
    reader.until_seen(&mut view, |view| view.keys("a").len() == 1).await;
    assert_eq!(view.keys("a"), [world.key("two")]);
    world.stop().await;
}

/// Returns the query of the README's `curl -N .../v1/stream?...`.
fn readme_query() -> String {
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md")).unwrap();
    let command = readme.lines().find(|line| line.starts_with("curl -N ")).unwrap();
    let (_, query) = command.split('\'').nth(1).unwrap().split_once("/v1/stream").unwrap();
    query.to_owned()
}

#[tokio::test]
async fn the_command_of_the_readme_shows_pods_as_they_change() {
    let world = World::start().await;
    let shop = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}});
    world.cluster.create(shop).await.unwrap();
    let pod = |name: &str| {
        let metadata = json!({"name": name, "namespace": "shop"});
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [{"name": "a", "image": "b"}]}})
    };
    world.cluster.create(pod("cart")).await.unwrap();
    let (mut reader, mut view) = (Reader::open(world.address, &readme_query(), None).await, View::default());
    reader
        .until_seen(&mut view, |view| {
            view.subs.get("pods").is_some_and(|pods| pods.contains_key("shop/cart"))
        })
        .await;
    world.cluster.create(pod("web")).await.unwrap();
    reader.until_seen(&mut view, |view| view.subs["pods"].contains_key("shop/web")).await;
    let refused = Reader::try_open(world.address, "?resource=pods&labels=a", None).await.err().unwrap();
    assert_eq!((refused.0, refused.1.contains("unknown field `labels`")), (400, true), "{refused:?}");
    world.stop().await;
}

#[tokio::test]
async fn cluster_scoped_resources_ignore_the_namespace() {
    let world = World::start().await;
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}});
    world.cluster.create(node).await.unwrap();
    let nodes = json!({"id": "nodes", "resource": "nodes", "namespace": world.namespace()});
    let (mut reader, mut view) = (world.open(&[nodes]).await, View::default());
    reader.until("synced", &mut view).await;
    assert_eq!(view.keys("nodes"), ["n1"]);
    world.stop().await;
}

#[tokio::test]
async fn unknown_fields_are_named() {
    let world = World::start().await;
    let mut wrong = maps(&world, "a", "");
    wrong["fieldSelector"] = "data.of=one,spec.nodename=x".into();
    let (mut reader, mut view) = (world.open(&[wrong]).await, View::default());
    let failed = reader.until("failed", &mut view).await;
    let expected =
        json!({"sub": "a", "message": "fieldSelector: unknown field \"spec\" of ConfigMap", "status": 400});
    assert_eq!(failed.data, expected);
    world.stop().await;
}

#[tokio::test]
async fn secrets_are_not_streamed_unless_they_are_cached() {
    let world = World::start().await;
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"password": "aHVudGVyMg=="}});
    world.cluster.create(secret).await.unwrap();
    for form in ["row", "object"] {
        let secrets = json!({"id": "a", "resource": "secrets", "as": form});
        let failed = world.open(&[secrets]).await.until("failed", &mut View::default()).await;
        assert_eq!(failed.data["status"], 403, "{failed:?}");
        assert!(failed.data["message"].as_str().unwrap().contains("--cache-secrets"), "{failed:?}");
    }
    world.stop().await;
}

#[tokio::test]
async fn rows_have_the_health_of_the_tree() {
    let world = World::start().await;
    world.create("one", "web").await;
    let crashing = json!({"phase": "Running", "conditions": [{"type": "ContainersReady", "status": "True"}],
        "containerStatuses": [{"name": "a", "image": "b", "imageID": "", "ready": false, "restartCount": 3,
            "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]});
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": world.namespace()},
        "spec": {"containers": [{"name": "a", "image": "b"}]}});
    world.cluster.create(pod).await.unwrap();
    let pods = world.client.dynamic(&"v1".parse().unwrap(), "pods").namespace(world.namespace());
    let status = json!({"status": crashing});
    pods.patch_status("web", PatchKind::Merge, &status, &Default::default()).await.unwrap();
    let subs = [json!({"id": "pods", "resource": "pods"}), maps(&world, "maps", "")];
    let (mut reader, mut view) = (world.open(&subs).await, View::default());
    let key = world.key("web");
    reader
        .until_seen(&mut view, |view| view.synced.len() == 2 && view.subs["pods"][&key][6] == "degraded")
        .await;
    assert_eq!(view.subs["maps"][&world.key("one")][6], Value::Null, "config maps have no health");
    world.stop().await;
}

#[tokio::test]
async fn objects_enter_and_leave_a_filter() {
    let world = World::start().await;
    world.create("one", "web").await;
    world.create("two", "db").await;
    let mut by_field = maps(&world, "field", "");
    by_field["fieldSelector"] = "data.of=one,metadata.name!=two".into();
    let mut by_name = maps(&world, "name", "");
    by_name["name"] = "two".into();
    let mut elsewhere = maps(&world, "elsewhere", "");
    elsewhere["namespace"] = "nowhere".into();
    let subs = [maps(&world, "label", "app=web"), by_field, by_name, elsewhere];
    let (mut reader, mut view) = (world.open(&subs).await, View::default());
    reader.until_seen(&mut view, |view| view.synced.len() == 4).await;
    let [one, two] = ["one", "two"].map(|name| world.key(name));
    assert_eq!(
        (view.keys("label"), view.keys("field"), view.keys("name")),
        (vec![&*one], vec![&*one], vec![&*two])
    );
    assert_eq!(view.keys("elsewhere"), [""; 0]);

    world.label("one", "db").await;
    reader.until_seen(&mut view, |view| view.keys("label").is_empty()).await;
    world.label("two", "web").await;
    reader.until_seen(&mut view, |view| view.keys("label") == [&*two]).await;
    world.merge("one", &json!({"data": {"of": "none"}})).await;
    reader.until_seen(&mut view, |view| view.keys("field").is_empty()).await;
    assert_eq!((view.keys("name"), view.keys("elsewhere").len()), (vec![&*two], 0));
    world.stop().await;
}

#[tokio::test]
async fn objects_are_sent_whole() {
    let world = World::start().await;
    let mut made = world.create("one", "web").await;
    made["metadata"].as_object_mut().unwrap().remove("managedFields");
    let mut one = maps(&world, "a", "");
    (one["name"], one["as"]) = ("one".into(), "object".into());
    let (mut reader, mut view) = (world.open(&[one]).await, View::default());
    reader.until("synced", &mut view).await;
    let key = world.key("one");
    let mut seen = view.subs["a"][&key].clone();
    seen["metadata"].as_object_mut().unwrap().remove("managedFields");
    assert_eq!(seen, made);
    assert!(view.columns.is_empty());
    world.merge("one", &json!({"data": {"of": "line\nbreaks"}})).await;
    reader.until_seen(&mut view, |view| view.subs["a"][&key]["data"]["of"] == "line\nbreaks").await;
    world.delete("one").await;
    reader.until_seen(&mut view, |view| view.keys("a").is_empty()).await;
    world.stop().await;
}

#[tokio::test]
async fn replacing_the_set_keeps_unchanged_subscriptions() {
    let world = World::start().await;
    world.create("one", "web").await;
    let (mut reader, mut view) = (world.open(&[]).await, View::default());
    let [all, web, db] =
        [("all", ""), ("some", "app=web"), ("some", "app=db")].map(|(id, labels)| maps(&world, id, labels));
    world.subscribe(&reader.stream, &[all.clone(), web]).await;
    reader.until_seen(&mut view, |view| view.synced.len() == 2).await;
    assert_eq!(view.keys("some").len(), 1);

    world.subscribe(&reader.stream, &[db, all]).await;
    let first = reader.next().await;
    assert_eq!((first.event.as_str(), &first.data), ("reset", &json!({"sub": "some"})));
    view.see(&first);
    reader.until("synced", &mut view).await;
    assert_eq!((view.keys("all").len(), view.keys("some").len()), (1, 0));
    world.create("two", "db").await;
    reader.until_seen(&mut view, |view| view.keys("all").len() == 2 && view.keys("some").len() == 1).await;
    world.subscribe(&reader.stream, &[]).await;
    world.create("three", "db").await;
    let nodes = json!({"id": "namespaces", "resource": "namespaces"});
    world.subscribe(&reader.stream, &[nodes]).await;
    let mut others = View::default();
    reader.until("synced", &mut others).await;
    assert_eq!(
        others.subs.keys().collect::<Vec<_>>(),
        ["namespaces"],
        "nothing of the removed subscriptions"
    );
    assert!(others.keys("namespaces").contains(&world.namespace()));
    world.stop().await;
}

#[tokio::test]
async fn large_content_is_sent_in_batches() {
    let world = World::start().await;
    for number in 0..1_203 {
        let map =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("m-{number}")}});
        world.cluster.create(map).await.unwrap();
    }
    let (mut reader, mut view) = (world.open(&[maps(&world, "a", "")]).await, View::default());
    let synced = reader.until("synced", &mut view).await;
    assert_eq!((synced.data["count"].as_u64(), reader.last), (Some(1_203), 1 + 3 + 1));
    world.stop().await;
}

#[tokio::test]
async fn failed_subscriptions_do_not_affect_others() {
    let world = World::start().await;
    world.create("one", "web").await;
    let (mut reader, mut view) = (world.open(&[maps(&world, "good", "")]).await, View::default());
    reader.until("synced", &mut view).await;
    let sub = |id: &str, resource: &str, labels: &str| json!({"id": id, "resource": resource, "labelSelector": labels});
    let subs = [
        maps(&world, "good", ""),
        sub("unknown", "podz", ""),
        sub("secret", "secrets", ""),
        sub("bad", "pods", "a in b"),
    ];
    world.subscribe(&reader.stream, &subs).await;
    reader.until_seen(&mut view, |view| view.failed.len() == 3).await;
    let status = |id: &str| view.failed[id].0;
    assert_eq!((status("unknown"), status("secret"), status("bad")), (404, 403, 400));
    assert!(view.failed["unknown"].1.contains("podz"), "{:?}", view.failed);
    world.create("two", "web").await;
    reader.until_seen(&mut view, |view| view.keys("good").len() == 2).await;
    world.stop().await;
}

#[tokio::test]
async fn a_replaced_informer_resets_the_subscription() {
    let world = World::start().await;
    world.create("one", "web").await;
    let (mut reader, mut view) = (world.open(&[maps(&world, "a", "")]).await, View::default());
    reader.until("synced", &mut view).await;
    let catalog = world.service.catalog();
    let collection = watchkeeper_core::Collection::CONFIG_MAPS;
    catalog.factory().stop_informer(&collection).await;
    world.create("two", "web").await;
    let first = reader.next().await;
    assert_eq!((first.event.as_str(), &first.data), ("reset", &json!({"sub": "a"})));
    view.see(&first);
    assert_eq!(reader.next().await.event, "columns");
    reader.until("synced", &mut view).await;
    assert_eq!(view.keys("a"), [world.key("one"), world.key("two")]);
    world.stop().await;
}

#[tokio::test]
async fn removing_a_definition_fails_its_subscription() {
    let world = World::start().await;
    let definitions =
        world.client.dynamic(&"apiextensions.k8s.io/v1".parse().unwrap(), "customresourcedefinitions");
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let column = json!({"name": "Size", "type": "integer", "jsonPath": ".spec.size", "priority": 1});
    let definition: Value = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "boats.sea.example.com"},
        "spec": {"group": "sea.example.com", "scope": "Namespaced", "names": {"plural": "boats", "kind": "Boat"},
                 "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
                               "additionalPrinterColumns": [column]}]}});
    definitions.create(&serde_json::from_value(definition).unwrap(), &Default::default()).await.unwrap();
    let boats =
        world.client.dynamic(&"sea.example.com/v1".parse().unwrap(), "boats").namespace(world.namespace());
    let boat = json!({"apiVersion": "sea.example.com/v1", "kind": "Boat", "metadata": {"name": "b"}, "spec": {"size": 3}});
    let boat = serde_json::from_value(boat).unwrap();
    // A definition is served shortly after it was created.
    while let Err(error) = boats.create(&boat, &Default::default()).await {
        assert!(error.is_not_found(), "{error}");
        tokio::task::yield_now().await;
    }
    let sub = json!({"id": "a", "resource": "boats", "group": "sea.example.com"});
    let (mut reader, mut view) = (world.open(&[sub]).await, View::default());
    reader.until("synced", &mut view).await;
    assert_eq!(view.keys("a"), [world.key("b")]);
    assert_eq!(
        view.columns["a"][1],
        json!({"name": "Size", "type": "integer", "priority": 1, "role": null,
        "description": "Custom resource definition column (in JSONPath format): .spec.size"})
    );
    assert_eq!(view.subs["a"][&world.key("b")][5], json!(["b", 3]));
    definitions.delete("boats.sea.example.com", &Default::default()).await.unwrap();
    let failed = reader.until("failed", &mut view).await;
    assert_eq!(failed.data["status"], 404);
    world.stop().await;
}
