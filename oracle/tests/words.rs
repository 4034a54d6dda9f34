//! Parsers: we accept the same texts as Go, and our results are the same.
//!
//! Intended differences are noted, with a reason, where the results are compared.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{Debug, Display, Write as _};
use std::time::Duration;

use serde_json::{Value, json};
use watchkeeper_core::{
    FieldOperator, FieldRequirement, FieldSelector, GroupResource, LabelSelector, ResourceVersion, Status,
    StructuredSelector, Timestamp, UnexpectedResponse,
};
use watchkeeper_oracle::{Words, words};
use watchkeeper_wire::quantity;

type Outcome = Result<(), Box<dyn std::error::Error>>;
/// Labels or fields.
type Set = BTreeMap<String, String>;
/// A predicate with its name in Go.
type Predicate = (&'static str, fn(&Status) -> bool);

/// The maximum number of differences that are shown.
const SHOWN: usize = 10;
/// The maximum length of each.
const SHOWN_CHARS: usize = 300;

/// Calls `ours` with every text and Go's result, and fails if it returns an error, which is our result. There must be at
/// least `min_texts` texts, of which Go accepts at least `min_accepted`: comparing errors alone would prove little.
fn compare(
    words: Words,
    min_texts: usize,
    min_accepted: usize,
    mut ours: impl FnMut(&str, &Value) -> Result<(), String>,
) -> Outcome {
    let (mut texts, mut accepted, mut different, mut report) = (0, 0, 0, String::new());
    for word in words {
        let word = word?;
        let go: Value = serde_json::from_str(&word.result)?;
        texts += 1;
        accepted += usize::from(!go.is_null());
        if let Err(ours) = ours(&word.input, &go) {
            different += 1;
            if different <= SHOWN {
                let [text, go] = [&word.input, &word.result].map(|text| short(text));
                writeln!(report, "{text:?}\n  ours {}\n  Go   {go}", short(&ours))?;
            }
        }
    }
    assert!(different == 0, "{different} of {texts} differ\n{report}");
    assert!(
        texts >= min_texts && accepted >= min_accepted,
        "only {texts} texts, of which Go accepts {accepted}"
    );
    Ok(())
}

fn short(text: &str) -> String {
    text.chars().take(SHOWN_CHARS).collect()
}

fn text_of(error: impl Display) -> String {
    error.to_string()
}

/// Returns our result as an error unless it equals Go's.
fn same<T: PartialEq<U> + Debug, U>(ours: &T, go: &U) -> Result<(), String> {
    if ours == go { Ok(()) } else { Err(format!("{ours:?}")) }
}

/// Returns our value if both accept the text, and nothing if both reject it; anything else is a difference.
fn if_accepted<T: Display, E: Display>(ours: Result<T, E>, go: &Value) -> Result<Option<T>, String> {
    match (ours, go.is_null()) {
        (Ok(ours), false) => Ok(Some(ours)),
        (Err(_), true) => Ok(None),
        (Ok(ours), true) => Err(ours.to_string()),
        (Err(error), false) => Err(error.to_string()),
    }
}

/// The canonical text of a selector in Go's result.
fn text_in(go: &Value) -> &str {
    go["text"].as_str().unwrap_or_default()
}

/// Reads the sets that selectors are matched with, which come first in the stream.
fn sets(words: &mut Words) -> Result<Vec<Set>, Box<dyn std::error::Error>> {
    let first = words.next().ok_or("the stream is empty")??;
    Ok(serde_json::from_str(&first.result)?)
}

/// Returns a 0 or a 1 for each set.
fn selects(sets: &[Set], matches: impl Fn(&Set) -> bool) -> String {
    sets.iter().map(|set| if matches(set) { '1' } else { '0' }).collect()
}

/// Compares a label selector that both accept; `text` is Go's canonical text in our form.
fn compare_labels(ours: &LabelSelector, go: &Value, text: &str, sets: &[Set]) -> Result<(), String> {
    same(&ours.to_string(), &text)?;
    same(&LabelSelector::parse(text).as_ref(), &Ok(ours))?;
    same(&json!(selects(sets, |set| ours.matches(|key| set.get(key).map(String::as_str)))), &go["selects"])?;
    for requirement in ours.requirements() {
        let (key, exact) = (requirement.key(), ours.exact_value(requirement.key()));
        // Go uses only the first requirement of a key; we use any that determines the value.
        let several = ours.requirements().iter().filter(|other| other.key() == key).count() > 1;
        // Go does not notice that a list with one value, twice, determines the value.
        let twice = exact.is_some_and(|value| text_in(go).contains(&format!("({value},{value}")));
        if exact != go["exact"][key].as_str() && !((several || twice) && go["exact"][key].is_null()) {
            return Err(format!("exact value of {key} is {exact:?}"));
        }
    }
    Ok(())
}

/// Converts Go's canonical text to ours: Go keeps `==` and the leading zeros of bounds; we print `=` and no zeros.
fn canonical(go: &str) -> String {
    let mut text = String::new();
    for part in go.replace("==", "=").split_inclusive(['>', '<']) {
        let mut rest = part;
        while text.ends_with(['>', '<'])
            && rest.starts_with('0')
            && rest[1..].starts_with(|c: char| c.is_ascii_digit())
        {
            rest = &rest[1..];
        }
        text += rest;
    }
    text
}

#[test]
fn label_selectors_are_parsed_printed_and_matched_as_in_go() -> Outcome {
    let mut words = words("labels", 300_000)?;
    let sets = sets(&mut words)?;
    compare(words, 570_000, 60_000, |text, go| {
        let ours = LabelSelector::parse(text);
        if text.contains('\0') && ours.is_err() {
            return Ok(()); // Go ignores everything after a NUL
        }
        let Some(ours) = if_accepted(ours, go)? else { return Ok(()) };
        compare_labels(&ours, go, &canonical(text_in(go)), &sets)
    })
}

#[test]
fn structured_selectors_match_as_in_go() -> Outcome {
    let mut words = words("expressions", 100_000)?;
    let sets = sets(&mut words)?;
    compare(words, 100_000, 20_000, |body, go| {
        let body: StructuredSelector = serde_json::from_str(body).map_err(text_of)?;
        let Some(ours) = if_accepted(LabelSelector::try_from(&body), go)? else { return Ok(()) };
        // Go prints duplicate values; we store values in a set.
        let has_duplicates = |values: &[String]| values.iter().collect::<BTreeSet<_>>().len() < values.len();
        let mut text = canonical(text_in(go));
        if body.match_expressions.iter().any(|expression| has_duplicates(&expression.values)) {
            text = LabelSelector::parse(&text).map_err(text_of)?.to_string();
        }
        compare_labels(&ours, go, &text, &sets)
    })
}

#[test]
fn field_selectors_are_parsed_printed_and_matched_as_in_go() -> Outcome {
    let mut words = words("fields", 300_000)?;
    let sets = sets(&mut words)?;
    compare(words, 430_000, 84_000, |text, go| {
        let Some(ours) = if_accepted(FieldSelector::parse(text), go)? else { return Ok(()) };
        same(&FieldSelector::parse(&ours.to_string()).as_ref(), &Ok(&ours))?;
        same(
            &json!(selects(&sets, |set| ours.matches(|key| set.get(key).map(String::as_str)))),
            &go["selects"],
        )?;
        let term = |it: &FieldRequirement| match it.operator() {
            FieldOperator::Equals => json!([it.field(), "=", it.value()]),
            FieldOperator::NotEquals => json!([it.field(), "!=", it.value()]),
        };
        let mut terms: Vec<Value> = ours.requirements().iter().map(term).collect();
        let mut go_terms = go["terms"].as_array().cloned().unwrap_or_default();
        for terms in [&mut terms, &mut go_terms] {
            terms.sort_by_key(Value::to_string);
        }
        same(&terms, &go_terms)?;
        // Go sorts the terms as written, with `==`; we sort them as printed, with `=`.
        if text.contains("==") {
            return Ok(());
        }
        same(&ours.to_string(), &text_in(go))?;
        ours.requirements()
            .iter()
            .try_for_each(|it| same(&ours.exact_value(it.field()), &go["exact"][it.field()].as_str()))
    })
}

#[test]
fn statuses_are_classified_as_in_go() -> Outcome {
    let predicates: [Predicate; 20] = [
        ("IsAlreadyExists", Status::is_already_exists),
        ("IsBadRequest", Status::is_bad_request),
        ("IsConflict", Status::is_conflict),
        ("IsForbidden", Status::is_forbidden),
        ("IsInternalError", Status::is_internal_error),
        ("IsInvalid", Status::is_invalid),
        ("IsMethodNotSupported", Status::is_method_not_supported),
        ("IsNotAcceptable", Status::is_not_acceptable),
        ("IsNotFound", Status::is_not_found),
        ("IsRequestEntityTooLargeError", Status::is_request_entity_too_large),
        ("IsServerTimeout", Status::is_server_timeout),
        ("IsServiceUnavailable", Status::is_service_unavailable),
        ("IsStoreReadError", Status::is_store_read_error),
        ("IsTimeout", Status::is_timeout),
        ("IsTooManyRequests", Status::is_too_many_requests),
        ("IsUnauthorized", Status::is_unauthorized),
        ("IsUnexpectedServerError", Status::is_unexpected_server_error),
        ("IsUnsupportedMediaType", Status::is_unsupported_media_type),
        ("isExpiredError", Status::is_expired),
        ("isTooLargeResourceVersionError", Status::is_too_large_resource_version),
    ];
    compare(words("statuses", 30_000)?, 29_000, 29_000, |body, go| {
        let body: Value = serde_json::from_str(body).map_err(text_of)?;
        let status: Status = serde_json::from_value(body.clone()).map_err(text_of)?;
        same(&without_type(&status), &body)?;
        let yes: BTreeSet<&str> =
            predicates.iter().filter(|(_, predicate)| predicate(&status)).map(|(name, _)| *name).collect();
        same(&yes, &go["yes"].as_array().into_iter().flatten().filter_map(Value::as_str).collect())?;
        // We treat a negative delay as zero: a `Duration` cannot be negative.
        let delay = go["delay"].as_i64().map(|seconds| Duration::from_secs(seconds.max(0).unsigned_abs()));
        same(&status.retry_after(), &delay)
    })
}

#[test]
fn a_response_without_a_status_becomes_the_same_status_as_in_go() -> Outcome {
    compare(words("responses", 30_000)?, 38_000, 38_000, |response, go| {
        let response: Value = serde_json::from_str(response).map_err(text_of)?;
        let text = |name: &str| response[name].as_str().unwrap_or_default();
        let resource =
            GroupResource { group: text("group").to_owned(), resource: text("resource").to_owned() };
        let unexpected = UnexpectedResponse {
            code: response["code"].as_u64().and_then(|code| code.try_into().ok()).unwrap_or_default(),
            method: text("method"),
            resource: (!resource.resource.is_empty()).then_some(&resource),
            name: text("name"),
            // Go uses "unknown" for bodies that are not text.
            text: (text("text") != "unknown").then_some(text("text").as_bytes()),
            retry_after: response["retry"].as_u64().map(Duration::from_secs),
        };
        same(&without_type(&Status::from(unexpected)), go)
    })
}

/// The JSON of a status without `kind` and `apiVersion`, which Go adds only when it writes a response.
fn without_type(status: &Status) -> Value {
    let mut body = serde_json::to_value(status).unwrap_or_default();
    if let Some(members) = body.as_object_mut() {
        members.retain(|name, _| name != "kind" && name != "apiVersion");
    }
    body
}

#[test]
fn times_are_parsed_and_printed_as_in_go() -> Outcome {
    compare(words("times", 200_000)?, 200_000, 40_000, |text, go| {
        let ours = text.parse::<Timestamp>().ok();
        same(&ours.map(|ours| timestamp_json(ours, &ours.to_string())).unwrap_or_default(), go)
    })
}

#[test]
fn micro_times_are_parsed_and_printed_as_in_go() -> Outcome {
    compare(words("microtimes", 200_000)?, 200_000, 10_000, |text, go| {
        let ours = Timestamp::parse_micro(text).ok();
        same(
            &ours.map(|ours| timestamp_json(ours, &ours.display_micro().to_string())).unwrap_or_default(),
            go,
        )
    })
}

fn timestamp_json(ours: Timestamp, text: &str) -> Value {
    json!({"text": text, "seconds": ours.seconds, "nanos": ours.nanos})
}

#[test]
fn resource_versions_compare_as_in_go() -> Outcome {
    compare(words("versions", 100_000)?, 100_000, 60_000, |pair, go| {
        let pair: [String; 2] = serde_json::from_str(pair).map_err(text_of)?;
        let [left, right] = pair.each_ref().map(|text| ResourceVersion::from(text.as_str()));
        same(&left.compare(&right).map(|order| json!(order as i8)).unwrap_or_default(), go)
    })
}

#[test]
fn quantities_are_parsed_and_printed_as_in_go() -> Outcome {
    compare(words("quantities", 400_000)?, 610_000, 370_000, |text, go| {
        same(&json!(quantity::canonical(text.trim())), go)
    })
}
