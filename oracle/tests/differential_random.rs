//! Random sequences of requests, to the real kube-apiserver and to ours: every answer, the state at the end and the
//! history from the beginning must be the same.
//!
//! `WATCHKEEPER_SEEDS=100..200` tries those seeds in place of the fixed ones. A failure prints the seed and the
//! requests up to the first answer that differs.

use std::collections::HashMap;
use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http::{Method, Request};
use serde_json::{Value, json};

#[path = "differential/mod.rs"]
mod differential;
#[path = "differential/open_watch.rs"]
mod open_watch;
#[path = "differential/plan.rs"]
mod plan;

use differential::Outcome;
use differential::compare::differences;
use differential::normal::Symbols;
use differential::pair::{Pair, Side};
use open_watch::OpenWatch;
use plan::{KINDS, Step, Watching};

/// The seeds of every run, and how many requests each is good for.
const SEEDS: Range<u64> = 0..8;
const LENGTH: usize = 80;

#[tokio::test(flavor = "multi_thread")]
async fn random_requests_are_answered_as_by_the_real_server() -> Outcome {
    let pair = Pair::start().await?;
    let (mut count, mut failed) = (0, Vec::new());
    for seed in seeds()? {
        let prefix = format!("random-s{seed}"); // not a number, which might be taken for a version
        let steps = plan::plan(seed, &prefix, LENGTH);
        let (real, ours) = tokio::join!(
            play(&pair, Side::Real, &prefix, &steps), //
            play(&pair, Side::Ours, &prefix, &steps)
        );
        let (real, ours) = (real?, ours?);
        count += real.len();
        let found = real.iter().zip(&ours).map(|(real, ours)| differences(real, ours));
        let Some((at, found)) = found.enumerate().find(|(_, found)| !found.is_empty()) else { continue };
        println!("seed {seed}, after {at} requests:");
        for step in steps.iter().take(at + 1) {
            println!("  {step}");
        }
        let end = if at >= steps.len() { " at the end, in a list or in the history" } else { "" };
        println!("    the answers differ{end}:");
        found.iter().for_each(|difference| println!("    {difference}"));
        failed.push(seed);
    }
    pair.stop().await;
    println!("{count} requests");
    match failed.is_empty() {
        true => Ok(()),
        false => Err(format!("the answers differ for the seeds {failed:?}").into()),
    }
}

fn seeds() -> Outcome<Range<u64>> {
    let Ok(text) = std::env::var("WATCHKEEPER_SEEDS") else { return Ok(SEEDS) };
    let (from, to) = text.split_once("..").ok_or("seeds are FROM..TO")?;
    Ok(from.parse()?..to.parse()?)
}

/// What one server has said that later requests may refer to.
#[derive(Default)]
struct Memory {
    symbols: Symbols,
    /// The newest metadata of each object, by its path.
    newest: HashMap<String, Value>,
    token: String,
    /// By their numbers.
    watches: HashMap<usize, OpenWatch>,
}

async fn play(pair: &Pair, side: Side, prefix: &str, steps: &[Step]) -> Outcome<Vec<Value>> {
    let mut memory = Memory::default();
    let mut answers = Vec::new();
    let mut first = String::new();
    for namespace in ["a", "b"] {
        let body = format!(r#"{{"metadata":{{"name":"{prefix}-{namespace}"}}}}"#);
        let request = Request::post("/api/v1/namespaces").header("content-type", "application/json");
        let made = pair.ask(side, request.body(body.into())?, None).await?;
        if made.code() != 201 {
            return Err(format!("no namespace: {}", made.0).into());
        }
        memory.symbols.learn(&made.0); // no version that is asked for is older than the real server's caches
        first = made.0["body"]["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned();
    }
    for step in steps {
        let path = memory.filled(&step.path);
        let is_old = path.contains("resourceVersion=") || step.watch != Watching::No;
        if side == Side::Real && step.method == Method::GET && is_old {
            pair.catch_up(&path, memory.symbols.newest()).await?;
        }
        let mut request = Request::builder().method(step.method.clone()).uri(&path);
        if !step.content_type.is_empty() {
            request = request.header("content-type", step.content_type);
        }
        if !step.accept.is_empty() {
            request = request.header("accept", step.accept);
        }
        let request = request.body(memory.filled(&step.body).into())?;
        if let Watching::Open(number) = step.watch {
            memory.watches.insert(number, OpenWatch::open(pair, side, request).await?);
            answers.push(Value::Null);
            continue;
        }
        let mut answer = pair.ask(side, request, None).await?.0;
        memory.learn(&path, &answer);
        if let Watching::Close(number) = step.watch
            && let Some(watch) = memory.watches.remove(&number)
        {
            let last = answer["body"]["metadata"]["resourceVersion"].as_str().unwrap_or_default();
            let mut told = watch.until(last).await?.0;
            if let Some(events) = told["events"].as_array_mut() {
                events.retain(|event| !is_free(event));
            }
            memory.symbols.learn(&told);
            answer = json!({"last": answer, "told": told});
        }
        if path.contains("NotOlderThan") && answer["code"] == 200 {
            answer["body"]["metadata"]["resourceVersion"] = "not older".into(); // how much newer is free
        }
        answers.push(answer);
    }
    // The state, and how it came to be.
    for (group, resource) in KINDS {
        for namespace in ["a", "b"] {
            let path = format!("{group}/namespaces/{prefix}-{namespace}/{resource}");
            let list = pair.ask(side, Request::get(&path).body(Bytes::new())?, None).await?;
            answers.push(list.0);
        }
    }
    let histories = KINDS.iter().flat_map(|(group, resource)| {
        ["a", "b"].map(|namespace| {
            let path = format!("{group}/namespaces/{prefix}-{namespace}/{resource}");
            ["", "&fieldSelector=metadata.name%3Dx", "&labelSelector=app%3Da"].map(|selector| {
                let query = format!("watch=1&resourceVersion={first}&timeoutSeconds=2{selector}");
                Request::get(format!("{path}?{query}")).body(Bytes::new())
            })
        })
    });
    let histories: Vec<_> = histories.flatten().collect::<Result<_, _>>()?;
    let told = histories.into_iter().map(|request| pair.ask(side, request, None));
    for history in futures(told).await {
        let history = history?.0;
        memory.symbols.learn(&history);
        answers.push(history);
    }
    Ok(answers.iter().map(|answer| memory.symbols.normal(answer)).collect())
}

/// Whether an event may be told or not: a bookmark, unless it ends the state at the beginning.
fn is_free(event: &Value) -> bool {
    event["type"] == "BOOKMARK" && !event.to_string().contains("k8s.io/initial-events-end")
}

/// Runs futures side by side, in this task.
async fn futures<F: Future>(pending: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut pending: Vec<_> = pending.map(|future| (Box::pin(future), None)).collect();
    std::future::poll_fn(|context| {
        for (future, done) in pending.iter_mut().filter(|(_, done)| done.is_none()) {
            if let std::task::Poll::Ready(output) = future.as_mut().poll(context) {
                *done = Some(output);
            }
        }
        match pending.iter().all(|(_, done)| done.is_some()) {
            true => std::task::Poll::Ready(()),
            false => std::task::Poll::Pending,
        }
    })
    .await;
    pending.into_iter().filter_map(|(_, done)| done).collect()
}

impl Memory {
    fn learn(&mut self, path: &str, answer: &Value) {
        self.symbols.learn(answer);
        let body = &answer["body"];
        let collection = path.split('?').next().unwrap_or_default();
        let metadata = &body["metadata"];
        if let Some(name) = metadata["name"].as_str() {
            let object = match collection.ends_with(&format!("/{name}")) {
                true => collection.to_owned(),
                false => format!("{collection}/{name}"),
            };
            self.newest.insert(object, metadata.clone());
        }
        if let Some(token) = metadata["continue"].as_str() {
            token.clone_into(&mut self.token);
        }
    }

    fn filled(&self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('<') {
            let Some((what, after)) = after.split_once('>') else { break };
            out.push_str(before);
            rest = after;
            let (what, which) = what.split_once(' ').unwrap_or((what, ""));
            let of = |field: &str| self.newest.get(which).and_then(|it| it[field].as_str());
            match what {
                "latest" => out.push_str(of("resourceVersion").unwrap_or("1")),
                "uid" => out.push_str(of("uid").unwrap_or("none")),
                "continue" => out.push_str(&self.token),
                "page" => {
                    let (before, name) = which.split_once(' ').unwrap_or_default();
                    let version = self.symbols.back(before.parse().unwrap_or_default());
                    let token = json!({"v": "meta.k8s.io/v1", "rv": version, "start": format!("{name}\0")});
                    out.push_str(&URL_SAFE_NO_PAD.encode(token.to_string()));
                }
                _ => out.push_str(&self.symbols.back(which.parse().unwrap_or_default()).to_string()),
            }
        }
        out + rest
    }
}
