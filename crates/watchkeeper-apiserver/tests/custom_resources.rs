//! Custom resources over HTTP.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod world;

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde_json::{Value, json};
use tokio::time::timeout;
use watchkeeper_apiserver::server::ApiServer;
use watchkeeper_apiserver::store::{HistoryLimits, MemoryStore};
use watchkeeper_core::{ListRequest, ListWatch as _};

use world::World;

/// The maximum wait for an expected event.
const PATIENCE: Duration = Duration::from_secs(30);
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

/// The events of a watch.
struct Lines {
    body: Incoming,
    read: Vec<u8>,
}

impl Lines {
    /// Returns the next event; `None` once the watch has ended.
    async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.read.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.read.drain(..=end).collect();
                return Some(serde_json::from_slice(&line).unwrap());
            }
            let frame = timeout(PATIENCE, self.body.frame()).await.unwrap()?;
            self.read.extend_from_slice(frame.unwrap().data_ref().map_or(&[], |data| data));
        }
    }
}

impl World {
    async fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &Value) -> (u16, Value) {
        let text = if body.is_null() { String::new() } else { body.to_string() };
        let (head, body) = self.send(method, path, headers, text).await.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let value = serde_json::from_slice(&body);
        (head.status.as_u16(), value.unwrap_or_else(|_| String::from_utf8_lossy(&body).into_owned().into()))
    }

    async fn get(&self, path: &str) -> (u16, Value) {
        self.ask("GET", path, &[], &Value::Null).await
    }

    async fn write(&self, method: &str, path: &str, body: Value) -> (u16, Value) {
        let content_type = match method {
            "PATCH" => "application/merge-patch+json",
            _ => "application/json",
        };
        self.ask(method, path, &[("content-type", content_type)], &body).await
    }

    async fn apply(&self, path: &str, manager: &str, body: Value) -> (u16, Value) {
        let path = format!("{path}?fieldManager={manager}");
        self.ask("PATCH", &path, &[("content-type", "application/apply-patch+yaml")], &body).await
    }

    async fn watch(&self, path: &str) -> Lines {
        let response = self.send("GET", path, &[], String::new()).await;
        assert_eq!(response.status(), 200);
        Lines { body: response.into_body(), read: Vec::new() }
    }

    async fn define(&self, definition: Value) -> Value {
        let (code, answer) = self.write("POST", DEFINITIONS, definition).await;
        assert_eq!(code, 201, "{answer}");
        answer
    }

    /// Waits until a definition satisfies a condition.
    async fn definition_until(&self, name: &str, is_it: impl Fn(u16, &Value) -> bool) {
        let mut events =
            self.watch(&format!("{DEFINITIONS}?watch=true&fieldSelector=metadata.name%3D{name}")).await;
        loop {
            let (code, found) = self.get(&format!("{DEFINITIONS}/{name}")).await;
            if is_it(code, &found) {
                return;
            }
            events.next().await.unwrap();
        }
    }
}

fn version(name: &str, storage: bool) -> Value {
    json!({
        "name": name, "served": true, "storage": storage,
        "subresources": {
            "status": {},
            "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size",
                      "labelSelectorPath": ".status.selector"},
        },
        "additionalPrinterColumns": [
            {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
            {"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status"},
            {"name": "Color", "type": "string", "priority": 1, "jsonPath": ".spec.color"},
        ],
        "selectableFields": [{"jsonPath": ".spec.color"}],
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {
            "spec": {"type": "object", "description": "What is wanted.", "properties": {
                "size": {"type": "integer", "minimum": 0, "default": 1}, "color": {"type": "string"},
            }},
            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        }}},
    })
}

fn widgets() -> Value {
    json!({
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"], "categories": ["all"]},
            "versions": [version("v1", true)],
        },
    })
}

#[tokio::test]
async fn a_defined_resource_is_served_once_the_create_returns() {
    let world = World::start().await;
    assert_eq!(world.get(WIDGETS).await.0, 404);
    let made = world.define(widgets()).await;
    assert_eq!(made["spec"]["names"]["singular"], "widget");
    assert_eq!(made["spec"]["names"]["listKind"], "WidgetList");
    assert_eq!(made["status"]["storedVersions"], json!(["v1"]));

    let (_, found) = world.get(&format!("{DEFINITIONS}/widgets.example.com")).await;
    let conditions: Vec<_> = found["status"]["conditions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| {
            (it["type"].as_str().unwrap(), it["status"].as_str().unwrap(), it["reason"].as_str().unwrap())
        })
        .collect();
    let expected =
        [("NamesAccepted", "True", "NoConflicts"), ("Established", "True", "InitialNamesAccepted")];
    assert_eq!(conditions, expected);
    assert_eq!(found["status"]["acceptedNames"]["shortNames"], json!(["wd"]));

    let (code, list) = world.get(WIDGETS).await;
    assert_eq!(
        (code, &list["kind"], &list["apiVersion"]),
        (200, &json!("WidgetList"), &json!("example.com/v1"))
    );
    let (_, resources) = world.get("/apis/example.com/v1").await;
    let names: Vec<_> =
        resources["resources"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["widgets", "widgets/status", "widgets/scale"]);
    let (_, groups) = world.get("/apis").await;
    assert_eq!(groups["groups"].as_array().unwrap().last().unwrap()["name"], "example.com");
    let (_, described) = world.get("/openapi/v3/apis/example.com/v1").await;
    let schema = &described["components"]["schemas"]["com.example.v1.Widget"];
    assert_eq!(schema["properties"]["spec"]["description"], "What is wanted.");
    let index = world.get("/openapi/v3").await.1;
    assert!(index["paths"]["apis/example.com/v1"].is_object());
}

#[tokio::test]
async fn an_object_is_written_and_read_like_any_other() {
    let world = World::start().await;
    world.define(widgets()).await;
    let mut events = world.watch(&format!("{WIDGETS}?watch=true")).await;
    let body = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"},
                      "spec": {"color": "red"}, "status": {"size": 7}});
    let (code, made) = world.write("POST", WIDGETS, body.clone()).await;
    assert_eq!((code, &made["metadata"]["generation"], made.get("status")), (201, &json!(1), None), "{made}");
    assert_eq!(world.write("POST", WIDGETS, body).await.0, 409);
    let event = events.next().await.unwrap();
    assert_eq!((&event["type"], &event["object"]), (&json!("ADDED"), &made));

    let one = format!("{WIDGETS}/a");
    let status = json!({"spec": {"color": "x"}, "status": {"size": 3, "selector": "a=b"}});
    let (_, at_status) = world.write("PATCH", &format!("{one}/status"), status).await;
    assert_eq!((&at_status["spec"]["color"], &at_status["status"]["size"]), (&json!("red"), &json!(3)));
    assert_eq!(at_status["metadata"]["generation"], 1);
    let (_, patched) = world.write("PATCH", &one, json!({"spec": {"size": 2}, "status": {"size": 9}})).await;
    assert_eq!((&patched["status"]["size"], &patched["metadata"]["generation"]), (&json!(3), &json!(2)));

    let (_, scale) = world.get(&format!("{one}/scale")).await;
    assert_eq!(
        (&scale["kind"], &scale["spec"], &scale["status"]),
        (&json!("Scale"), &json!({"replicas": 2}), &json!({"replicas": 3, "selector": "a=b"}))
    );
    let (code, scaled) =
        world.write("PATCH", &format!("{one}/scale"), json!({"spec": {"replicas": 5}})).await;
    assert_eq!((code, &scaled["spec"]["replicas"]), (200, &json!(5)));
    assert_eq!(world.get(&one).await.1["spec"]["size"], 5);

    let table = world.ask("GET", WIDGETS, &[("accept", TABLE)], &Value::Null).await.1;
    let columns: Vec<_> = table["columnDefinitions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    assert_eq!(columns, ["Name", "Size", "Ready", "Color"]);
    assert_eq!(table["rows"][0]["cells"], json!(["a", 5, null, "red"]));

    let selected = world.get(&format!("{WIDGETS}?fieldSelector=spec.color%3Dred")).await.1;
    assert_eq!(selected["items"].as_array().unwrap().len(), 1);
    let (code, refused) = world.get(&format!("{WIDGETS}?fieldSelector=spec.size%3D5")).await;
    assert_eq!((code, &refused["message"]), (400, &json!("field label not supported: spec.size")));

    let strategic = [("content-type", "application/strategic-merge-patch+json")];
    assert_eq!(world.ask("PATCH", &one, &strategic, &json!({})).await.0, 415);
    let (code, _) =
        world.ask("GET", &one, &[("accept", "application/vnd.kubernetes.protobuf")], &Value::Null).await;
    assert_eq!(code, 406);
    assert_eq!(world.write("DELETE", &one, Value::Null).await.0, 200);
    assert_eq!(world.get(&one).await.0, 404);
}

#[tokio::test]
async fn an_applier_owns_the_fields_it_applies() {
    let world = World::start().await;
    world.define(widgets()).await;
    let object = |color: &str| json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"color": color}});
    let one = format!("{WIDGETS}/a");
    assert_eq!(world.apply(&one, "me", object("red")).await.0, 201);
    let (code, conflict) = world.apply(&one, "you", object("blue")).await;
    assert_eq!((code, &conflict["details"]["causes"][0]["field"]), (409, &json!(".spec.color")));
    let nothing = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}});
    let (_, given_up) = world.apply(&one, "me", nothing).await;
    assert_eq!(given_up["spec"].get("color"), None, "{given_up}");
}

#[tokio::test]
async fn a_definition_is_deleted_after_its_objects_and_their_finalizers() {
    let world = World::start().await;
    world.define(widgets()).await;
    for (name, finalizers) in [("held", json!(["example.com/hold"])), ("free", json!([]))] {
        let body = json!({"metadata": {"name": name, "finalizers": finalizers}});
        assert_eq!(world.write("POST", WIDGETS, body).await.0, 201);
    }
    let mut events = world.watch(&format!("{WIDGETS}?watch=true")).await;
    let (code, deleted) =
        world.write("DELETE", &format!("{DEFINITIONS}/widgets.example.com"), Value::Null).await;
    assert_eq!(code, 200);
    assert_eq!(deleted["metadata"]["finalizers"], json!(["customresourcecleanup.apiextensions.k8s.io"]));
    let (code, refused) = world.write("POST", WIDGETS, json!({"metadata": {"name": "late"}})).await;
    assert_eq!(code, 403, "{refused}");

    // One is deleted at once, the other only marked for deletion.
    let mut seen = Vec::new();
    while seen.len() < 4 {
        let event = events.next().await.unwrap();
        seen.push((event["type"].as_str().unwrap().to_owned(), event["object"]["metadata"]["name"].clone()));
    }
    seen.sort_by_key(|(kind, name)| (kind.clone(), name.to_string()));
    let expected = [("ADDED", "free"), ("ADDED", "held"), ("DELETED", "free"), ("MODIFIED", "held")];
    assert_eq!(seen, expected.map(|(kind, name)| (kind.to_owned(), json!(name))));
    let held = format!("{WIDGETS}/held");
    assert_eq!(world.write("PATCH", &held, json!({"metadata": {"finalizers": null}})).await.0, 200);
    world.definition_until("widgets.example.com", |code, _| code == 404).await;
    assert_eq!(events.next().await.unwrap()["type"], "DELETED");
    assert!(events.next().await.is_none(), "the watch has ended");
    timeout(PATIENCE, async { while world.get(WIDGETS).await.0 != 404 {} }).await.unwrap();
    world.define(widgets()).await;
    assert_eq!(world.get(WIDGETS).await.1["items"], json!([]));
}

#[tokio::test]
async fn every_served_version_shows_the_same_objects() {
    let world = World::start().await;
    let mut definition = widgets();
    let mut old = version("v1beta1", false);
    old["deprecated"] = true.into();
    old.as_object_mut().unwrap().remove("selectableFields");
    old["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"] =
        json!({"color": {"type": "string"}});
    definition["spec"]["versions"] = json!([version("v1", true), old]);
    world.define(definition).await;
    let (_, group) = world.get("/apis/example.com").await;
    assert_eq!(group["preferredVersion"]["version"], "v1");

    let old = WIDGETS.replace("/v1/", "/v1beta1/");
    let mut events = world.watch(&format!("{old}?watch=true")).await;
    let body = json!({"metadata": {"name": "a"}, "spec": {"color": "red"}}).to_string();
    let response = world.send("POST", &old, &[("content-type", "application/json")], body).await;
    assert_eq!(response.status(), 201);
    assert_eq!(
        response.headers()["warning"],
        "299 - \"example.com/v1beta1 Widget is deprecated; use example.com/v1 Widget\""
    );
    let (_, shown) = world.get(&format!("{WIDGETS}/a")).await;
    assert_eq!((&shown["apiVersion"], &shown["spec"]["color"]), (&json!("example.com/v1"), &json!("red")));
    assert_eq!(events.next().await.unwrap()["object"]["apiVersion"], "example.com/v1beta1");
    let listed = world.get(&old).await.1;
    assert_eq!(listed["apiVersion"], "example.com/v1beta1");

    let unserved = json!({"spec": {"versions": [version("v1", true), {
        "name": "v1beta1", "served": false, "storage": false,
        "schema": {"openAPIV3Schema": {"type": "object"}}}]}});
    assert_eq!(world.write("PATCH", &format!("{DEFINITIONS}/widgets.example.com"), unserved).await.0, 200);
    assert_eq!(world.get(&old).await.0, 404);
    assert!(events.next().await.is_none(), "the watch has ended");
}

#[tokio::test]
async fn rules_in_cel_and_conversion_webhooks_are_stored_and_not_called() {
    let world = World::start().await;
    let mut definition = widgets();
    definition["spec"]["versions"] = json!([version("v1", true), version("v2", false)]);
    let rules = json!([{"rule": "self.size > 5", "message": "too small"}]);
    for version in 0..2 {
        let schema = &mut definition["spec"]["versions"][version]["schema"]["openAPIV3Schema"];
        schema["properties"]["spec"]["x-kubernetes-validations"] = rules.clone();
    }
    definition["spec"]["conversion"] = json!({"strategy": "Webhook", "webhook": {
        "conversionReviewVersions": ["v1"], "clientConfig": {"url": "https://127.0.0.1:1/convert"},
    }});
    let made = world.define(definition).await;
    let schema = &made["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    assert_eq!(schema["properties"]["spec"]["x-kubernetes-validations"], rules);
    assert_eq!(made["spec"]["conversion"]["strategy"], "Webhook");

    let small = json!({"metadata": {"name": "a"}, "spec": {"size": 1}});
    assert_eq!(world.write("POST", WIDGETS, small).await.0, 201);
    let (code, shown) = world.get(&format!("{}/a", WIDGETS.replace("/v1/", "/v2/"))).await;
    assert_eq!(
        (code, &shown["apiVersion"], &shown["spec"]["size"]),
        (200, &json!("example.com/v2"), &json!(1))
    );
}

#[tokio::test]
async fn a_name_belongs_to_the_first_definition() {
    let world = World::start().await;
    world.define(widgets()).await;
    let mut second = widgets();
    second["metadata"]["name"] = "gadgets.example.com".into();
    second["spec"]["names"] = json!({"plural": "gadgets", "kind": "Widget"});
    world.define(second).await;
    let (_, found) = world.get(&format!("{DEFINITIONS}/gadgets.example.com")).await;
    let conditions = found["status"]["conditions"].as_array().unwrap();
    let shown: Vec<_> = conditions.iter().map(|it| (&it["status"], &it["reason"], &it["message"])).collect();
    let (no, conflict, taken) =
        (json!("False"), json!("ListKindConflict"), json!("\"WidgetList\" is already in use"));
    assert_eq!(shown[0], (&no, &conflict, &taken));
    assert_eq!(shown[1].1, "NotAccepted");
    assert_eq!(world.get("/apis/example.com/v1/namespaces/default/gadgets").await.0, 404);

    world.write("DELETE", &format!("{DEFINITIONS}/widgets.example.com"), Value::Null).await;
    let is_established = |_: u16, found: &Value| {
        let conditions = found["status"]["conditions"].as_array().into_iter().flatten();
        conditions.filter(|it| it["type"] == "Established").any(|it| it["status"] == "True")
    };
    world.definition_until("gadgets.example.com", is_established).await;
    assert_eq!(world.get("/apis/example.com/v1/namespaces/default/gadgets").await.0, 200);
}

#[tokio::test]
async fn definitions_and_objects_are_served_after_a_restart() {
    let store = Arc::new(MemoryStore::new(HistoryLimits::default()));
    let start = || async {
        let server = ApiServer::builder().plain_http().token("t").store(store.clone()).start().await.unwrap();
        World { server }
    };
    let world = start().await;
    world.define(widgets()).await;
    world.write("POST", WIDGETS, json!({"metadata": {"name": "a"}})).await;
    world.server.stop().await;

    let world = start().await;
    assert_eq!(world.get(&format!("{WIDGETS}/a")).await.0, 200);
    let source = world.server.source("example.com", "v1", "widgets", None).unwrap();
    let parts: Vec<_> = source.list(ListRequest::default()).collect().await;
    assert_eq!(parts.len(), 2, "an object and the end");
}
