//! The tables that watchkeeper-apiserver prints equal the real server's, for objects of every kind in many states.
//! Descriptions of columns are not compared: ours are empty.

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
async fn tables_and_field_selections_match_the_real_server() -> Outcome {
    let cluster = Cluster::start().await?;
    let mut rejected = Vec::new();
    let mut random = Random(seed());
    let mut accepted = 0;
    for number in 0..RANDOM_PODS {
        // The real server rejects some of the random statuses as invalid.
        accepted += usize::from(create(&cluster, "/v1/pods", &random.pod(number)).await?.is_ok());
    }
    assert!(accepted > RANDOM_PODS / 2, "the real server accepted only {accepted} random pods");
    let mut generations: BTreeMap<(String, String), bool> = BTreeMap::new();
    for (names, object) in objects() {
        match create(&cluster, names, &object).await? {
            Ok(created) => {
                let resource = find(names);
                let has_generation = !created["metadata"]["generation"].is_null();
                generations.insert((resource.group.to_string(), resource.name.to_string()), has_generation);
            }
            Err(error) => rejected.push(format!("{names} {}: {error}", object["metadata"]["name"])),
        }
    }
    assert!(rejected.is_empty(), "the real server rejected objects:\n{}", rejected.join("\n"));

    let listed = || registry::builtin().iter().filter(|row| row.verbs.contains(Verb::List));
    let mut wrong = Vec::new();
    for row in listed() {
        let key = (row.group.to_string(), row.name.to_string());
        match generations.get(&key) {
            Some(has_generation) if *has_generation != row.counts_generation => {
                wrong.push(format!("{key:?}: the real server has a generation: {has_generation}"));
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
        "{accepted} random pods, {tables} tables, {rows} rows, {selections} selections, {events} watch events"
    );
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}

/// Compares the table of all objects of a resource, and the table of each object. Returns the number of objects.
async fn compare(cluster: &Cluster, row: &Resource, wrong: &mut Vec<String>) -> Outcome<usize> {
    let path = format!("{}/{}", row.group_version().path(), row.name);
    let plain = get(cluster, &path, "application/json").await?;
    let items = plain["items"].as_array().cloned().unwrap_or_default();
    let metadata = ListMeta {
        resource_version: plain["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned(),
        ..ListMeta::default()
    };
    for (include, value) in
        [(IncludeObject::Metadata, ""), (IncludeObject::None, "None"), (IncludeObject::Object, "Object")]
    {
        let before = Timestamp::now();
        let real = get(cluster, &format!("{path}?includeObject={value}"), TABLE).await?;
        let ours = |now| -> Outcome<Value> {
            Ok(serde_json::to_value(Printer::new(row, now).include(include).list(&items, metadata.clone()))?)
        };
        differences(&path, &real, &every_second(before, ours)?, wrong);
    }
    for item in &items {
        let name = item["metadata"]["name"].as_str().unwrap_or_default();
        if name.starts_with("random-") {
            continue; // the table of the list has them
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
            wrong.push(format!("{path}: real {}, ours {}", real["metadata"], ours[0]["metadata"]));
        }
        differences(&path, &real, &ours, wrong);
    }
    Ok(items.len())
}

/// Compares the table of the subresource `scale`.
async fn compare_scale(cluster: &Cluster, wrong: &mut Vec<String>) -> Outcome {
    let deployments = find("apps/v1/deployments");
    let scale = deployments.subresource("scale").ok_or("deployments have no scale subresource")?;
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

/// Compares which objects each selectable field selects, for each value that it has in some object. Returns the number of
/// comparisons.
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
                    wrong.push(format!(
                        "{path} {selector}: real {:?}, ours {:?}",
                        names(&real),
                        names(&ours)
                    ));
                }
                compared += 1;
            }
        }
    }
    Ok(compared)
}

/// Compares watches as tables: the first event has the column definitions, and a bookmark is a row with empty cells.
/// Returns the number of events.
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
                // Its resource version differs, so only the cells are compared.
                assert_eq!(real["object"]["rows"][0]["cells"], ours(before)?["rows"][0]["cells"]);
            } else {
                differences(&path, &real["object"], &every_second(before, ours)?, wrong);
            }
            compared += 1;
        }
    }
    Ok(compared)
}

/// Returns our output for every second since `since`: the real server printed its own at one of them.
fn every_second(since: Timestamp, ours: impl Fn(Timestamp) -> Outcome<Value>) -> Outcome<Vec<Value>> {
    let until = Timestamp::now();
    let seconds = (since.seconds..=until.seconds).map(|seconds| Timestamp { seconds, ..since });
    seconds.chain([until]).map(ours).collect()
}

/// Appends the differences between the real table and ours. A row is equal if it equals one of `ours`, which were printed
/// at different times, because ages change.
fn differences(path: &str, real: &Value, ours: &[Value], wrong: &mut Vec<String>) {
    let before = &ours[0];
    for field in ["kind", "apiVersion", "columnDefinitions"] {
        let (mut real, ours) = (real[field].clone(), &before[field]);
        for column in real.as_array_mut().into_iter().flatten() {
            column["description"] = json!("");
        }
        if real != *ours {
            wrong.push(format!("{path} {field}: real {real}, ours {ours}"));
        }
    }
    // The server keeps renewing its own leases, so resource versions of lists differ.
    let rows = |table: &Value| {
        let mut rows = table["rows"].as_array().cloned().unwrap_or_default();
        if path.contains("/componentstatuses") {
            rows.sort_by_key(|row| row["cells"].to_string()); // the real server lists them in the order of their responses
        }
        rows
    };
    let candidates: Vec<_> = ours.iter().map(rows).collect();
    let (real, before) = (rows(real), rows(before));
    if real.len() != before.len() {
        wrong.push(format!("{path}: real {} rows, ours {}", real.len(), before.len()));
    }
    for (at, (real, before)) in real.iter().zip(&before).enumerate() {
        let is_same =
            candidates.iter().any(|rows| rows.get(at).is_some_and(|row| row["cells"] == real["cells"]));
        if !is_same && !is_lost_in_v1(path, real) {
            wrong.push(format!("{path}:\n   real {}\n   ours {}", real["cells"], before["cells"]));
        }
        let is_lease = path.contains("/leases");
        for field in ["conditions", "object"] {
            if without_conversions(&real[field]) != without_conversions(&before[field]) && !is_lease {
                wrong.push(format!("{path} {field}: real {}, ours {}", real[field], before[field]));
            }
        }
    }
}

/// In `autoscaling/v1` the CPU metric has a field of its own, so its position among the metrics is lost. The real server
/// prints the stored object, which has the position; we print the object that a client would get.
fn is_lost_in_v1(path: &str, row: &Value) -> bool {
    path.starts_with("/apis/autoscaling/v1/") && row["cells"][0] == "v2-many"
}

/// Removes the annotations that stand for fields which an API version lacks. The real server's rows have the stored
/// metadata, without them; ours have the metadata that a client would get.
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
            object["metadata"].as_object_mut().expect("metadata is an object").remove("annotations");
        }
    }
    object
}

#[test]
fn all_but_four_kinds_have_columns_of_their_own() {
    let mut plain: Vec<_> = registry::builtin()
        .iter()
        .filter(|row| row.verbs.contains(Verb::List) && columns(row).definitions()[1].name == "Created At")
        .map(|row| &*row.name)
        .collect();
    plain.sort_unstable();
    assert_eq!(plain, ["clusterroles", "csistoragecapacities", "limitranges", "roles"]);
}

/// Creates an object, sets its status, and deletes it if the annotation `then` is `delete`.
async fn create(cluster: &Cluster, names: &str, object: &Value) -> Outcome<Result<Value, String>> {
    let (all, body) = creation(names, object.clone());
    let created = match send(cluster, Method::POST, &all, "application/json", &body).await? {
        Ok(created) => created,
        Err(error) => return Ok(Err(error)),
    };
    let one = format!("{all}/{}", object["metadata"]["name"].as_str().unwrap_or_default());
    if let Some(status) = object.get("status").filter(|_| find(names).subresource("status").is_some()) {
        let patch = json!({"status": status});
        let merge = "application/merge-patch+json";
        if let Err(error) = send(cluster, Method::PATCH, &format!("{one}/status"), merge, &patch).await? {
            return Ok(Err(error));
        }
    }
    if object["metadata"]["annotations"]["then"] == "delete"
        && let Err(error) = send(cluster, Method::DELETE, &one, "application/json", &json!({})).await?
    {
        return Ok(Err(error));
    }
    Ok(Ok(created))
}

/// Sends a request. The inner error is the message of the server.
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
    let response = cluster.send(request).await?;
    let body: Value = serde_json::from_slice(response.body())?;
    Ok(if response.status().is_success() { Ok(body) } else { Err(body["message"].to_string()) })
}

async fn get(cluster: &Cluster, path: &str, accept: &str) -> Outcome<Value> {
    let response = cluster.request(Method::GET, path, accept).await?;
    assert!(response.status().is_success(), "{path}: {}", String::from_utf8_lossy(response.body()));
    Ok(serde_json::from_slice(response.body())?)
}
