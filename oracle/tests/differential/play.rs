//! Play: sends the requests of a scenario to both servers.

use std::collections::HashMap;

use bytes::Bytes;
use http::{HeaderValue, Method, Request};
use serde_json::Value;
use watchkeeper_core::Encoded;
use watchkeeper_wire::{Kind, protobuf, transcode};

use crate::corpus::{Body, CorpusRequest, Scenario};
use crate::differential::Outcome;
use crate::differential::compare::{Difference, differences};
use crate::differential::normal::Symbols;
use crate::differential::pair::{Pair, Side};
use crate::differential::response::ApiResponse;

/// Plays a scenario on both servers, and returns the differences of each response. `adjust` is applied to each response
/// before it is normalized.
pub(crate) async fn scenario_differences<'a>(
    pair: &Pair,
    scenario: &'a Scenario,
    adjust: fn(&mut Value),
) -> Outcome<Vec<(&'a CorpusRequest, Vec<Difference>)>> {
    let (real, ours) =
        tokio::join!(play(pair, Side::Real, scenario, adjust), play(pair, Side::Ours, scenario, adjust));
    let (real, ours) = (real?, ours?);
    Ok(scenario
        .requests
        .iter()
        .zip(real.iter().zip(&ours))
        .map(|(request, (real, ours))| (request, differences(real, ours)))
        .collect())
}

/// Sends the requests of a scenario to one server, and returns the normalized responses.
async fn play(pair: &Pair, side: Side, scenario: &Scenario, adjust: fn(&mut Value)) -> Outcome<Vec<Value>> {
    let mut captures: HashMap<&str, Value> = HashMap::new();
    let mut symbols = Symbols::default();
    let mut responses = Vec::new();
    let namespace = Request::post("/api/v1/namespaces").header("content-type", "application/json");
    let body = format!(r#"{{"metadata":{{"name":"{}"}}}}"#, scenario.name);
    let created = pair.request(side, namespace.body(body.into())?, None).await?;
    if created.code() != 201 {
        return Err(format!("failed to create namespace {}: {:?}", scenario.name, created.0).into());
    }
    for step in &scenario.requests {
        let fill = |text: &str| {
            fill_captures(text, &scenario.name, &captures).map_err(|name| format!("{}: {name}", step.id))
        };
        let path = fill(&step.path)?;
        let is_apply = step.method.as_str() == "APPLY";
        let method = if is_apply { Method::PATCH } else { step.method.clone() };
        let mut request = Request::builder().method(method).uri(&path);
        let (body, mut content_type) = match &step.body {
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
        } else if step.method == Method::PATCH {
            content_type = "application/merge-patch+json";
        }
        for (name, value) in &step.headers {
            let value = fill(value)?;
            if !value.is_empty() {
                request = request.header(name, value);
            }
        }
        let has_content_type = step.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        if !body.is_empty() && !has_content_type {
            request = request.header("content-type", HeaderValue::from_static(content_type));
        }
        let may_be_cached = path.contains("resourceVersion=0") || path.contains("watch");
        if side == Side::Real && step.method == Method::GET && may_be_cached && symbols.newest() > 0 {
            pair.catch_up(&path, symbols.newest()).await?;
        }
        let ApiResponse(mut response) = pair.request(side, request.body(body)?, step.events).await?;
        symbols.learn(&response);
        if let Some(name) = &step.name {
            captures.insert(name, response.clone());
        }
        if step.headers_only {
            response["body"] = Value::Null;
        }
        adjust(&mut response);
        responses.push(response);
    }
    Ok(responses.iter().map(|response| symbols.normalize(response)).collect())
}

/// Replaces the captures in a text: `${ns}`, `${name.metadata.uid}`, `${name.metadata.resourceVersion-1}`, and
/// `${name.events.0.object}` for an event of a watch.
fn fill_captures(text: &str, namespace: &str, captures: &HashMap<&str, Value>) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (what, after) = after.split_once('}').ok_or("unterminated capture")?;
        out.push_str(before);
        rest = after;
        if what == "ns" {
            out.push_str(namespace);
            continue;
        }
        let at =
            what.find(['+', '-']).filter(|at| what[at + 1..].parse::<i64>().is_ok()).unwrap_or(what.len());
        let (place, offset) = what.split_at(at);
        let (name, path) = place.split_once('.').ok_or_else(|| format!("invalid capture: {what}"))?;
        let response = captures.get(name).ok_or_else(|| format!("request not found: {what}"))?;
        let root = if path.starts_with("events.") { response } else { &response["body"] };
        let pointer = format!("/{}", path.replace('.', "/"));
        // If only one server's response lacks the value, that is already a reported difference.
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
