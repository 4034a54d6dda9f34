//! Custom resources: compares our server with the real kube-apiserver, and uses ours with kubectl and kube-rs.
//!
//! The requests of `custom_resources/corpus.txt` are sent to both servers, as in `differential.rs`; the definitions are
//! in `custom_resources/definitions.json`. `WATCHKEEPER_CORPUS=writes` selects the scenarios whose name contains `writes`.

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

/// Time limit for a condition to be met.
const TIMEOUT: Duration = Duration::from_secs(120);
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

fn definitions() -> Vec<Value> {
    serde_json::from_str(include_str!("custom_resources/definitions.json")).unwrap()
}

/// Creates the definitions, and waits until the server serves and has established them.
async fn define(client: &Client) -> Outcome {
    for definition in definitions() {
        let request = Request::post(DEFINITIONS).header("content-type", "application/json");
        let response = client.send(request.body(Bytes::from(definition.to_string()))?).await?;
        assert_eq!(response.status(), 201, "{}", String::from_utf8_lossy(response.body()));
    }
    for path in
        ["/apis/example.com/v1/widgets", "/apis/example.com/v1/crates", "/openapi/v3/apis/example.com/v1"]
    {
        timeout(TIMEOUT, async {
            while client.send(Request::get(path).body(Bytes::new())?).await?.status() != 200 {}
            Outcome::Ok(())
        })
        .await??;
    }
    let is_established = |definition: &Value| {
        let conditions = definition["status"]["conditions"].as_array().into_iter().flatten();
        conditions.filter(|it| it["type"] == "Established").any(|it| it["status"] == "True")
    };
    for definition in definitions() {
        let path = format!("{DEFINITIONS}/{}", definition["metadata"]["name"].as_str().unwrap());
        timeout(TIMEOUT, async {
            loop {
                let response = client.send(Request::get(&path).body(Bytes::new())?).await?;
                if is_established(&serde_json::from_slice(response.body())?) {
                    return Outcome::Ok(());
                }
            }
        })
        .await??;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn responses_for_custom_resources_match_the_real_server() -> Outcome {
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
        for (request, differences) in scenario_differences(&pair, &scenario, comparable).await? {
            let differences: Vec<_> =
                differences.iter().filter(|it| !explained.covers(&request.id, &it.pointer)).collect();
            if !differences.is_empty() {
                report += &format!("{}: {} {}\n", request.id, request.method, request.path);
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

/// Removes known differences, which built-in kinds have too: our generic table columns have no descriptions, and our
/// discovery documents have no storage version hashes. Orders what the real server returns in random order.
fn comparable(response: &mut Value) {
    let Some(body) = response["body"].as_object_mut() else { return };
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

/// Sorts the causes of an error by field, both in `details` and in the message. The real server lists them in random
/// order, because it iterates over maps; the order of the causes of one field is kept.
fn order_by_field(status: &mut serde_json::Map<String, Value>) {
    let Some(message) = status.get("message").and_then(Value::as_str).map(str::to_owned) else { return };
    let Some(Value::Array(causes)) = status.get_mut("details").and_then(|it| it.get_mut("causes")) else {
        return;
    };
    let join = |causes: &[Value]| {
        let text = |cause: &Value, name: &str| cause[name].as_str().unwrap_or_default().to_owned();
        let parts = causes.iter().map(|it| format!("{}: {}", text(it, "field"), text(it, "message")));
        parts.collect::<Vec<_>>().join(", ")
    };
    let original = join(causes);
    assert!(message.contains(&original), "message {message:?} does not list the causes {original:?}");
    causes.sort_by_key(|cause| cause["field"].to_string());
    let message = message.replace(&original, &join(causes));
    status["message"] = message.into();
}
