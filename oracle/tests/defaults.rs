//! Defaulting: compares created and updated objects with the real server's: defaults, initial status, allocated addresses.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{Method, Request};
use http_body_util::{BodyExt as _, Full};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use watchkeeper_apiserver::registry;
use watchkeeper_apiserver::server::ApiServer;
use watchkeeper_oracle::Cluster;

/// One object per line. Each is created with a dry run; namespaced ones in the namespace `default`.
const OBJECTS: &str = include_str!("defaults/objects.jsonl");

/// The real server and ours.
struct Pair {
    real: Cluster,
    ours: ApiServer,
}

impl Pair {
    async fn start() -> Self {
        Self {
            real: Cluster::start().await.unwrap(),
            ours: ApiServer::builder().plain_http().start().await.unwrap(),
        }
    }

    /// Sends the same request to both, and returns the normalized bodies of their responses.
    async fn send(&self, method: &Method, path: &str, body: &Value) -> [Value; 2] {
        let content_type = match *method {
            Method::PATCH => "application/merge-patch+json",
            _ => "application/json",
        };
        let request = |uri: String| {
            let request = Request::builder().method(method).uri(uri).header(ACCEPT, "application/json");
            request.header(CONTENT_TYPE, content_type)
        };
        let text = Bytes::from(if body.is_null() { String::new() } else { body.to_string() });
        let real = self.real.send(request(path.to_owned()).body(text.clone()).unwrap()).await.unwrap();
        let bearer = format!("Bearer {}", self.ours.token());
        let authorized = request(format!("{}{path}", self.ours.url())).header(AUTHORIZATION, bearer);
        let client = Client::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
        let ours = client.request(authorized.body(Full::new(text)).unwrap()).await.unwrap();
        let ours = ours.into_body().collect().await.unwrap().to_bytes();
        [real.body(), &ours].map(|body| {
            let mut object: Value = serde_json::from_slice(body).unwrap();
            let uid = object["metadata"]["uid"].as_str().unwrap_or("-").to_owned();
            normalize(&mut object, &uid);
            object
        })
    }
}

/// Removes or replaces what differs between two servers or two runs.
fn normalize(value: &mut Value, uid: &str) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| name != "managedFields" && name != "resourceVersion");
            for (name, value) in fields {
                match (name.as_str(), &*value) {
                    (
                        "creationTimestamp" | "lastTransitionTime" | "lastPhaseTransitionTime",
                        Value::String(_),
                    ) => {
                        *value = "(a time)".into();
                    }
                    ("uid", Value::String(_)) => *value = "(a uid)".into(),
                    ("clusterIP", Value::String(text)) if text.starts_with("10.0.0.") => {
                        *value = "(an address)".into();
                    }
                    ("clusterIPs", Value::Array(items)) if items[0] != "None" => {
                        *value = vec!["(an address)"; items.len()].into();
                    }
                    ("nodePort" | "healthCheckNodePort", Value::Number(_)) => *value = "(a port)".into(),
                    ("targetPort", Value::Number(port)) if port.as_i64() > Some(10_000) => {
                        *value = "(the port of the server)".into();
                    }
                    _ => normalize(value, uid),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| normalize(item, uid)),
        Value::String(text) if text == uid => *text = "(its uid)".to_owned(),
        _ => {}
    }
}

/// Appends the differences between two values to `found`.
fn differences(path: &str, real: &Value, ours: &Value, found: &mut Vec<String>) {
    match (real, ours) {
        (Value::Object(a), Value::Object(b)) => {
            for name in a.keys().chain(b.keys().filter(|name| !a.contains_key(*name))) {
                let (a, b) = (a.get(name).unwrap_or(&Value::Null), b.get(name).unwrap_or(&Value::Null));
                let is_missing = a.is_null() != b.is_null();
                match is_missing {
                    true => found.push(format!("{path}.{name}: real {a}, ours {b}")),
                    false => differences(&format!("{path}.{name}"), a, b, found),
                }
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (at, (a, b)) in a.iter().zip(b).enumerate() {
                differences(&format!("{path}[{at}]"), a, b, found);
            }
        }
        (a, b) if a == b => {}
        (a, b) => found.push(format!("{path}: real {a}, ours {b}")),
    }
}

fn path_of(object: &Value) -> String {
    let (version, kind) = (object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap());
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    let row = registry::builtin().by_kind(group, version, kind).unwrap();
    let root = if group.is_empty() { "/api".to_owned() } else { format!("/apis/{group}") };
    match row.is_namespaced() {
        true => format!("{root}/{version}/namespaces/default/{}", row.name),
        false => format!("{root}/{version}/{}", row.name),
    }
}

#[tokio::test]
async fn new_objects_are_defaulted_as_on_the_real_server() {
    let pair = Pair::start().await;
    let (mut found, mut count) = (Vec::new(), 0);
    for line in OBJECTS.lines() {
        let object: Value = serde_json::from_str(line).unwrap();
        let path = format!("{}?dryRun=All", path_of(&object));
        let [real, ours] = pair.send(&Method::POST, &path, &object).await;
        assert_eq!(real["kind"], object["kind"], "the real server rejects {line}: {real}");
        let mut differ = Vec::new();
        differences("", &real, &ours, &mut differ);
        if !differ.is_empty() {
            found.push(format!("{line}\n    {}", differ.join("\n    ")));
        }
        count += 1;
    }
    assert!(count >= 120, "only {count} objects");
    assert!(found.is_empty(), "{} of {count} differ:\n{}", found.len(), found.join("\n"));
    pair.ours.stop().await;
}

/// Requests that are sent in order: one `[method, path, body]` per line.
const REQUESTS: &str = include_str!("defaults/requests.jsonl");

#[tokio::test]
async fn updates_have_the_same_results_as_on_the_real_server() {
    let pair = Pair::start().await;
    let mut found = Vec::new();
    for line in REQUESTS.lines() {
        let (method, path, body): (String, String, Value) = serde_json::from_str(line).unwrap();
        let method = Method::try_from(method.as_str()).unwrap();
        let [real, ours] = pair.send(&method, &path, &body).await;
        let mut differ = Vec::new();
        differences("", &real, &ours, &mut differ);
        if !differ.is_empty() {
            found.push(format!("{line}\n    {}", differ.join("\n    ")));
        }
    }
    assert!(found.is_empty(), "{} requests differ:\n{}", found.len(), found.join("\n"));
    pair.ours.stop().await;
}

/// Defaults that depend on another object. It is created first, and the real server uses it a moment later.
#[tokio::test]
async fn default_classes_and_limit_ranges_apply_as_on_the_real_server() {
    let pair = Pair::start().await;
    let annotation = |name: &str| json!({name: "true"});
    let container = json!({"name": "c", "image": "i", "resources": {"limits": {"cpu": "3"}}});
    let limit =
        json!({"type": "Container", "max": {"cpu": "4"}, "default": {"memory": "1Gi"}, "min": {"cpu": "1m"}});
    let cases = [
        (
            json!({"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l"}, "spec": {"limits": [limit]}}),
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {
                "containers": [container, {"name": "d", "image": "i"}],
                "initContainers": [{"name": "e", "image": "i"}],
            }}),
            "/metadata/annotations",
        ),
        (
            json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "c"},
                "value": 7, "globalDefault": true, "preemptionPolicy": "Never"}),
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [container]}}),
            "/spec/priorityClassName",
        ),
        (
            json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "provisioner": "p",
                "metadata": {"name": "c", "annotations": annotation("storageclass.kubernetes.io/is-default-class")}}),
            json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "p"}, "spec": {
                "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}),
            "/spec/storageClassName",
        ),
        (
            json!({"apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "spec": {"controller": "a.example/c"},
                "metadata": {"name": "c", "annotations": annotation("ingressclass.kubernetes.io/is-default-class")}}),
            json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "i"}, "spec": {
                "defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}}}),
            "/spec/ingressClassName",
        ),
    ];
    for (source, object, defaulted) in cases {
        pair.send(&Method::POST, &path_of(&source), &source).await;
        let path = format!("{}?dryRun=All", path_of(&object));
        let until_defaulted = async || {
            loop {
                let [real, ours] = pair.send(&Method::POST, &path, &object).await;
                if real.pointer(defaulted).is_some() {
                    return [real, ours];
                }
            }
        };
        let compared = tokio::time::timeout(Duration::from_secs(30), until_defaulted()).await;
        let [real, ours] = compared.unwrap_or_else(|_| panic!("the real server does not use {source}"));
        let mut differ = Vec::new();
        differences("", &real, &ours, &mut differ);
        assert!(differ.is_empty(), "{source}\n    {}", differ.join("\n    "));
    }
    pair.ours.stop().await;
}
