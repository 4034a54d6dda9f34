//! Size limits: requests that would exhaust the memory of the server are refused.
//!
//! Each test that would exhaust the memory if it failed runs in a child process of its own, with a limit on its address
//! space.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod world;

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;

use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use watchkeeper_apiserver::server::ApiServer;
use watchkeeper_apiserver::size::{REQUEST_BYTES, STORED_BYTES};

use world::World;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";
const YAML: &str = "application/yaml";
const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";
const JSON_PATCH: &str = "application/json-patch+json";

/// Set in a child process.
const CHILD: &str = "WATCHKEEPER_TEST_CHILD";

/// The address space of a child process, in KiB.
const CHILD_KIB: u64 = 1 << 20;

/// Runs a test in a child process with little memory. `test` is the name of the calling test.
fn in_a_child<F: Future<Output = ()>>(test: &str, body: impl FnOnce() -> F) {
    if std::env::var_os(CHILD).is_some() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        return runtime.unwrap().block_on(body());
    }
    let script = format!("ulimit -v {CHILD_KIB} && exec \"$0\" \"$@\"");
    let output = Command::new("sh")
        .args(["-c", &script])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(CHILD, "1")
        .env("MALLOC_ARENA_MAX", "2") // each arena takes 64 MiB of addresses
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    print!("{}", text(&output.stdout));
    assert!(output.status.success(), "{}\n{}", text(&output.stdout), text(&output.stderr));
}

/// The largest resident size of this process so far, in MiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() >> 10
}

impl World {
    async fn ask(&self, method: &str, path: &str, content_type: &str, body: String) -> (u16, Value) {
        let headers = [("content-type", content_type)];
        let (head, body) = self.send(method, path, &headers, body).await.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        (head.status.as_u16(), serde_json::from_slice(&body).unwrap())
    }

    async fn define(&self, schema: Value) {
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "widgets.example.com"},
            "spec": {
                "group": "example.com", "scope": "Namespaced",
                "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
            },
        });
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        let (code, answer) = self.ask("POST", path, JSON, definition.to_string()).await;
        assert_eq!(code, 201, "{answer}");
    }
}

/// A definition whose items have a default of 100 KB each.
fn long_default() -> Value {
    let item =
        json!({"type": "object", "properties": {"text": {"type": "string", "default": "x".repeat(100_000)}}});
    json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "items": {"type": "array", "items": item},
    }}}})
}

fn widget(items: usize) -> String {
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"},
        "spec": {"items": vec![json!({}); items]}})
    .to_string()
}

fn too_large(limit: usize) -> String {
    format!("Request entity too large: limit is {limit}")
}

#[test]
fn defaults_of_a_definition_do_not_outgrow_a_request() {
    in_a_child("defaults_of_a_definition_do_not_outgrow_a_request", || async {
        let world = World::start().await;
        world.define(long_default()).await;
        let before = peak();
        let (code, status) = world.ask("POST", WIDGETS, JSON, widget(30_000)).await;
        assert_eq!((code, &status["reason"]), (413, &json!("RequestEntityTooLarge")), "{status}");
        assert_eq!(status["message"], too_large(REQUEST_BYTES));
        let grown = peak() - before;
        println!("a default of 100 KB for 30,000 items: {grown} MiB");
        assert!(grown < 200, "{grown} MiB");
        // A smaller number is stored.
        let (code, created) = world.ask("POST", WIDGETS, JSON, widget(10)).await;
        assert_eq!(code, 201, "{created}");
        assert_eq!(created["spec"]["items"][9]["text"].as_str().unwrap().len(), 100_000);
        world.server.stop().await;
    });
}

#[test]
fn a_default_added_later_does_not_outgrow_the_stored_object() {
    in_a_child("a_default_added_later_does_not_outgrow_the_stored_object", || async {
        let world = World::start().await;
        let plain = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "items": {"type": "array", "items": {"type": "object", "properties": {"text": {"type": "string"}}}},
        }}}});
        world.define(plain).await;
        let (code, _) = world.ask("POST", WIDGETS, JSON, widget(30_000)).await;
        assert_eq!(code, 201);
        let patch = json!([{"op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema", "value": long_default()}]);
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com";
        let (code, answer) = world.ask("PATCH", path, JSON_PATCH, patch.to_string()).await;
        assert_eq!(code, 200, "{answer}");
        for path in [format!("{WIDGETS}/a"), WIDGETS.to_owned()] {
            let (code, status) = world.ask("GET", &path, JSON, String::new()).await;
            assert_eq!(code, 500, "{status}");
            assert!(status["message"].as_str().unwrap().contains("defaults would add more than"), "{status}");
        }
        world.server.stop().await;
    });
}

#[test]
fn unknown_fields_below_a_long_name_do_not_multiply_it() {
    in_a_child("unknown_fields_below_a_long_name_do_not_multiply_it", || async {
        let world = World::start().await;
        let item = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
        world
            .define(json!({"type": "object", "properties": {"spec": {"type": "object", "additionalProperties": item}}}))
            .await;
        let name = "n".repeat(1 << 20);
        let fields: Vec<String> = (0..100_000).map(|n| format!("\"x{n}\":1")).collect();
        let body = format!(
            r#"{{"apiVersion":"example.com/v1","kind":"Widget","metadata":{{"name":"a"}},"spec":{{"{name}":{{{}}}}}}}"#,
            fields.join(",")
        );
        let (code, answer) =
            world.ask("POST", &format!("{WIDGETS}?fieldValidation=Strict"), JSON, body.clone()).await;
        assert_eq!((code, &answer["reason"]), (400, &json!("BadRequest")));
        let (code, _) =
            world.ask("POST", WIDGETS, JSON, body.replace(":1", ":\"1\"").replace("\"x", "\"")).await;
        assert_eq!(code, 201); // unknown fields are not stored
        world.server.stop().await;
    });
}

/// Levels of nine aliases each, in less than 500 bytes.
fn small_bomb() -> String {
    let mut text = "kind: ConfigMap\nmetadata: {name: a}\na0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned();
    for level in 1..8 {
        let before = format!("*a{}", level - 1);
        text.push_str(&format!("a{level}: &a{level} [{}]\n", [before.as_str(); 9].join(",")));
    }
    text
}

/// A long text and 50,000 aliases of it, in 700 KB.
fn long_bomb() -> String {
    let aliases: String = (0..50_000).map(|n| format!("  k{n}: *a\n")).collect();
    format!("kind: ConfigMap\nmetadata: {{name: a}}\na: &a {}\ndata:\n{aliases}", "x".repeat(100_000))
}

#[test]
fn aliases_of_yaml_cost_little_memory() {
    in_a_child("aliases_of_yaml_cost_little_memory", || async {
        let world = World::start().await;
        for (name, bomb, limit) in
            [("a bomb of 463 bytes", small_bomb(), 32), ("one of 700 KB", long_bomb(), 150)]
        {
            for (method, path, content_type) in [
                ("POST", MAPS.to_owned(), YAML),
                ("PATCH", format!("{MAPS}/a?fieldManager=m"), "application/apply-patch+yaml"),
                ("DELETE", format!("{MAPS}/a"), YAML),
            ] {
                let before = peak();
                let (code, status) = world.ask(method, &path, content_type, bomb.clone()).await;
                assert_eq!((code, &status["reason"]), (400, &json!("BadRequest")), "{status}");
                let message = status["message"].as_str().unwrap();
                assert!(message.contains("yaml: document contains excessive aliasing"), "{message}");
                let grown = peak() - before;
                println!("{name}, {method}: {grown} MiB");
                assert!(grown < limit, "{name}, {method}: {grown} MiB");
            }
        }
        world.server.stop().await;
    });
}

#[test]
fn an_object_too_large_for_etcd_is_not_stored() {
    in_a_child("an_object_too_large_for_etcd_is_not_stored", || async {
        let world = World::start().await;
        world.define(json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})).await;
        let of = |bytes: usize| {
            json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"},
                "spec": "x".repeat(bytes)})
            .to_string()
        };
        let refused = |(code, status): (u16, Value)| {
            let message = "etcdserver: request is too large";
            assert_eq!(
                (code, &status["message"], status.get("reason")),
                (500, &json!(message), None),
                "{code}"
            );
        };
        refused(world.ask("POST", WIDGETS, JSON, of(STORED_BYTES)).await);
        let (code, _) = world.ask("POST", &format!("{WIDGETS}?dryRun=All"), JSON, of(STORED_BYTES)).await;
        assert_eq!(code, 201); // nothing is stored
        let (code, _) = world.ask("POST", WIDGETS, JSON, of(STORED_BYTES - 1000)).await;
        assert_eq!(code, 201);
        // Patches of any type cannot make it grow either.
        let one = format!("{WIDGETS}/a");
        let patch = json!({"more": "x".repeat(2_000)}).to_string();
        refused(world.ask("PATCH", &one, MERGE, patch).await);
        let copy = json!([{"op": "copy", "from": "/spec", "path": "/more"}]).to_string();
        refused(world.ask("PATCH", &one, JSON_PATCH, copy).await);
        let applied = json!({"apiVersion": "example.com/v1", "kind": "Widget", "more": "x".repeat(2_000)});
        let path = format!("{one}?fieldManager=m");
        refused(world.ask("PATCH", &path, "application/apply-patch+yaml", applied.to_string()).await);
        world.server.stop().await;
    });
}

#[test]
fn a_built_in_object_is_measured_in_protobuf() {
    in_a_child("a_built_in_object_is_measured_in_protobuf", || async {
        let world = World::start().await;
        // Annotations are limited, labels are not: 20,000 of them are 1.2 MiB of protobuf.
        let labels: serde_json::Map<String, Value> =
            (0..20_000).map(|n| (format!("{n:063}"), Value::from(""))).collect();
        let of = |labels: &serde_json::Map<String, Value>| {
            json!({"metadata": {"name": "a", "labels": labels}}).to_string()
        };
        let (code, created) = world.ask("POST", MAPS, JSON, of(&labels)).await;
        assert_eq!((code, created["metadata"]["labels"].as_object().unwrap().len()), (201, 20_000));
        let more: serde_json::Map<String, Value> =
            (0..30_000).map(|n| (format!("{n:063}"), Value::from(""))).collect();
        let (code, status) = world.ask("PUT", &format!("{MAPS}/a"), JSON, of(&more)).await;
        assert_eq!((code, &status["message"]), (500, &json!("etcdserver: request is too large")));
        // Many small parts that are much larger in memory.
        let pod = format!(
            r#"{{"metadata":{{"name":"a"}},"spec":{{"containers":[{}]}}}}"#,
            vec!["{}"; REQUEST_BYTES / 3 - 100].join(",")
        );
        let (code, status) = world.ask("POST", "/api/v1/namespaces/default/pods", JSON, pod).await;
        assert_eq!((code, &status["message"]), (413, &json!(too_large(REQUEST_BYTES))), "{code}");
        world.server.stop().await;
    });
}

#[test]
fn copies_of_a_json_patch_are_bounded() {
    in_a_child("copies_of_a_json_patch_are_bounded", || async {
        let world = World::start().await;
        let map = json!({"metadata": {"name": "a"}, "data": {"a": "x".repeat(500_000)}}).to_string();
        assert_eq!(world.ask("POST", MAPS, JSON, map).await.0, 201);
        let copies: Vec<Value> = (0..10_000)
            .map(|n| json!({"op": "copy", "from": "/data", "path": format!("/data{n}")}))
            .collect();
        let (code, status) =
            world.ask("PATCH", &format!("{MAPS}/a"), JSON_PATCH, json!(copies).to_string()).await;
        assert_eq!((code, &status["reason"]), (422, &json!("Invalid")), "{status}");
        let doubled: Vec<Value> =
            (0..64).map(|_| json!({"op": "copy", "from": "/data", "path": "/data/a"})).collect();
        let (code, _) =
            world.ask("PATCH", &format!("{MAPS}/a"), JSON_PATCH, json!(doubled).to_string()).await;
        assert_eq!(code, 422);
        let many = vec![json!({"op": "test", "path": "/kind", "value": "ConfigMap"}); 10_001];
        let (code, status) =
            world.ask("PATCH", &format!("{MAPS}/a"), JSON_PATCH, json!(many).to_string()).await;
        let message =
            "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001";
        assert_eq!((code, &status["message"]), (413, &json!(message)));
        world.server.stop().await;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_of_50_megabytes_gets_a_413_that_the_client_can_read() {
    let world = World::start().await;
    let body = format!("{{\"a\":\"{}\"}}", "x".repeat(50 << 20));
    for (method, path, content_type) in [
        ("POST", MAPS, JSON),
        ("POST", MAPS, YAML),
        ("PATCH", "/api/v1/namespaces/default/configmaps/a", MERGE),
    ] {
        let (code, status) = world.ask(method, path, content_type, body.clone()).await;
        assert_eq!((code, &status["reason"]), (413, &json!("RequestEntityTooLarge")), "{status}");
        assert_eq!(status["message"], too_large(REQUEST_BYTES));
    }
    world.server.stop().await;
}

/// Sends a request and returns the response up to the end of the connection.
fn exchange(address: SocketAddr, head: &str, body: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let head = format!("{head}\r\nhost: k\r\nauthorization: Bearer t\r\nconnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn health_is_served_while_a_large_body_is_parsed() {
    // With a single thread, parsing on it would block everything else.
    let (send, started) = std::sync::mpsc::channel();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let server = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let server = ApiServer::builder().plain_http().token("t").start().await.unwrap();
            send.send(server.address()).unwrap();
            let _ = stopped.await;
            server.stop().await;
        });
    });
    let address = started.recv().unwrap();
    let rows: String = (0..150_000).map(|n| format!("  - a{n}\n")).collect();
    let body = format!("kind: ConfigMap\nmetadata:\n  name: a\nunknown:\n{rows}");
    let (done, parsed) = std::sync::mpsc::channel();
    let client = std::thread::spawn(move || {
        let length = body.len();
        let head =
            format!("POST {MAPS} HTTP/1.1\r\ncontent-type: application/yaml\r\ncontent-length: {length}");
        let answer = exchange(address, &head, body.as_bytes());
        done.send(()).unwrap();
        answer
    });
    let mut answered = 0;
    while parsed.try_recv().is_err() {
        assert!(exchange(address, "GET /readyz HTTP/1.1", b"").starts_with("HTTP/1.1 200"));
        answered += 1;
    }
    assert!(client.join().unwrap().starts_with("HTTP/1.1 201"));
    println!("{answered} health checks were answered meanwhile");
    assert!(answered > 20, "{answered}");
    stop.send(()).unwrap();
    server.join().unwrap();
}
