//! Custom resource schemas: compares pruning, defaulting and validation with the real server's.
//!
//! - `custom_schemas/types.jsonl`: the field types of one definition, each with valid and invalid values. Every value is
//!   sent to the real server, and its stored object, warnings and errors are compared with ours.
//! - `updates.jsonl`: objects that were stored under a version with a loose schema and are updated under the strict one.
//! - `schemas.jsonl`, `definitions.jsonl`: definitions, most of them invalid; the former as the schema of `spec`, the
//!   latter as merge patches of a valid one.
//!
//! The real server lists causes in random order, because it iterates over maps, so they are compared as sets.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, WARNING};
use http::{HeaderMap, Method, Request};
use serde_json::{Map, Value, json};
use tokio::task::JoinSet;
use watchkeeper_apiserver::custom::schema::{Cause, Schema, check_definition};
use watchkeeper_apiserver::patch;
use watchkeeper_oracle::Cluster;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/// Time limit for a new definition to be served.
const SERVED_TIMEOUT: Duration = Duration::from_secs(60);
/// The number of concurrent requests.
const WORKERS: usize = 8;

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Values that are tried for every type.
fn common_values() -> Vec<Value> {
    let values = json!([
        null, true, 0, 1, -1, 1.5, 3, 7, 5_000_000_000_i64, 1e20, "", "a", "b", "ab", "A-b", "abc.def", "5", "50%",
        "2026-01-01", "10.0.0.1", [], {}, ["a"], [1], ["a", "a"], [[1]], [null], [{}], [{"a": 1}],
        [{"k": "a"}, {"k": "a"}], [{"n": 1}, {"n": 1}], {"a": 1}, {"a": "x"}, {"a": null}, {"b": 5},
        {"a": "x", "b": 6}, {"a": {"b": 1}}, {"a": [{"b": {}}]}, {"x": {"y": [1, {"z": null}]}}, {"k": {}},
        {"k": ["a", "a"]}, {"a": 1, "b": 2, "c": 3}, {"kind": "Pod", "metadata": null},
    ]);
    values.as_array().unwrap().clone()
}

/// A response of the real server.
struct Response {
    code: u16,
    headers: HeaderMap,
    body: Value,
}

impl Response {
    /// The causes of an error, without their order.
    fn causes(&self) -> BTreeSet<String> {
        let causes = self.body["details"]["causes"].as_array().into_iter().flatten();
        let text = |cause: &Value, name: &str| cause[name].as_str().unwrap_or_default().to_owned();
        causes
            .map(|cause| format_cause(&text(cause, "reason"), &text(cause, "field"), &text(cause, "message")))
            .collect()
    }

    /// The unknown fields that the server warned about.
    fn unknown_fields(&self) -> Vec<String> {
        let warnings = self.headers.get_all(WARNING).iter().map(|warning| warning.to_str().unwrap());
        let unknown = warnings.filter_map(|warning| warning.strip_prefix("299 - \"unknown field \\\""));
        unknown.map(|path| path.trim_end_matches("\\\"\"").to_owned()).collect()
    }
}

fn format_cause(reason: &str, field: &str, message: &str) -> String {
    format!("{reason} {field}: {message}")
}

fn our_causes(causes: &[Cause]) -> BTreeSet<String> {
    causes.iter().map(|cause| format_cause(&cause.cause.to_string(), &cause.field, &cause.message)).collect()
}

async fn send(cluster: &Cluster, method: Method, path: &str, body: &Value) -> Response {
    let request = Request::builder().method(method).uri(path).header(CONTENT_TYPE, "application/json");
    let response = cluster.send(request.body(Bytes::from(body.to_string())).unwrap()).await.unwrap();
    let body = serde_json::from_slice(response.body()).unwrap_or_default(); // the 404 of an unserved path is not JSON
    Response { code: response.status().as_u16(), headers: response.headers().clone(), body }
}

/// Describes how the causes of the real server's error differ from ours.
fn difference(what: &str, real: &Response, found: &[Cause]) -> Option<String> {
    let (theirs, found) = (real.causes(), our_causes(found));
    let is_accepted = real.code < 300;
    if is_accepted == found.is_empty() && theirs == found && (is_accepted || real.code == 422) {
        return None;
    }
    let only = |one: &BTreeSet<String>, other: &BTreeSet<String>| {
        one.difference(other).cloned().collect::<Vec<_>>().join("\n    ")
    };
    let message = if real.code == 422 { "" } else { real.body["message"].as_str().unwrap_or_default() };
    Some(format!(
        "{what}\n  real {} {message}\n    {}\n  ours\n    {}",
        real.code,
        only(&theirs, &found),
        only(&found, &theirs)
    ))
}

fn assert_no_differences(differences: &[String], count: usize) {
    println!("{count} compared");
    assert!(differences.is_empty(), "{} of {count} differ:\n{}", differences.len(), differences.join("\n"));
}

/// A definition with a strict version, `v1`, and one with a loose schema, `v0`.
fn sample_definition(types: &[Value]) -> Value {
    let fields: Map<String, Value> = types
        .iter()
        .map(|each| (each["name"].as_str().unwrap().to_owned(), each["schema"].clone()))
        .collect();
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "samples.schemas.example.com"},
        "spec": {
            "group": "schemas.example.com", "scope": "Cluster",
            "names": {"plural": "samples", "singular": "sample", "kind": "Sample", "listKind": "SampleList"},
            "versions": [
                {"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                    "type": "object", "properties": {"spec": {"type": "object", "properties": fields}},
                }}},
                {"name": "v0", "served": true, "storage": false, "schema": {"openAPIV3Schema": {
                    "type": "object", "properties": {"spec": {"x-kubernetes-preserve-unknown-fields": true}},
                }}},
            ],
        },
    })
}

async fn define(cluster: &Cluster, definition: &Value) {
    let created = send(cluster, Method::POST, DEFINITIONS, definition).await;
    assert_eq!(created.code, 201, "{}", created.body);
    let path = "/apis/schemas.example.com/v1/samples";
    let served = async {
        while send(cluster, Method::GET, path, &json!({})).await.code != 200 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(SERVED_TIMEOUT, served).await.unwrap();
}

/// Defaults and prunes an object with our schema. Returns it with the pruned fields.
fn stored(schema: &Schema, object: &Value) -> (Value, Vec<String>) {
    let mut stored = object.clone();
    schema.default(&mut stored).expect("defaults exceed the limit");
    let unknown = schema.prune(&mut stored);
    (stored, unknown)
}

/// Formats numbers as Go does: whole numbers have no fraction.
fn normalize_numbers(value: &Value) -> Value {
    match value {
        #[expect(clippy::cast_possible_truncation, reason = "the number is whole and below 1e15")]
        Value::Number(number) if number.is_f64() => match number.as_f64() {
            Some(float) if float.fract() == 0.0 && float.abs() < 1e15 => json!(float as i64),
            _ => value.clone(),
        },
        Value::Array(items) => items.iter().map(normalize_numbers).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| (key.clone(), normalize_numbers(value))).collect()
        }
        value => value.clone(),
    }
}

/// Describes how the real server and ours differ in storing an object.
async fn compare(cluster: &Cluster, schema: &Schema, object: &Value) -> Option<String> {
    let path = "/apis/schemas.example.com/v1/samples?dryRun=All&fieldValidation=Warn";
    let real = send(cluster, Method::POST, path, object).await;
    let (stored, unknown) = stored(schema, object);
    let what = object["spec"].to_string();
    if let Some(difference) = difference(&what, &real, &schema.validate(&stored)) {
        return Some(difference);
    }
    let (theirs, ours) = (normalize_numbers(&real.body["spec"]), normalize_numbers(&stored["spec"]));
    if real.code == 201 && theirs != ours {
        return Some(format!("{what}\n  real stores {theirs}\n  ours stores {ours}"));
    }
    let theirs = real.unknown_fields();
    let is_same = real.code != 201 || theirs == unknown;
    (!is_same).then(|| format!("{what}\n  real warns about unknown {theirs:?}\n  ours about {unknown:?}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_are_pruned_defaulted_and_rejected_as_on_the_real_server() {
    let cluster = Cluster::start().await.unwrap();
    let types = lines(include_str!("custom_schemas/types.jsonl"));
    let definition = sample_definition(&types);
    assert_eq!(check_definition(&definition), []);
    let schema = Schema::compile(&definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]).unwrap();
    define(&cluster, &definition).await;
    let (common, mut objects) = (common_values(), Vec::new());
    for each in &types {
        let name = each["name"].as_str().unwrap();
        for value in each["values"].as_array().unwrap().iter().chain(&common) {
            objects.push(json!({
                "apiVersion": "schemas.example.com/v1", "kind": "Sample", "metadata": {"name": "a"},
                "spec": {name: value},
            }));
        }
    }
    let (cluster, objects, mut workers) = (Arc::new(cluster), Arc::new(objects), JoinSet::new());
    for worker in 0..WORKERS {
        let (cluster, objects, schema) = (cluster.clone(), objects.clone(), schema.clone());
        workers.spawn(async move {
            let mut differences = Vec::new();
            for object in objects.iter().skip(worker).step_by(WORKERS) {
                differences.extend(compare(&cluster, &schema, object).await);
            }
            differences
        });
    }
    let mut differences = workers.join_all().await.concat();
    let mut count = objects.len();
    for (at, each) in lines(include_str!("custom_schemas/updates.jsonl")).iter().enumerate() {
        count += 1;
        let object = |version: &str, spec: &Value| {
            let metadata = json!({"name": format!("update-{at}")});
            json!({"apiVersion": format!("schemas.example.com/{version}"), "kind": "Sample", "metadata": metadata, "spec": spec})
        };
        let created =
            send(&cluster, Method::POST, "/apis/schemas.example.com/v0/samples", &object("v0", &each["old"]))
                .await;
        assert_eq!(created.code, 201, "{}", created.body);
        let mut new = object("v1", &each["new"]);
        let path = format!("/apis/schemas.example.com/v1/samples/update-{at}");
        new["metadata"]["resourceVersion"] = created.body["metadata"]["resourceVersion"].clone();
        let real = send(&cluster, Method::PUT, &format!("{path}?dryRun=All"), &new).await;
        let (old, _) = stored(&schema, &object("v1", &each["old"]));
        let (new, _) = stored(&schema, &new);
        differences.extend(difference(&each.to_string(), &real, &schema.validate_update(&new, &old)));
    }
    assert_no_differences(&differences, count);
}

#[tokio::test(flavor = "multi_thread")]
async fn definitions_are_rejected_as_on_the_real_server() {
    let cluster = Cluster::start().await.unwrap();
    let plain = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "trials.schemas.example.com"},
        "spec": {
            "group": "schemas.example.com", "scope": "Namespaced",
            "names": {"plural": "trials", "singular": "trial", "kind": "Trial", "listKind": "TrialList"},
            "conversion": {"strategy": "None"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {
                "openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object"}}},
            }}],
        },
    });
    let mut definitions = Vec::new();
    for schema in lines(include_str!("custom_schemas/schemas.jsonl")) {
        let mut definition = plain.clone();
        definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] = schema.clone();
        definitions.push((schema, definition));
    }
    for change in lines(include_str!("custom_schemas/definitions.jsonl")) {
        let definition = patch::merge(plain.clone(), change.clone()).unwrap();
        definitions.push((change, definition));
    }
    let mut differences = Vec::new();
    for (what, definition) in &definitions {
        let real = send(&cluster, Method::POST, &format!("{DEFINITIONS}?dryRun=All"), definition).await;
        differences.extend(difference(&what.to_string(), &real, &check_definition(definition)));
    }
    assert_no_differences(&differences, definitions.len());
}
