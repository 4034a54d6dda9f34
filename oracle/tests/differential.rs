//! A corpus of requests, to the real kube-apiserver and to ours: the answers must be the same.
//!
//! The requests are in `differential/corpus/*.txt`, in ordered scenarios. What differs and is meant to, or is not
//! built yet, is in `differential/explained.txt` with its reason: a difference that is not there fails the test,
//! and so does a line there that no longer differs.
//!
//! `WATCHKEEPER_CORPUS=lists` runs the scenarios whose `file/name` contains that text only.

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

/// How many requests the corpus has at least.
const LEAST: usize = 300;

#[tokio::test(flavor = "multi_thread")]
async fn the_corpus_is_answered_as_by_the_real_server() -> Outcome {
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
            for (asked, differences) in scenario_differences(&pair, &scenario, |_| ()).await? {
                let unexplained: Vec<_> =
                    differences.iter().filter(|it| !explained.covers(&asked.id, &it.pointer)).collect();
                if !unexplained.is_empty() {
                    report += &format!("{}: {} {}\n", asked.id, asked.method, asked.path);
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
        if total < LEAST {
            report += &format!("only {total} requests\n");
        }
    }
    match report.is_empty() {
        true => Ok(()),
        false => {
            println!("{report}");
            Err("the answers differ".into())
        }
    }
}
