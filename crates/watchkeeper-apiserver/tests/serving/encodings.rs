//! Objects and lists in every encoding and shape.

use http::StatusCode;
use serde_json::{Value, json};
use watchkeeper_wire::Kind;

use crate::world::World;
use crate::{MAPS, PROTOBUF, TABLE, decoded, names};

#[tokio::test]
async fn an_object_comes_in_every_encoding_and_shape() {
    let (world, _) = World::maps().await;
    let one = format!("{MAPS}/a");
    let (code, headers, body) = world.bytes(&one, PROTOBUF).await;
    assert_eq!((code, &headers["content-type"]), (StatusCode::OK, &PROTOBUF.parse().unwrap()));
    assert_eq!(decoded(&body, &Kind::new("", "v1", "ConfigMap"))["data"]["k"], "a");
    let (_, _, body) = world.bytes(&one, "application/yaml").await;
    assert!(body.starts_with(b"apiVersion: v1\ndata:\n  k: a\nkind: ConfigMap\n"), "{body:?}");
    let (_, table) = world.get(&one, TABLE).await;
    assert_eq!((&table["kind"], &table["rows"][0]["cells"][0]), (&json!("Table"), &json!("a")));
    let partial = |media: &str, shape: &str| format!("{media};as={shape};v=v1;g=meta.k8s.io");
    let (_, meta) = world.get(&one, &partial("application/json", "PartialObjectMetadata")).await;
    assert_eq!(
        (&meta["kind"], &meta["metadata"]["name"], meta.get("data")),
        (&json!("PartialObjectMetadata"), &json!("a"), None)
    );
    let (_, _, body) = world.bytes(&one, &partial(PROTOBUF, "PartialObjectMetadata")).await;
    let kind = Kind::new("meta.k8s.io", "v1", "PartialObjectMetadata");
    assert_eq!(decoded(&body, &kind)["metadata"]["labels"]["name"], "a");
    let (code, status) = world.get(&one, &partial("application/json", "PartialObjectMetadataList")).await;
    let message =
        "you requested PartialObjectMetadataList, but the requested object is not a list (*core.ConfigMap)";
    assert_eq!((code, &status["message"]), (406, &json!(message)));
    let (_, _, body) = world.bytes(&format!("{one}?pretty=true"), "").await;
    assert!(body.starts_with(b"{\n  \"kind\": \"ConfigMap\",\n"), "{body:?}");
    world.server.stop().await;
}

#[tokio::test]
async fn a_list_comes_in_every_encoding_and_shape_and_in_pages() {
    let (world, version) = World::maps().await;
    let (_, list) = world.get(MAPS, "").await;
    assert_eq!((names(&list), &list["metadata"]["resourceVersion"]), (vec!["a", "b", "c"], &json!(version)));
    assert_eq!((list["items"][0].get("kind"), &list["apiVersion"]), (None, &json!("v1")));
    let (_, page) = world.get(&format!("{MAPS}?limit=2"), "").await;
    assert_eq!((names(&page), &page["metadata"]["remainingItemCount"]), (vec!["a", "b"], &json!(1)));
    let token = page["metadata"]["continue"].as_str().unwrap();
    let (_, page) = world.get(&format!("{MAPS}?limit=2&continue={token}"), "").await;
    assert_eq!((names(&page), page["metadata"].get("continue")), (vec!["c"], None));
    let (_, _, body) = world.bytes(&format!("{MAPS}?limit=2"), PROTOBUF).await;
    let list = decoded(&body, &Kind::new("", "v1", "ConfigMapList"));
    assert_eq!((names(&list), &list["metadata"]["remainingItemCount"]), (vec!["a", "b"], &json!(1)));
    let (_, table) = world.get(&format!("{MAPS}?includeObject=None"), TABLE).await;
    assert_eq!(table["rows"].as_array().unwrap().len(), 3);
    let shape = "as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
    let (_, list) = world.get(MAPS, &format!("application/json;{shape}")).await;
    assert_eq!(
        (names(&list), &list["items"][0]["kind"]),
        (vec!["a", "b", "c"], &json!("PartialObjectMetadata"))
    );
    let (_, _, body) = world.bytes(MAPS, &format!("{PROTOBUF};{shape}")).await;
    assert_eq!(names(&decoded(&body, &Kind::new("meta.k8s.io", "v1", "PartialObjectMetadataList"))).len(), 3);
    let (_, _, body) = world.bytes(MAPS, "application/yaml").await;
    assert!(body.starts_with(b"apiVersion: v1\nitems:\n- data:\n"), "{body:?}");
    world.server.stop().await;
}

#[tokio::test]
async fn a_list_in_protobuf_shows_what_was_written_since_the_last_one() {
    let (world, _) = World::maps().await;
    let kind = Kind::new("", "v1", "ConfigMapList");
    for value in ["first", "second"] {
        world.write("PATCH", &format!("{MAPS}/b"), json!({"data": {"k": value}})).await;
        let (_, list) = world.get(MAPS, "").await;
        let expected: Vec<_> =
            list["items"].as_array().unwrap().iter().map(|it| it["data"]["k"].clone()).collect();
        assert_eq!(expected, ["a", value, "c"]);
        for _ in 0..2 {
            let (_, _, body) = world.bytes(MAPS, PROTOBUF).await;
            assert_eq!(decoded(&body, &kind)["items"], list["items"]);
        }
    }
    world.server.stop().await;
}

#[tokio::test]
async fn a_long_list_in_protobuf_has_its_items_in_order() {
    let world = World::start().await;
    for number in 0..600 {
        world.write("POST", MAPS, json!({"metadata": {"name": format!("m{number:03}")}})).await;
    }
    let (_, list) = world.get(MAPS, "").await;
    assert_eq!(names(&list).len(), 600);
    for _ in 0..2 {
        let (_, _, body) = world.bytes(MAPS, PROTOBUF).await;
        assert_eq!(decoded(&body, &Kind::new("", "v1", "ConfigMapList"))["items"], list["items"]);
    }
    world.server.stop().await;
}

#[tokio::test]
async fn deleting_answers_with_a_status_or_with_the_list() {
    let (world, _) = World::maps().await;
    let (code, status) = world.write("DELETE", &format!("{MAPS}/a"), Value::Null).await;
    assert_eq!((code, &status["status"], &status["details"]["name"]), (200, &json!("Success"), &json!("a")));
    let (code, list) = world.write("DELETE", MAPS, Value::Null).await;
    assert_eq!((code, &list["kind"]), (200, &json!("ConfigMapList")));
    assert_eq!(names(&list)[..2], ["b", "c"]);
    assert_eq!(names(&world.get(MAPS, "").await.1), [""; 0]);
    world.server.stop().await;
}
