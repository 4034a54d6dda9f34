//! A server over HTTP.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod world;

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use watchkeeper_apiserver::server::ApiServer;
use watchkeeper_core::Encoded;
use watchkeeper_wire::Kind;
use watchkeeper_wire::protobuf::Envelope;
use watchkeeper_wire::transcode::{self, Types};

use world::World;

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

impl World {
    async fn bytes(&self, path: &str, accept: &str) -> (StatusCode, HeaderMap, Bytes) {
        let (head, body) = self.send("GET", path, &[("accept", accept)], String::new()).await.into_parts();
        (head.status, head.headers, body.collect().await.unwrap().to_bytes())
    }

    async fn get(&self, path: &str, accept: &str) -> (u16, Value) {
        let (code, _, body) = self.bytes(path, accept).await;
        (
            code.as_u16(),
            serde_json::from_slice(&body)
                .unwrap_or_else(|_| String::from_utf8_lossy(&body).into_owned().into()),
        )
    }

    async fn write(&self, method: &str, path: &str, body: Value) -> (u16, Value) {
        let headers = match method {
            "PATCH" => [("content-type", "application/merge-patch+json")],
            _ => [("content-type", "application/json")],
        };
        let text = if body.is_null() { String::new() } else { body.to_string() };
        let (head, body) = self.send(method, path, &headers, text).await.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        (
            head.status.as_u16(),
            serde_json::from_slice(&body)
                .unwrap_or_else(|_| String::from_utf8_lossy(&body).into_owned().into()),
        )
    }

    /// Creates three config maps, and returns the version of the last.
    async fn maps() -> (Self, String) {
        let world = Self::start().await;
        let mut version = String::new();
        for name in ["a", "b", "c"] {
            let map = json!({"metadata": {"name": name, "labels": {"name": name}}, "data": {"k": name}});
            let (code, stored) = world.write("POST", MAPS, map).await;
            assert_eq!(
                (code, &stored["kind"], &stored["apiVersion"]),
                (201, &json!("ConfigMap"), &json!("v1"))
            );
            version = stored["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
        }
        (world, version)
    }

    async fn watch(&self, query: &str, accept: &str) -> Lines {
        let response = self
            .send("GET", &format!("{MAPS}?watch=true&{query}"), &[("accept", accept)], String::new())
            .await;
        assert_eq!(response.status(), StatusCode::OK);
        Lines { body: response.into_body(), read: Vec::new() }
    }
}

/// The events of a watch.
struct Lines {
    body: Incoming,
    read: Vec<u8>,
}

impl Lines {
    /// Reads more bytes; returns false at the end.
    async fn more(&mut self) -> bool {
        match self.body.frame().await {
            Some(frame) => {
                self.read.extend_from_slice(frame.unwrap().data_ref().unwrap());
                true
            }
            None => false,
        }
    }

    async fn json(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.read.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.read.drain(..=end).collect();
                return Some(serde_json::from_slice(&line).unwrap());
            }
            if !self.more().await {
                return None;
            }
        }
    }

    async fn message(&mut self) -> Vec<u8> {
        loop {
            if let Some(head) = self.read.first_chunk::<4>() {
                let length = u32::from_be_bytes(*head) as usize;
                if self.read.len() >= 4 + length {
                    return self.read.drain(..4 + length).skip(4).collect();
                }
            }
            assert!(self.more().await, "the watch has ended");
        }
    }
}

fn names(list: &Value) -> Vec<&str> {
    list["items"].as_array().unwrap().iter().map(|item| item["metadata"]["name"].as_str().unwrap()).collect()
}

fn decoded(body: &[u8], kind: &Kind) -> Value {
    let envelope = Envelope::open(body).unwrap();
    let mut out = Vec::new();
    transcode::to_json(&Encoded::protobuf(envelope.message), kind, Types::Omitted, &mut out).unwrap();
    serde_json::from_slice(&out).unwrap()
}

#[tokio::test]
async fn a_server_starts_with_the_initial_namespaces_and_stops_on_request() {
    let world = World::start().await;
    let (code, list) = world.get("/api/v1/namespaces", "").await;
    assert_eq!((code, &list["kind"]), (200, &json!("NamespaceList")));
    assert_eq!(names(&list), ["default", "kube-node-lease", "kube-public", "kube-system"]);
    let (code, one) = world.get("/api/v1/namespaces/default", "").await;
    assert_eq!((code, &one["kind"], &one["status"]["phase"]), (200, &json!("Namespace"), &json!("Active")));
    world.server.stop().await;
}

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
    let (_, _, body) = world.bytes(&format!("{new}/e"), PROTOBUF).await;
    assert_eq!(decoded(&body, &Kind::new("events.k8s.io", "v1", "Event"))["note"], "again");
    world.server.stop().await;
}

#[tokio::test]
async fn unknown_resources_and_methods_are_errors() {
    let world = World::start().await;
    for (method, path, code) in [
        ("GET", "/api/v1/bogus", 404),
        ("GET", "/apis/bogus/v1/things", 404),
        ("GET", "/bogus", 404),
        ("GET", "/api/v1/namespaces/default/configmaps/a/status", 404),
        ("GET", "/api/v1/namespaces/default/nodes", 404),
        ("GET", "/api/v1/namespaces/default/configmaps/nope", 404),
        ("POST", "/api/v1/configmaps", 405),
        ("PUT", MAPS, 405),
        ("DELETE", "/api/v1/namespaces", 405),
        ("GET", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", 405),
        ("GET", "/api/v1/namespaces/default/status", 200),
    ] {
        assert_eq!(world.write(method, path, Value::Null).await.0, code, "{method} {path}");
    }
    world.server.stop().await;
}

#[tokio::test]
async fn aggregated_discovery_is_served_on_request_with_etags() {
    let world = World::start().await;
    let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
    let (code, headers, body) = world.bytes("/apis", accept).await;
    assert_eq!((code, &headers["vary"]), (StatusCode::OK, &"Accept".parse().unwrap()));
    assert!(headers["content-type"].to_str().unwrap().contains("as=APIGroupDiscoveryList"));
    let list: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(list["kind"], "APIGroupDiscoveryList");
    let tag = headers["etag"].to_str().unwrap().to_owned();
    let response =
        world.send("GET", "/apis", &[("accept", accept), ("if-none-match", &tag)], String::new()).await;
    assert_eq!(response.status(), StatusCode::NOT_MODIFIED);
    for (path, kind) in [
        ("/api", "APIVersions"),
        ("/apis", "APIGroupList"),
        ("/apis/apps", "APIGroup"),
        ("/apis/apps/v1", "APIResourceList"),
        ("/api/v1", "APIResourceList"),
    ] {
        assert_eq!(world.get(path, "application/json").await.1["kind"], kind, "{path}");
        assert_eq!(world.bytes(path, PROTOBUF).await.0, StatusCode::OK, "{path}");
    }
    assert_eq!(world.get("/openapi/v3", "").await.0, 200);
    assert_eq!(world.get("/openapi/v3/apis/apps/v1", "").await.1["openapi"], "3.0.0");
    assert!(world.get("/metrics", "").await.1.as_str().unwrap().contains("watchkeeper_store_revision"));
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
async fn requests_for_an_unreachable_kubelet_name_the_reason() {
    let world = World::start().await;
    const PODS: &str = "/api/v1/namespaces/default/pods";
    let pod = json!({"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    world.write("POST", PODS, pod.clone()).await;
    assert_eq!(world.get(&format!("{PODS}/a/log"), "*/*").await, (204, json!("")));
    let (code, status) = world.get(&format!("{PODS}/a/log?container=d"), "*/*").await;
    assert_eq!((code, &status["message"]), (400, &json!("container d is not valid for pod a")));
    for sub in ["exec?command=true", "attach", "portforward"] {
        let (code, status) = world.write("POST", &format!("{PODS}/a/{sub}"), Value::Null).await;
        assert_eq!((code, &status["message"]), (400, &json!("pod a does not have a host assigned")), "{sub}");
        let (code, status) = world.write("POST", &format!("{PODS}/b/{sub}"), Value::Null).await;
        assert_eq!((code, &status["message"]), (404, &json!("pods \"b\" not found")), "{sub}");
    }
    let mut bound = pod;
    (bound["metadata"]["name"], bound["spec"]["nodeName"]) = ("bound".into(), "n".into());
    world.write("POST", PODS, bound).await;
    let (code, status) = world.get(&format!("{PODS}/bound/log"), "*/*").await;
    assert_eq!((code, &status["message"]), (404, &json!("nodes \"n\" not found")));
    world.write("POST", "/api/v1/nodes", json!({"metadata": {"name": "n"}})).await;
    let (code, status) = world.get(&format!("{PODS}/bound/log"), "*/*").await;
    let nowhere = json!("no preferred addresses found; known addresses: []");
    assert_eq!((code, &status["message"], &status["reason"]), (500, &nowhere, &Value::Null));
    let (code, status) = world.write("POST", &format!("{PODS}/bound/exec"), Value::Null).await;
    assert_eq!((code, &status["message"]), (500, &nowhere));
    world.server.stop().await;
}

/// The messages are those of kube-apiserver for the same objects.
#[tokio::test]
async fn kubelet_requests_are_validated_before_dialing() {
    let world = World::start().await;
    const POD: &str = "/api/v1/namespaces/default/pods/p";
    let nobody = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = nobody.local_addr().unwrap().port();
    drop(nobody); // so that nothing listens there
    let node = json!({"metadata": {"name": "n"}, "status": {
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
    }});
    assert_eq!(world.write("POST", "/api/v1/nodes", node).await.0, 201);
    let pod = json!({"metadata": {"name": "p"},
        "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]}});
    assert_eq!(world.write("POST", "/api/v1/namespaces/default/pods", pod).await.0, 201);

    let get = async |path: &str| {
        let (code, status) = world.get(&format!("{POD}/{path}"), "application/json").await;
        (code, status["message"].as_str().unwrap_or_default().to_owned())
    };
    let refused = format!("dial tcp 127.0.0.1:{port}: connect: connection refused");
    let url = format!("https://127.0.0.1:{port}/containerLogs/default/p/c");
    assert_eq!(get("log").await, (500, format!("Get \"{url}\": {refused}")));
    let query = "follow=true&sinceTime=2020-01-01T00%3A00%3A00Z&tailLines=3";
    assert_eq!(
        get("log?tailLines=3&sinceTime=2020-01-01T00:00:00Z&follow").await,
        (500, format!("Get \"{url}?{query}\": {refused}"))
    );
    let (code, message) = get("log?limitBytes=0").await;
    assert_eq!((code, message.starts_with("PodLogOptions \"p\" is invalid: limitBytes: ")), (422, true));
    assert_eq!(get("exec?command=ls").await, (400, "Upgrade request required".to_owned()));
    assert_eq!(get("portforward").await, (400, "Upgrade request required".to_owned()));
    for (text, problem) in
        [("abc", "invalid syntax"), ("70000", "value out of range"), ("", "invalid syntax")]
    {
        let parsing = format!("strconv.ParseUint: parsing \"{text}\": {problem}");
        assert_eq!(
            get(&format!("portforward?ports={text}")).await,
            (400, format!("cannot convert to []int32: {parsing}"))
        );
    }
    world.server.stop().await;
}

#[tokio::test]
async fn deprecated_resources_warn_even_when_the_request_fails() {
    let world = World::start().await;
    let warning = "299 - \"v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice\"";
    for (name, code) in [("", StatusCode::OK), ("/missing", StatusCode::NOT_FOUND)] {
        let path = format!("/api/v1/namespaces/default/endpoints{name}");
        let (found, headers, _) = world.bytes(&path, "application/json").await;
        assert_eq!((found, headers["warning"].to_str().unwrap()), (code, warning));
    }
    assert!(!world.bytes(MAPS, "application/json").await.1.contains_key("warning"));
}

#[tokio::test]
async fn a_service_account_authenticates_with_its_token() {
    let world = World::start().await;
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    let (_, account) = world.write("POST", accounts, json!({"metadata": {"name": "robot"}})).await;
    let (code, given) = world.write("POST", &format!("{accounts}/robot/token"), json!({"spec": {}})).await;
    assert_eq!((code, &given["metadata"]["uid"]), (201, &account["metadata"]["uid"]));
    let token = given["status"]["token"].as_str().unwrap();

    let reviews = "/apis/authentication.k8s.io/v1/tokenreviews";
    let review = async |token: &str, audiences: &[&str]| {
        let body = json!({"spec": {"token": token, "audiences": audiences}});
        world.write("POST", reviews, body).await.1["status"].take()
    };
    let status = review(token, &[]).await;
    assert_eq!((&status["authenticated"], &status["user"]["username"]), (&json!(true), &ROBOT.into()));
    assert_eq!(review("t", &[]).await["user"]["username"], "kubernetes-admin");
    for status in [review("bogus", &[]).await, review(token, &["others"]).await] {
        assert_eq!(status, json!({"user": {}, "error": "invalid bearer token"}));
    }

    let io = TokioIo::new(TcpStream::connect(world.server.address()).await.unwrap());
    let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await.unwrap();
    tokio::spawn(connection);
    let request = Request::post("/apis/authentication.k8s.io/v1/selfsubjectreviews")
        .header("host", "k")
        .header("authorization", format!("Bearer {token}"))
        .header("content-type", "application/json");
    let answer = sender.send_request(request.body(Full::new(Bytes::from("{}"))).unwrap()).await.unwrap();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(body["status"]["userInfo"]["username"], ROBOT);
}

const ROBOT: &str = "system:serviceaccount:default:robot";

#[tokio::test]
async fn a_request_can_impersonate_another_user() {
    let world = World::start().await;
    let review = async |headers: &[(&str, &str)]| {
        let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
        let headers = [&[("content-type", "application/json")], headers].concat();
        let answer = world.send("POST", path, &headers, "{}".to_owned()).await;
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        serde_json::from_slice::<Value>(&body).unwrap()
    };
    assert_eq!(review(&[]).await["status"]["userInfo"]["username"], "kubernetes-admin");
    let shown = review(&[("impersonate-user", "ann"), ("impersonate-group", "ops")]).await;
    assert_eq!(
        shown["status"]["userInfo"],
        json!({"username": "ann", "groups": ["ops", "system:authenticated"]})
    );
    assert_eq!(review(&[("impersonate-group", "ops")]).await["code"], 400);
}

#[tokio::test]
async fn openapi_v2_is_served_and_empty() {
    let world = World::start().await;
    let accept = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
    let (code, headers, body) = world.bytes("/openapi/v2", accept).await;
    assert_eq!(code, StatusCode::OK);
    assert_eq!(headers["content-type"], "application/com.github.proto-openapi.spec.v2.v1.0+protobuf");
    assert!(body.starts_with(b"\x0a\x032.0"));
    assert_eq!(world.get("/openapi/v2", "application/json").await.1["paths"], json!({}));
}

#[tokio::test]
async fn a_new_server_has_the_initial_objects_of_a_cluster() {
    let world = World::start().await;
    let (_, service) = world.get("/api/v1/namespaces/default/services/kubernetes", "application/json").await;
    assert_eq!(service["spec"]["clusterIP"], "10.0.0.1");
    assert_eq!(service["spec"]["ports"][0]["targetPort"], world.server.address().port());
    let path = "/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical";
    assert_eq!(world.get(path, "application/json").await.1["value"], 2_000_001_000);
    let path = "/apis/networking.k8s.io/v1/servicecidrs/kubernetes";
    assert_eq!(world.get(path, "application/json").await.1["spec"]["cidrs"], json!(["10.0.0.0/24"]));
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
