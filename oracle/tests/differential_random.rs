//! Sends random sequences of requests to the real kube-apiserver and to ours: every response, the final state and the
//! watch history from the start must be equal.
//!
//! `WATCHKEEPER_SEEDS=100..200` runs other seeds than the default ones. A failure prints the seed and the requests up
//! to the first response that differs.

use std::collections::HashMap;
use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use futures_util::future::join_all;
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
use plan::{KINDS, Step, WatchStep};

/// The default seeds.
const SEEDS: Range<u64> = 0..8;
/// Number of steps per seed, not counting those that close watches.
const LENGTH: usize = 80;

#[tokio::test(flavor = "multi_thread")]
async fn random_requests_get_the_same_responses_as_from_the_real_server() -> Outcome {
    let pair = Pair::start().await?;
    let (mut count, mut failed) = (0, Vec::new());
    for seed in seeds()? {
        let prefix = format!("random-s{seed}"); // must not look like a resource version
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
        let end = if at >= steps.len() { " in a final list or watch history" } else { "" };
        println!("    the responses differ{end}:");
        found.iter().for_each(|difference| println!("    {difference}"));
        failed.push(seed);
    }
    pair.stop().await;
    println!("{count} requests");
    match failed.is_empty() {
        true => Ok(()),
        false => Err(format!("the responses differ for the seeds {failed:?}").into()),
    }
}

fn seeds() -> Outcome<Range<u64>> {
    let Ok(text) = std::env::var("WATCHKEEPER_SEEDS") else { return Ok(SEEDS) };
    let (from, to) = text.split_once("..").ok_or("invalid WATCHKEEPER_SEEDS: want FROM..TO")?;
    Ok(from.parse()?..to.parse()?)
}

/// Values from one server's responses that later requests use.
#[derive(Default)]
struct Context {
    symbols: Symbols,
    /// The newest metadata of each object, by path.
    newest: HashMap<String, Value>,
    /// The last continue token.
    token: String,
    /// Open watches by number.
    watches: HashMap<usize, OpenWatch>,
}

async fn play(pair: &Pair, side: Side, prefix: &str, steps: &[Step]) -> Outcome<Vec<Value>> {
    let mut context = Context::default();
    let mut responses = Vec::new();
    let mut first = String::new();
    for namespace in ["a", "b"] {
        let body = format!(r#"{{"metadata":{{"name":"{prefix}-{namespace}"}}}}"#);
        let request = Request::post("/api/v1/namespaces").header("content-type", "application/json");
        let created = pair.request(side, request.body(body.into())?, None).await?;
        if created.code() != 201 {
            return Err(format!("failed to create a namespace: {}", created.0).into());
        }
        context.symbols.learn(&created.0); // later requests never use a version older than the real server's caches
        first = created.0["body"]["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned();
    }
    for step in steps {
        let path = context.fill(&step.path);
        let may_be_cached = path.contains("resourceVersion=") || step.watch != WatchStep::None;
        if side == Side::Real && step.method == Method::GET && may_be_cached {
            pair.catch_up(&path, context.symbols.newest()).await?;
        }
        let mut request = Request::builder().method(step.method.clone()).uri(&path);
        if !step.content_type.is_empty() {
            request = request.header("content-type", step.content_type);
        }
        if !step.accept.is_empty() {
            request = request.header("accept", step.accept);
        }
        let request = request.body(context.fill(&step.body).into())?;
        if let WatchStep::Open(number) = step.watch {
            context.watches.insert(number, OpenWatch::open(pair, side, request).await?);
            responses.push(Value::Null);
            continue;
        }
        let mut response = pair.request(side, request, None).await?.0;
        context.learn(&path, &response);
        if let WatchStep::Close(number) = step.watch
            && let Some(watch) = context.watches.remove(&number)
        {
            let last = response["body"]["metadata"]["resourceVersion"].as_str().unwrap_or_default();
            let mut watched = watch.until(last).await?.0;
            if let Some(events) = watched["events"].as_array_mut() {
                events.retain(|event| !is_optional(event));
            }
            context.symbols.learn(&watched);
            response = json!({"last": response, "watched": watched});
        }
        if path.contains("NotOlderThan") && response["code"] == 200 {
            // The server may return any newer version.
            response["body"]["metadata"]["resourceVersion"] = "not older".into();
        }
        responses.push(response);
    }
    // The final state, and the watch history from the start.
    for (group, resource) in KINDS {
        for namespace in ["a", "b"] {
            let path = format!("{group}/namespaces/{prefix}-{namespace}/{resource}");
            let list = pair.request(side, Request::get(&path).body(Bytes::new())?, None).await?;
            responses.push(list.0);
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
    let histories = histories.into_iter().map(|request| pair.request(side, request, None));
    for history in join_all(histories).await {
        let history = history?.0;
        context.symbols.learn(&history);
        responses.push(history);
    }
    Ok(responses.iter().map(|response| context.symbols.normalize(response)).collect())
}

/// Returns whether a server may send or omit an event: a bookmark, unless it marks the end of the initial events.
fn is_optional(event: &Value) -> bool {
    event["type"] == "BOOKMARK" && !event.to_string().contains("k8s.io/initial-events-end")
}

impl Context {
    fn learn(&mut self, path: &str, response: &Value) {
        self.symbols.learn(response);
        let body = &response["body"];
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

    /// Replaces the placeholders in a text.
    fn fill(&self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('<') {
            let Some((placeholder, after)) = after.split_once('>') else { break };
            out.push_str(before);
            rest = after;
            let (name, argument) = placeholder.split_once(' ').unwrap_or((placeholder, ""));
            let of = |field: &str| self.newest.get(argument).and_then(|it| it[field].as_str());
            match name {
                "latest" => out.push_str(of("resourceVersion").unwrap_or("1")),
                "uid" => out.push_str(of("uid").unwrap_or("none")),
                "continue" => out.push_str(&self.token),
                "page" => {
                    let (before, name) = argument.split_once(' ').unwrap_or_default();
                    let version = self.symbols.back(before.parse().unwrap_or_default());
                    let token = json!({"v": "meta.k8s.io/v1", "rv": version, "start": format!("{name}\0")});
                    out.push_str(&URL_SAFE_NO_PAD.encode(token.to_string()));
                }
                _ => out.push_str(&self.symbols.back(argument.parse().unwrap_or_default()).to_string()),
            }
        }
        out + rest
    }
}
