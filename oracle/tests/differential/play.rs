//! Play: the requests of a scenario, sent to both servers.

use std::collections::HashMap;

use bytes::Bytes;
use http::{HeaderValue, Method, Request};
use serde_json::Value;
use watchkeeper_core::Encoded;
use watchkeeper_wire::{Kind, protobuf, transcode};

use crate::corpus::{Asked, Body, Scenario};
use crate::differential::Outcome;
use crate::differential::answer::Answer;
use crate::differential::compare::{Difference, differences};
use crate::differential::normal::Symbols;
use crate::differential::pair::{Pair, Side};

/// Plays a scenario on both servers, and compares what they answer. `shape` makes an answer comparable where its
/// normal form alone does not.
pub(crate) async fn scenario_differences<'a>(
    pair: &Pair,
    scenario: &'a Scenario,
    shape: fn(&mut Value),
) -> Outcome<Vec<(&'a Asked, Vec<Difference>)>> {
    let (real, ours) =
        tokio::join!(play(pair, Side::Real, scenario, shape), play(pair, Side::Ours, scenario, shape));
    let (real, ours) = (real?, ours?);
    Ok(scenario
        .requests
        .iter()
        .zip(real.iter().zip(&ours))
        .map(|(asked, (real, ours))| (asked, differences(real, ours)))
        .collect())
}

/// Sends the requests of a scenario to one server, and returns the answers in their normal form.
async fn play(pair: &Pair, side: Side, scenario: &Scenario, shape: fn(&mut Value)) -> Outcome<Vec<Value>> {
    let mut captures: HashMap<&str, Value> = HashMap::new();
    let mut symbols = Symbols::default();
    let mut answers = Vec::new();
    let namespace = Request::post("/api/v1/namespaces").header("content-type", "application/json");
    let body = format!(r#"{{"metadata":{{"name":"{}"}}}}"#, scenario.name);
    let made = pair.ask(side, namespace.body(body.into())?, None).await?;
    if made.code() != 201 {
        return Err(format!("no namespace {}: {:?}", scenario.name, made.0).into());
    }
    for asked in &scenario.requests {
        let fill = |text: &str| {
            filled(text, &scenario.name, &captures).map_err(|name| format!("{}: {name}", asked.id))
        };
        let path = fill(&asked.path)?;
        let is_apply = asked.method.as_str() == "APPLY";
        let method = if is_apply { Method::PATCH } else { asked.method.clone() };
        let mut request = Request::builder().method(method).uri(&path);
        let (body, mut content_type) = match &asked.body {
            Body::Text(text) => (Bytes::from(fill(text)?), "application/json"),
            Body::Repeated { times, text } => (Bytes::from(text.repeat(*times)), "application/json"),
            Body::Protobuf { api_version, kind, json } => {
                let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
                let message = transcode::to_protobuf(
                    &Encoded::json(fill(json)?.into_bytes()),
                    &Kind::new(group, version, kind),
                )?;
                (protobuf::wrap(api_version, kind, &message).into(), "application/vnd.kubernetes.protobuf")
            }
        };
        if is_apply {
            content_type = "application/apply-patch+yaml";
        } else if asked.method == Method::PATCH {
            content_type = "application/merge-patch+json";
        }
        for (name, value) in &asked.headers {
            let value = fill(value)?;
            if !value.is_empty() {
                request = request.header(name, value);
            }
        }
        let says_type = asked.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        if !body.is_empty() && !says_type {
            request = request.header("content-type", HeaderValue::from_static(content_type));
        }
        let is_old = path.contains("resourceVersion=0") || path.contains("watch");
        if side == Side::Real && asked.method == Method::GET && is_old && symbols.newest() > 0 {
            pair.catch_up(&path, symbols.newest()).await?;
        }
        let Answer(mut answer) = pair.ask(side, request.body(body)?, asked.events).await?;
        symbols.learn(&answer);
        if let Some(name) = &asked.name {
            captures.insert(name, answer.clone());
        }
        if asked.headers_only {
            answer["body"] = Value::Null;
        }
        shape(&mut answer);
        answers.push(answer);
    }
    Ok(answers.iter().map(|answer| symbols.normal(answer)).collect())
}

/// A text with its captures: `${ns}`, `${name.metadata.uid}`, `${name.metadata.resourceVersion-1}`,
/// `${name/events/0/...}` for what is not in the body.
fn filled(text: &str, namespace: &str, captures: &HashMap<&str, Value>) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (what, after) = after.split_once('}').ok_or("a capture without its end")?;
        out.push_str(before);
        rest = after;
        if what == "ns" {
            out.push_str(namespace);
            continue;
        }
        let at =
            what.find(['+', '-']).filter(|at| what[at + 1..].parse::<i64>().is_ok()).unwrap_or(what.len());
        let (place, offset) = what.split_at(at);
        let (name, path) = place.split_once('.').ok_or_else(|| format!("no capture: {what}"))?;
        let answer = captures.get(name).ok_or_else(|| format!("no answer of that name: {what}"))?;
        let root = if path.starts_with("events.") { answer } else { &answer["body"] };
        let pointer = format!("/{}", path.replace('.', "/"));
        // An answer that lacks what the other has is a difference already.
        let missing = Value::from("missing");
        let value = root.pointer(&pointer).unwrap_or(&missing);
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        match offset.parse::<i64>() {
            Ok(offset) => {
                let number: i64 = value.parse().unwrap_or_default();
                out.push_str(&(number + offset).to_string());
            }
            Err(_) => out.push_str(&value),
        }
    }
    Ok(out + rest)
}
