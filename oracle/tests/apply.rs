//! Server-side apply, by the real kube-apiserver and by ours: the same answers, and the same owners of each field.
//!
//! The requests are in `apply/corpus.txt`, in the form of `differential/corpus`. `managedFields` are compared entry
//! for entry: in no order, since that hangs on the second in which each was written, and with `<time>` for their
//! times. Differences that are meant to be are in `apply/explained.txt`.
//!
//! `WATCHKEEPER_CORPUS=scale` runs the scenarios whose name contains that text only.

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

/// How many requests the corpus has at least.
const LEAST: usize = 60;

#[tokio::test(flavor = "multi_thread")]
async fn objects_are_applied_as_by_the_real_server() -> Outcome {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/apply");
    let only = std::env::var("WATCHKEEPER_CORPUS").unwrap_or_default();
    let mut explained = Explained::read(&std::fs::read_to_string(directory.join("explained.txt"))?)?;
    let pair = Pair::start().await?;
    let (mut total, mut report) = (0, String::new());
    let scenarios = corpus::parse("apply", &std::fs::read_to_string(directory.join("corpus.txt"))?)?;
    for scenario in scenarios.iter().filter(|scenario| scenario.name.contains(&only)) {
        total += scenario.requests.len();
        for (asked, differences) in scenario_differences(&pair, scenario, show_owners).await? {
            let unexplained: Vec<_> =
                differences.iter().filter(|it| !explained.covers(&asked.id, &it.pointer)).collect();
            if !unexplained.is_empty() {
                report += &format!("{}: {} {}\n", asked.id, asked.method, asked.path);
                unexplained.iter().for_each(|it| report += &format!("    {it}\n"));
            }
        }
    }
    pair.stop().await;
    println!("{total:5} requests, {} explained differences", explained.len());
    if only.is_empty() {
        report += &explained.stale();
        assert!(total >= LEAST, "only {total} requests");
    }
    match report.is_empty() {
        true => Ok(()),
        false => {
            println!("{report}");
            Err("the answers differ".into())
        }
    }
}

/// Takes the owners out of the body, where the normal form would drop them.
fn show_owners(answer: &mut Value) {
    let mut owners = answer["body"]["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    for owner in &mut owners {
        if owner.get("time").is_some() {
            owner["time"] = "<time>".into();
        }
    }
    let place = |owner: &Value| {
        ["operation", "manager", "subresource", "apiVersion"].map(|name| owner[name].to_string())
    };
    owners.sort_by_key(place);
    if !owners.is_empty() {
        answer["owners"] = owners.into();
    }
    // Of several managers, the real server names any first.
    if let Some(Value::Array(causes)) = answer.pointer_mut("/body/details/causes")
        && causes.iter().all(|cause| cause["reason"] == "FieldManagerConflict")
    {
        causes.sort_by_key(|cause| (cause["message"].to_string(), cause["field"].to_string()));
    }
}
