//! Custom resources: the same requests to the real kube-apiserver and to ours, with kubectl and with kube.
//!
//! `custom_resources/corpus.txt` is played as the other corpora are (see `differential.rs`), on the definitions of
//! `custom_resources/definitions.json`. `WATCHKEEPER_CORPUS=writes` plays the scenarios alone that are called so.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "differential/corpus.rs"]
mod corpus;
#[path = "differential/mod.rs"]
mod differential;
#[path = "differential/explained.rs"]
mod explained;
#[path = "differential/play.rs"]
mod play;

#[path = "custom_resources/kube.rs"]
mod kube_client;
#[path = "custom_resources/kubectl.rs"]
mod kubectl;

use std::time::Duration;

use bytes::Bytes;
use http::Request;
use serde_json::Value;
use tokio::time::timeout;
use watchkeeper_oracle::Client;

use differential::Outcome;
use differential::pair::{Pair, Side};
use explained::Explained;
use play::scenario_differences;

/// What takes longer does not happen.
const PATIENCE: Duration = Duration::from_secs(120);
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

fn definitions() -> Vec<Value> {
    serde_json::from_str(include_str!("custom_resources/definitions.json")).unwrap()
}

/// Has the definitions, and waits until the server has what they define.
async fn define(client: &Client) -> Outcome {
    for definition in definitions() {
        let request = Request::post(DEFINITIONS).header("content-type", "application/json");
        let answer = client.send(request.body(Bytes::from(definition.to_string()))?).await?;
        assert_eq!(answer.status(), 201, "{}", String::from_utf8_lossy(answer.body()));
    }
    for served in
        ["/apis/example.com/v1/widgets", "/apis/example.com/v1/crates", "/openapi/v3/apis/example.com/v1"]
    {
        timeout(PATIENCE, async {
            while client.send(Request::get(served).body(Bytes::new())?).await?.status() != 200 {}
            Outcome::Ok(())
        })
        .await??;
    }
    let established = |found: &Value| {
        let conditions = found["status"]["conditions"].as_array().into_iter().flatten();
        conditions.filter(|it| it["type"] == "Established").any(|it| it["status"] == "True")
    };
    for definition in definitions() {
        let path = format!("{DEFINITIONS}/{}", definition["metadata"]["name"].as_str().unwrap());
        timeout(PATIENCE, async {
            loop {
                let found = client.send(Request::get(&path).body(Bytes::new())?).await?;
                if established(&serde_json::from_slice(found.body())?) {
                    return Outcome::Ok(());
                }
            }
        })
        .await??;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn custom_resources_are_answered_as_by_the_real_server() -> Outcome {
    let only = std::env::var("WATCHKEEPER_CORPUS").unwrap_or_default();
    let mut explained = Explained::read(include_str!("custom_resources/explained.txt"))?;
    let pair = Pair::start().await?;
    tokio::try_join!(define(pair.client(Side::Real)), define(pair.client(Side::Ours)))?;
    let (mut report, mut requests) = (String::new(), 0);
    for scenario in corpus::parse("custom", include_str!("custom_resources/corpus.txt"))? {
        if !scenario.name.contains(&only) {
            continue;
        }
        requests += scenario.requests.len();
        for (asked, differences) in scenario_differences(&pair, &scenario, comparable).await? {
            let differences: Vec<_> =
                differences.iter().filter(|it| !explained.covers(&asked.id, &it.pointer)).collect();
            if !differences.is_empty() {
                report += &format!("{}: {} {}\n", asked.id, asked.method, asked.path);
                differences.iter().for_each(|it| report += &format!("    {it}\n"));
            }
        }
    }
    pair.stop().await;
    println!("{requests} requests, {} explained differences", explained.len());
    if only.is_empty() {
        report += &explained.stale();
    }
    assert!(report.is_empty(), "{report}");
    Ok(())
}

/// Columns of tables have no descriptions here but those that a definition gives them, and discovery does not say how
/// objects are stored, as of built-in kinds.
fn comparable(answer: &mut Value) {
    let Some(body) = answer["body"].as_object_mut() else { return };
    for column in body.get_mut("columnDefinitions").and_then(Value::as_array_mut).into_iter().flatten() {
        if matches!(column["name"].as_str(), Some("Name" | "Age" | "Created At")) {
            column["description"] = "".into();
        }
    }
    if body.get("reason").is_some_and(|it| it == "Invalid") {
        order_by_field(body);
    }
    let Some(Value::Array(resources)) = body.get_mut("resources") else { return };
    for resource in resources.iter_mut() {
        resource.as_object_mut().unwrap().remove("storageVersionHash");
        if let Some(verbs) = resource["verbs"].as_array_mut() {
            verbs.sort_by_key(ToString::to_string);
        }
    }
    resources.sort_by_key(|resource| resource["name"].to_string());
}

/// The real server walks the properties of a schema in random order, and its causes come in that order: here they are
/// ordered by field, those of one field as they came. So are they in the message, which must tell them as they stand.
fn order_by_field(refusal: &mut serde_json::Map<String, Value>) {
    let Some(message) = refusal.get("message").and_then(Value::as_str).map(str::to_owned) else { return };
    let Some(Value::Array(causes)) = refusal.get_mut("details").and_then(|it| it.get_mut("causes")) else {
        return;
    };
    let told = |causes: &[Value]| {
        let text = |cause: &Value, name: &str| cause[name].as_str().unwrap_or_default().to_owned();
        let parts = causes.iter().map(|it| format!("{}: {}", text(it, "field"), text(it, "message")));
        parts.collect::<Vec<_>>().join(", ")
    };
    let as_they_came = told(causes);
    assert!(message.contains(&as_they_came), "{message} says something else than {as_they_came}");
    causes.sort_by_key(|cause| cause["field"].to_string());
    let message = message.replace(&as_they_came, &told(causes));
    refusal["message"] = message.into();
}
