//! Server-side apply: the responses of the real kube-apiserver and of ours match, and so do the owners of each field.
//!
//! The requests are in `apply/corpus.txt`, in the form of `differential/corpus`. `managedFields` are compared entry
//! by entry: in any order, since the order depends on the second of each write, and with `<time>` in place of times.
//! Intended differences are listed in `apply/explained.txt`.
//!
//! `WATCHKEEPER_CORPUS=scale` selects the scenarios whose name contains `scale`.

use std::path::Path;

use serde_json::Value;

#[path = "differential/corpus.rs"]
mod corpus;
#[path = "differential/mod.rs"]
mod differential;
#[path = "differential/explained.rs"]
mod explained;
#[path = "differential/play.rs"]
mod play;

use differential::Outcome;
use differential::pair::Pair;
use explained::Explained;
use play::scenario_differences;

/// The minimum number of requests in the corpus.
const MIN_REQUESTS: usize = 60;

#[tokio::test(flavor = "multi_thread")]
async fn server_side_apply_matches_the_real_server() -> Outcome {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/apply");
    let only = std::env::var("WATCHKEEPER_CORPUS").unwrap_or_default();
    let mut explained = Explained::read(&std::fs::read_to_string(directory.join("explained.txt"))?)?;
    let pair = Pair::start().await?;
    let (mut total, mut report) = (0, String::new());
    let scenarios = corpus::parse("apply", &std::fs::read_to_string(directory.join("corpus.txt"))?)?;
    for scenario in scenarios.iter().filter(|scenario| scenario.name.contains(&only)) {
        total += scenario.requests.len();
        for (request, differences) in scenario_differences(&pair, scenario, show_owners).await? {
            let unexplained: Vec<_> =
                differences.iter().filter(|it| !explained.covers(&request.id, &it.pointer)).collect();
            if !unexplained.is_empty() {
                report += &format!("{}: {} {}\n", request.id, request.method, request.path);
                unexplained.iter().for_each(|it| report += &format!("    {it}\n"));
            }
        }
    }
    pair.stop().await;
    println!("{total:5} requests, {} explained differences", explained.len());
    if only.is_empty() {
        report += &explained.stale();
        assert!(total >= MIN_REQUESTS, "only {total} requests");
    }
    match report.is_empty() {
        true => Ok(()),
        false => {
            println!("{report}");
            Err("the responses differ".into())
        }
    }
}

/// Copies `managedFields` to `owners`: the normalization of bodies removes it.
fn show_owners(response: &mut Value) {
    let mut owners = response["body"]["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    for owner in &mut owners {
        if owner.get("time").is_some() {
            owner["time"] = "<time>".into();
        }
    }
    let sort_key = |owner: &Value| {
        ["operation", "manager", "subresource", "apiVersion"].map(|name| owner[name].to_string())
    };
    owners.sort_by_key(sort_key);
    if !owners.is_empty() {
        response["owners"] = owners.into();
    }
    // The real server lists conflicting managers in random order.
    if let Some(Value::Array(causes)) = response.pointer_mut("/body/details/causes")
        && causes.iter().all(|cause| cause["reason"] == "FieldManagerConflict")
    {
        causes.sort_by_key(|cause| (cause["message"].to_string(), cause["field"].to_string()));
    }
}
