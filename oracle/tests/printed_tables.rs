//! The tables that watchkeeper-apiserver prints are those of the real server, for objects of every kind
//! in many states. Only the descriptions of columns are not compared: ours have none.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{Method, Request};
use serde_json::{Value, json};
use watchkeeper_apiserver::print::{IncludeObject, ListMeta, Printer, TableVersion, columns};
use watchkeeper_apiserver::registry::{self, Resource, Verb};
use watchkeeper_core::{FieldSelector, Timestamp};
use watchkeeper_oracle::{Cluster, seed};

#[path = "printed_tables/objects.rs"]
mod objects;

use objects::{Random, creation, find, objects};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
const RANDOM_PODS: usize = 150;
const SCALE: &str = "/apis/apps/v1/namespaces/default/deployments/plain/scale";

#[tokio::test(flavor = "multi_thread")]
async fn what_is_printed_is_what_the_real_server_prints() -> Outcome {
    let cluster = Cluster::start().await?;
    let mut refused = Vec::new();
    let mut random = Random(seed());
    let mut taken = 0;
    for number in 0..RANDOM_PODS {
        // Not every status that can be written down is one that the real server takes.
        taken += usize::from(create(&cluster, "/v1/pods", &random.pod(number)).await?.is_ok());
    }
    assert!(taken > RANDOM_PODS / 2, "the real server took only {taken}");
    let mut generations: BTreeMap<(String, String), bool> = BTreeMap::new();
    for (names, object) in objects() {
        match create(&cluster, names, &object).await? {
            Ok(created) => {
                let resource = find(names);
                let counts = !created["metadata"]["generation"].is_null();
                generations.insert((resource.group.to_string(), resource.name.to_string()), counts);
            }
            Err(refusal) => refused.push(format!("{names} {}: {refusal}", object["metadata"]["name"])),
        }
    }
    assert!(refused.is_empty(), "the real server refused objects:\n{}", refused.join("\n"));

    let listed = || registry::builtin().iter().filter(|row| row.verbs.contains(Verb::List));
    let mut wrong = Vec::new();
    for row in listed() {
        let key = (row.group.to_string(), row.name.to_string());
        match generations.get(&key) {
            Some(counts) if *counts != row.counts_generation => {
                wrong.push(format!("{key:?}: generation {counts}"));
            }
            None if row.storage.is_some() => wrong.push(format!("{key:?}: no object was created")),
            _ => {}
        }
    }
    let (mut tables, mut rows) = (0, 0);
    for row in listed() {
        let compared = compare(&cluster, row, &mut wrong).await?;
        tables += 1;
        rows += compared;
        if compared == 0 {
            wrong.push(format!("{}/{}: no rows to compare", row.group, row.name));
        }
    }
    compare_scale(&cluster, &mut wrong).await?;
    let selections = compare_selections(&cluster, &mut wrong).await?;
    let events = compare_watch(&cluster, &mut wrong).await?;
    println!(
        "{taken} random pods, {tables} tables, {rows} rows, {selections} selections, {events} watch events"
    );
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}

/// Compares the table of all objects of a resource, and the table of each.
async fn compare(cluster: &Cluster, row: &Resource, wrong: &mut Vec<String>) -> Outcome<usize> {
    let path = format!("{}/{}", row.group_version().path(), row.name);
    let plain = get(cluster, &path, "application/json").await?;
    let items = plain["items"].as_array().cloned().unwrap_or_default();
    let metadata = ListMeta {
        resource_version: plain["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned(),
        ..ListMeta::default()
    };
    for (include, word) in
        [(IncludeObject::Metadata, ""), (IncludeObject::None, "None"), (IncludeObject::Object, "Object")]
    {
        let before = Timestamp::now();
        let real = get(cluster, &format!("{path}?includeObject={word}"), TABLE).await?;
        let ours = |now| -> Outcome<Value> {
            Ok(serde_json::to_value(Printer::new(row, now).include(include).list(&items, metadata.clone()))?)
        };
        differences(&path, &real, &every_second(before, ours)?, wrong);
    }
    for item in &items {
        let name = item["metadata"]["name"].as_str().unwrap_or_default();
        if name.starts_with("random-") {
            continue; // the list has shown them
        }
        let path = match item["metadata"]["namespace"].as_str() {
            Some(namespace) => {
                format!("{}/namespaces/{namespace}/{}/{name}", row.group_version().path(), row.name)
            }
            None => format!("{path}/{name}"),
        };
        let before = Timestamp::now();
        let real = get(cluster, &path, &TABLE.replace("v=v1", "v=v1beta1")).await?;
        let ours = |now| -> Outcome<Value> {
            Ok(serde_json::to_value(Printer::new(row, now).version(TableVersion::V1Beta1).object(item))?)
        };
        let ours = every_second(before, ours)?;
        if real["metadata"] != ours[0]["metadata"] && row.name != "leases" {
            wrong.push(format!("{path}: {} but ours {}", real["metadata"], ours[0]["metadata"]));
        }
        differences(&path, &real, &ours, wrong);
    }
    Ok(items.len())
}

async fn compare_scale(cluster: &Cluster, wrong: &mut Vec<String>) -> Outcome {
    let deployments = find("apps/v1/deployments");
    let scale = deployments.subresource("scale").ok_or("no scale")?;
    let object = get(cluster, SCALE, "application/json").await?;
    let before = Timestamp::now();
    let real = get(cluster, SCALE, TABLE).await?;
    let ours = |now| -> Outcome<Value> {
        Ok(serde_json::to_value(
            Printer::new(deployments, now).subresource(deployments, scale).object(&object),
        )?)
    };
    differences(SCALE, &real, &every_second(before, ours)?, wrong);
    Ok(())
}

/// For each selectable field and each value that it has somewhere, the same objects are selected.
async fn compare_selections(cluster: &Cluster, wrong: &mut Vec<String>) -> Outcome<usize> {
    let mut compared = 0;
    for row in registry::builtin().iter().filter(|row| !row.fields.own.is_empty()) {
        let path = format!("{}/{}", row.group_version().path(), row.name);
        let plain = get(cluster, &path, "application/json").await?;
        let items = plain["items"].as_array().cloned().unwrap_or_default();
        let names = |items: &[&Value]| -> BTreeSet<String> {
            items
                .iter()
                .map(|item| format!("{}/{}", item["metadata"]["namespace"], item["metadata"]["name"]))
                .collect()
        };
        for field in &row.fields.own {
            let values: BTreeSet<_> = items.iter().map(|item| field.value(item)).collect();
            for value in values.iter().map(|value| &**value).chain(["nowhere"]) {
                let selector = format!("{}={value}", field.label);
                let encoded: String = selector.bytes().map(|byte| format!("%{byte:02X}")).collect();
                let real =
                    get(cluster, &format!("{path}?fieldSelector={encoded}"), "application/json").await?;
                let real: Vec<&Value> = real["items"].as_array().into_iter().flatten().collect();
                let selector = FieldSelector::parse(&selector)?;
                let ours: Vec<&Value> = items.iter().filter(|item| row.selects(&selector, item)).collect();
                if names(&real) != names(&ours) {
                    wrong.push(format!("{path} {selector}: {:?} but ours {:?}", names(&real), names(&ours)));
                }
                compared += 1;
            }
        }
    }
    Ok(compared)
}

/// A watch says its columns in its first event, and its bookmark is a row without anything in it.
async fn compare_watch(cluster: &Cluster, wrong: &mut Vec<String>) -> Outcome<usize> {
    let mut compared = 0;
    for names in ["/v1/pods", "storage.k8s.io/v1/storageclasses", "/v1/limitranges"] {
        let row = find(names);
        let query = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true\
                     &timeoutSeconds=1";
        let path = format!("{}/{}?{query}", row.group_version().path(), row.name);
        let plain = cluster.request(Method::GET, &path, "application/json").await?;
        let before = Timestamp::now();
        let table = cluster.request(Method::GET, &path, TABLE).await?;
        let lines = |body: &[u8]| -> Outcome<Vec<Value>> {
            Ok(serde_json::Deserializer::from_slice(body).into_iter().collect::<Result<_, _>>()?)
        };
        let (plain, table) = (lines(plain.body())?, lines(table.body())?);
        assert_eq!(plain.len(), table.len(), "{path}");
        for (position, (plain, real)) in plain.iter().zip(&table).enumerate() {
            let printer = |now| match position {
                0 => Printer::new(row, now),
                _ => Printer::new(row, now).without_headers(),
            };
            let ours =
                |now| -> Outcome<Value> { Ok(serde_json::to_value(printer(now).object(&plain["object"]))?) };
            if plain["type"] == "BOOKMARK" {
                // Its version is of its own time; all that counts is that there is a row.
                assert_eq!(real["object"]["rows"][0]["cells"], ours(before)?["rows"][0]["cells"]);
            } else {
                differences(&path, &real["object"], &every_second(before, ours)?, wrong);
            }
            compared += 1;
        }
    }
    Ok(compared)
}

/// What we print at every second since: the real server printed at one of them.
fn every_second(since: Timestamp, ours: impl Fn(Timestamp) -> Outcome<Value>) -> Outcome<Vec<Value>> {
    let until = Timestamp::now();
    let seconds = (since.seconds..=until.seconds).map(|seconds| Timestamp { seconds, ..since });
    seconds.chain([until]).map(ours).collect()
}

/// Ours must be the real one at one of the moments at which it can have been made: ages pass meanwhile.
fn differences(path: &str, real: &Value, ours: &[Value], wrong: &mut Vec<String>) {
    let before = &ours[0];
    for field in ["kind", "apiVersion", "columnDefinitions"] {
        let (mut real, ours) = (real[field].clone(), &before[field]);
        for column in real.as_array_mut().into_iter().flatten() {
            column["description"] = json!("");
        }
        if real != *ours {
            wrong.push(format!("{path} {field}: {real} but ours {ours}"));
        }
    }
    // Leases of the server itself go on being renewed, so versions of lists may move on.
    let rows = |table: &Value| {
        let mut rows = table["rows"].as_array().cloned().unwrap_or_default();
        if path.contains("/componentstatuses") {
            rows.sort_by_key(|row| row["cells"].to_string()); // they come as the components answer
        }
        rows
    };
    let moments: Vec<_> = ours.iter().map(rows).collect();
    let (real, before) = (rows(real), rows(before));
    if real.len() != before.len() {
        wrong.push(format!("{path}: {} rows but ours {}", real.len(), before.len()));
    }
    for (at, (real, before)) in real.iter().zip(&before).enumerate() {
        let same = moments.iter().any(|rows| rows.get(at).is_some_and(|row| row["cells"] == real["cells"]));
        if !same && !is_lost_in_v1(path, real) {
            wrong.push(format!("{path}:\n   real {}\n   ours {}", real["cells"], before["cells"]));
        }
        let renewed = path.contains("/leases");
        for field in ["conditions", "object"] {
            if without_conversions(&real[field]) != without_conversions(&before[field]) && !renewed {
                wrong.push(format!("{path} {field}: {} but ours {}", real[field], before[field]));
            }
        }
    }
}

/// In `autoscaling/v1`, the metric that has a field of its own has no place among the others. The real
/// server prints what it has stored, which knows better; we print what the client would get.
fn is_lost_in_v1(path: &str, row: &Value) -> bool {
    path.starts_with("/apis/autoscaling/v1/") && row["cells"][0] == "v2-many"
}

/// The real server's rows carry the metadata as it is stored. What is added in this version's form of the
/// object, for fields that the version does not have, is missing there; ours carry what the client would get.
fn without_conversions(object: &Value) -> Value {
    let mut object = object.clone();
    if object["kind"] == "PartialObjectMetadata" {
        if let Some(annotations) = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut)
        {
            annotations.retain(|name, _| {
                name != "deprecated.daemonset.template.generation"
                    && !name.starts_with("autoscaling.alpha.kubernetes.io/")
            });
        }
        if object.pointer("/metadata/annotations") == Some(&json!({})) {
            object["metadata"].as_object_mut().expect("it has annotations").remove("annotations");
        }
    }
    object
}

#[test]
fn every_kind_that_kubectl_users_look_at_has_columns_of_its_own() {
    let mut plain: Vec<_> = registry::builtin()
        .iter()
        .filter(|row| row.verbs.contains(Verb::List) && columns(row).definitions()[1].name == "Created At")
        .map(|row| &*row.name)
        .collect();
    plain.sort_unstable();
    assert_eq!(plain, ["clusterroles", "csistoragecapacities", "limitranges", "roles"]);
}

/// Creates an object, then gives it its status, then deletes it if it is annotated so.
async fn create(cluster: &Cluster, names: &str, object: &Value) -> Outcome<Result<Value, String>> {
    let (all, body) = creation(names, object.clone());
    let created = match send(cluster, Method::POST, &all, "application/json", &body).await? {
        Ok(created) => created,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let one = format!("{all}/{}", object["metadata"]["name"].as_str().unwrap_or_default());
    if let Some(status) = object.get("status").filter(|_| find(names).subresource("status").is_some()) {
        let patch = json!({"status": status});
        let merge = "application/merge-patch+json";
        if let Err(refusal) = send(cluster, Method::PATCH, &format!("{one}/status"), merge, &patch).await? {
            return Ok(Err(refusal));
        }
    }
    if object["metadata"]["annotations"]["then"] == "delete"
        && let Err(refusal) = send(cluster, Method::DELETE, &one, "application/json", &json!({})).await?
    {
        return Ok(Err(refusal));
    }
    Ok(Ok(created))
}

async fn send(
    cluster: &Cluster,
    method: Method,
    path: &str,
    content_type: &str,
    body: &Value,
) -> Outcome<Result<Value, String>> {
    let body = if method == Method::DELETE { Vec::new() } else { serde_json::to_vec(body)? };
    let request = Request::builder().method(method).uri(path).header(CONTENT_TYPE, content_type);
    let request = request.header(ACCEPT, "application/json").body(Bytes::from(body))?;
    let answer = cluster.send(request).await?;
    let read: Value = serde_json::from_slice(answer.body())?;
    Ok(if answer.status().is_success() { Ok(read) } else { Err(read["message"].to_string()) })
}

async fn get(cluster: &Cluster, path: &str, accept: &str) -> Outcome<Value> {
    let answer = cluster.request(Method::GET, path, accept).await?;
    assert!(answer.status().is_success(), "{path}: {}", String::from_utf8_lossy(answer.body()));
    Ok(serde_json::from_slice(answer.body())?)
}
