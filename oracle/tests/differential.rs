//! Sends a corpus of requests to the real kube-apiserver and to ours: the responses must be equal.
//!
//! The requests are in `differential/corpus/*.txt`, in ordered scenarios. `differential/explained.txt` lists each
//! expected difference with its reason. The test fails on a difference that is not listed, and on a listed difference
//! that no longer exists.
//!
//! `WATCHKEEPER_CORPUS=lists` runs only the scenarios whose `file/name` contains that text.

use std::collections::BTreeMap;
use std::path::Path;

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
const MIN_REQUESTS: usize = 300;

#[tokio::test(flavor = "multi_thread")]
async fn the_corpus_gets_the_same_responses_as_from_the_real_server() -> Outcome {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/differential");
    let only = std::env::var("WATCHKEEPER_CORPUS").unwrap_or_default();
    let mut explained = Explained::read(&std::fs::read_to_string(directory.join("explained.txt"))?)?;
    let pair = Pair::start().await?;
    let mut counts = BTreeMap::new();
    let mut report = String::new();
    let mut files: Vec<_> = std::fs::read_dir(directory.join("corpus"))?
        .map(|entry| Ok(entry?.path()))
        .collect::<Outcome<_>>()?;
    files.sort();
    for path in files {
        let file = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        for scenario in corpus::parse(&file, &std::fs::read_to_string(&path)?)? {
            if !format!("{file}/{}", scenario.name).contains(&only) {
                continue;
            }
            *counts.entry(file.clone()).or_insert(0) += scenario.requests.len();
            for (request, differences) in scenario_differences(&pair, &scenario, |_| ()).await? {
                let unexplained: Vec<_> =
                    differences.iter().filter(|it| !explained.covers(&request.id, &it.pointer)).collect();
                if !unexplained.is_empty() {
                    report += &format!("{}: {} {}\n", request.id, request.method, request.path);
                    unexplained.iter().for_each(|it| report += &format!("    {it}\n"));
                }
            }
        }
    }
    pair.stop().await;
    let total: usize = counts.values().sum();
    counts.iter().for_each(|(file, count)| println!("{count:5} {file}"));
    println!("{total:5} requests, {} explained differences", explained.len());
    if only.is_empty() {
        report += &explained.stale();
        if total < MIN_REQUESTS {
            report += &format!("only {total} requests\n");
        }
    }
    match report.is_empty() {
        true => Ok(()),
        false => {
            println!("{report}");
            Err("the responses differ".into())
        }
    }
}
