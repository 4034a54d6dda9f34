//! Watches in every encoding and shape.

use serde_json::{Value, json};
use watchkeeper_wire::Kind;

use crate::world::World;
use crate::{MAPS, PROTOBUF, TABLE, decoded};

#[tokio::test]
async fn a_watch_comes_as_lines_and_as_tables_with_headers_only_at_first() {
    let (world, version) = World::maps().await;
    let mut lines = world.watch(&format!("resourceVersion={version}"), "").await;
    let mut tables = world.watch("allowWatchBookmarks=true&fieldSelector=metadata.name%3Da", TABLE).await;
    world.write("PATCH", &format!("{MAPS}/a"), json!({"data": {"k": "z"}})).await;
    world.write("DELETE", &format!("{MAPS}/a"), Value::Null).await;
    let event = lines.json().await.unwrap();
    assert_eq!(
        (&event["type"], &event["object"]["kind"], &event["object"]["data"]["k"]),
        (&json!("MODIFIED"), &json!("ConfigMap"), &json!("z"))
    );
    assert_eq!(lines.json().await.unwrap()["type"], "DELETED");
    let first = tables.json().await.unwrap();
    assert_eq!((&first["type"], &first["object"]["kind"]), (&json!("ADDED"), &json!("Table")));
    assert!(first["object"]["columnDefinitions"].is_array());
    let end = tables.json().await.unwrap();
    assert_eq!((&end["type"], &end["object"]["columnDefinitions"]), (&json!("BOOKMARK"), &Value::Null));
    let annotations = &end["object"]["rows"][0]["object"]["metadata"]["annotations"];
    assert_eq!(annotations["k8s.io/initial-events-end"], "true");
    let changes =
        [tables.json().await.unwrap()["type"].clone(), tables.json().await.unwrap()["type"].clone()];
    assert_eq!(changes, ["MODIFIED", "DELETED"]);
    world.server.stop().await;
    assert!(lines.json().await.is_none(), "a watch ends with its server");
}

#[tokio::test]
async fn a_watch_in_protobuf_is_frames_of_envelopes() {
    let (world, version) = World::maps().await;
    let mut frames = world.watch(&format!("resourceVersion={version}"), PROTOBUF).await;
    world.write("DELETE", &format!("{MAPS}/b"), Value::Null).await;
    let message = frames.message().await;
    assert!(message.starts_with(b"\x0a\x07DELETED\x12"), "{message:?}");
    let start = message.windows(4).position(|window| window == b"k8s\0").unwrap();
    assert_eq!(decoded(&message[start..], &Kind::new("", "v1", "ConfigMap"))["metadata"]["name"], "b");
    world.server.stop().await;
}

#[tokio::test]
async fn each_watch_reports_a_change_relative_to_its_selector() {
    let (world, version) = World::maps().await;
    let from = format!("resourceVersion={version}");
    let mut watches = Vec::new();
    for selector in ["", "&labelSelector=name%3Dz", "&labelSelector=name%3Db", "&labelSelector=name"] {
        for accept in ["", PROTOBUF] {
            watches.push(world.watch(&format!("{from}{selector}"), accept).await);
        }
    }
    let label = json!({"metadata": {"labels": {"name": "z"}}});
    world.write("PATCH", &format!("{MAPS}/b"), label).await;
    let mut seen = Vec::new();
    for pair in watches.chunks_mut(2) {
        let event = pair[0].json().await.unwrap();
        let kind = event["type"].as_str().unwrap().to_owned();
        let message = pair[1].message().await;
        assert_eq!(&message[2..2 + kind.len()], kind.as_bytes());
        seen.push(format!("{kind} {}", event["object"]["metadata"]["labels"]["name"].as_str().unwrap()));
    }
    assert_eq!(seen, ["MODIFIED z", "ADDED z", "DELETED b", "MODIFIED z"]);
    world.server.stop().await;
}

#[tokio::test]
async fn a_watch_from_a_compacted_version_is_a_200_with_one_error_event() {
    let (world, _) = World::maps().await;
    let store = world.server.store();
    store.compact(store.current().await.unwrap()).await.unwrap();
    for accept in ["", PROTOBUF] {
        let mut watch = world.watch("resourceVersion=2", accept).await;
        if accept == PROTOBUF {
            assert!(watch.message().await.starts_with(b"\x0a\x05ERROR\x12"));
        } else {
            let event = watch.json().await.unwrap();
            assert_eq!(
                (&event["type"], &event["object"]["code"], &event["object"]["reason"]),
                (&json!("ERROR"), &json!(410), &json!("Expired"))
            );
            assert!(watch.json().await.is_none());
        }
    }
    world.server.stop().await;
}

#[tokio::test]
async fn a_watch_from_version_1_begins_with_the_first_change() {
    let (world, _) = World::maps().await;
    let mut watch = world.watch("resourceVersion=1&timeoutSeconds=30", "").await;
    let first = watch.json().await.unwrap();
    assert_eq!((&first["type"], &first["object"]["metadata"]["name"]), (&json!("ADDED"), &json!("a")));
    drop(watch);
    world.server.stop().await;
}
