//! Objects that are served under two groups or versions.

use std::time::Duration;

use serde_json::json;
use watchkeeper_apiserver::server::ApiServer;
use watchkeeper_wire::Kind;

use crate::world::World;
use crate::{Lines, PROTOBUF, decoded, names};

#[tokio::test]
async fn one_event_is_read_and_written_by_the_names_of_either_group() {
    let world = World::start().await;
    let (core, new) =
        ("/api/v1/namespaces/default/events", "/apis/events.k8s.io/v1/namespaces/default/events");
    let event = json!({"metadata": {"name": "e"}, "eventTime": "2026-11-15T10:00:00.000000Z", "note": "hello",
        "reason": "R", "action": "A", "type": "Normal", "reportingController": "c", "reportingInstance": "i",
        "regarding": {"kind": "Pod", "name": "p", "namespace": "default"}});
    let (code, stored) = world.write("POST", new, event).await;
    assert_eq!(
        (code, &stored["note"], &stored["apiVersion"]),
        (201, &json!("hello"), &json!("events.k8s.io/v1"))
    );
    let (_, list) = world.get(&format!("{core}?fieldSelector=involvedObject.name%3Dp"), "").await;
    assert_eq!((names(&list), &list["items"][0]["message"]), (vec!["e"], &json!("hello")));
    let (_, list) = world.get(&format!("{new}?fieldSelector=regarding.name%3Dp"), "").await;
    assert_eq!((names(&list), &list["items"][0]["regarding"]["kind"]), (vec!["e"], &json!("Pod")));
    let (code, patched) = world.write("PATCH", &format!("{new}/e"), json!({"note": "again"})).await;
    assert_eq!((code, &patched["note"], patched.get("message")), (200, &json!("again"), None));
    let operations = json!([{"op": "replace", "path": "/note", "value": "once more"},
        {"op": "add", "path": "/regarding/uid", "value": "u"}]);
    let headers = [("content-type", "application/json-patch+json")];
    let patched = world.send("PATCH", &format!("{new}/e"), &headers, operations.to_string()).await;
    assert_eq!(patched.status(), 200);
    let (_, stored) = world.get(&format!("{core}/e"), "").await;
    assert_eq!((&stored["message"], &stored["involvedObject"]["uid"]), (&json!("once more"), &json!("u")));
    let (code, _) = world.write("PATCH", &format!("{new}/e"), json!({"note": "again"})).await;
    assert_eq!(code, 200);
    let (_, _, body) = world.bytes(&format!("{new}/e"), PROTOBUF).await;
    assert_eq!(decoded(&body, &Kind::new("events.k8s.io", "v1", "Event"))["note"], "again");
    world.server.stop().await;
}

#[tokio::test]
async fn an_expired_event_is_deleted_for_watchers_of_both_groups() {
    let builder = ApiServer::builder().plain_http().token("t").event_ttl(Duration::from_millis(50));
    let world = World { server: builder.start().await.unwrap() };
    let event =
        json!({"metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}, "message": "m"});
    let watch = async |path: &str| {
        let response = world.send("GET", &format!("{path}?watch=true"), &[], String::new()).await;
        Lines { body: response.into_body(), read: Vec::new() }
    };
    let mut watches = [watch("/api/v1/events").await, watch("/apis/events.k8s.io/v1/events").await];
    let (code, stored) = world.write("POST", "/api/v1/namespaces/default/events", event).await;
    assert_eq!(code, 201, "{stored}");
    let created: u64 = stored["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap();
    for watch in &mut watches {
        let (added, deleted) = (watch.json().await.unwrap(), watch.json().await.unwrap());
        assert_eq!((&added["type"], &deleted["type"]), (&json!("ADDED"), &json!("DELETED")));
        let gone = deleted["object"]["metadata"]["resourceVersion"].as_str().unwrap();
        assert!(gone.parse::<u64>().unwrap() > created);
    }
    assert_eq!(world.get("/api/v1/namespaces/default/events/e", "").await.0, 404);
    world.server.stop().await;
}

#[tokio::test]
async fn an_autoscaler_of_one_version_is_read_and_changed_by_the_other() {
    let world = World::start().await;
    let path =
        |version: &str| format!("/apis/autoscaling/{version}/namespaces/default/horizontalpodautoscalers");
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"});
    let body = json!({"metadata": {"name": "a"}, "spec": {"scaleTargetRef": target, "maxReplicas": 3}});
    let headers = [("content-type", "application/json")];
    assert_eq!(world.send("POST", &path("v1"), &headers, body.to_string()).await.status(), 201);
    let new = world.get(&format!("{}/a", path("v2")), "application/json").await.1;
    assert_eq!(new["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"], 80);
    let merge = [("content-type", "application/merge-patch+json")];
    let patch = json!({"spec": {"behavior": {"scaleUp": {"selectPolicy": "Min"}}}}).to_string();
    assert_eq!(world.send("PATCH", &format!("{}/a", path("v2")), &merge, patch).await.status(), 200);
    let patch = json!({"spec": {"targetCPUUtilizationPercentage": 50}}).to_string();
    assert_eq!(world.send("PATCH", &format!("{}/a", path("v1")), &merge, patch).await.status(), 200);
    let old = world.get(&path("v1"), "application/json").await.1;
    assert_eq!(old["items"][0]["spec"]["targetCPUUtilizationPercentage"], 50);
    let new = world.get(&format!("{}/a", path("v2")), "application/json").await.1;
    assert_eq!(new["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"], 50);
    assert_eq!(new["spec"]["behavior"]["scaleUp"]["selectPolicy"], "Min");
}

#[tokio::test]
async fn an_event_is_validated_by_the_rules_of_the_core_group_in_both_groups() {
    let world = World::start().await;
    let path = "/apis/events.k8s.io/v1/namespaces/default/events";
    let event = |name: &str, namespace: &str| json!({"metadata": {"name": name}, "regarding": {"namespace": namespace}});
    let (code, stored) = world.write("POST", path, event("short", "default")).await;
    assert_eq!(code, 201, "{stored}");
    let (code, status) = world.write("POST", path, event("elsewhere", "other")).await;
    let message = status["message"].as_str().unwrap();
    assert_eq!(code, 422);
    assert!(
        message.contains("involvedObject.namespace") && message.contains("does not match event.namespace")
    );
    world.server.stop().await;
}
