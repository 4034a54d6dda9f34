//! Faults as JSON documents, for tests in other languages.
//!
//! | request | effect |
//! |---|---|
//! | `GET /debug/watchkeeper/faults` | lists the rules, with `id` and `hits` |
//! | `POST /debug/watchkeeper/faults` | adds a rule and returns it |
//! | `DELETE /debug/watchkeeper/faults` | removes all rules |
//! | `DELETE /debug/watchkeeper/faults/ID` | removes one rule |
//! | `POST /debug/watchkeeper/watches` | ends open watches: a rule without `times`, `every`, `afterEvents` |
//! | `POST /debug/watchkeeper/compact` | drops all history |
//!
//! A rule is an object. It selects requests by `verb`, `group`, `resource`, `namespace`, `name` and `userAgent`, all
//! optional, and has exactly one effect:
//!
//! | field | value |
//! |---|---|
//! | `answer` | a code (`429`), or a whole `Status` |
//! | `delayMilliseconds` | a number |
//! | `cut` | `"abrupt"`, `"connection"` or `"clean"` |
//! | `stall` | `true` |
//! | `expire` | `true`: an ERROR event with 410 |
//! | `fail` | a `Status`: an ERROR event with it |
//!
//! `times`, `every` and `afterEvents` set how often it applies.
//!
//! ```text
//! curl -d '{"verb":"watch","resource":"pods","cut":"abrupt","times":1}' $SERVER/debug/watchkeeper/faults
//! ```

use std::time::Duration;

use crate::http::Verb;
use serde_json::{Map, Value, json};
use watchkeeper_core::Status;

use super::answer::FAILURES;
use super::{Answer, Effect, Ending, Fault, Requests};

/// The purpose of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Document {
    /// A rule for future requests.
    Rule,
    /// An order to open watches.
    Order,
}

const VERBS: [Verb; 9] = [
    Verb::Get,
    Verb::List,
    Verb::Watch,
    Verb::Create,
    Verb::Update,
    Verb::Patch,
    Verb::Delete,
    Verb::DeleteCollection,
    Verb::Connect,
];

/// Reads a rule.
///
/// # Errors
/// Returns 400, naming the invalid field.
pub(crate) fn read(body: &[u8], what: Document) -> Result<Fault, Status> {
    let value: Value = serde_json::from_slice(body)
        .map_err(|error| Status::bad_request(format!("invalid fault: not JSON: {error}")))?;
    let Value::Object(fields) = value else {
        return Err(Status::bad_request("invalid fault: not a JSON object"));
    };
    let mut requests = Requests::any();
    let (mut times, mut every, mut after_events) = (None, 1, 0);
    let mut effect: Option<(&str, Effect)> = None;
    for (name, value) in &fields {
        match name.as_str() {
            "verb" | "group" | "resource" | "namespace" | "name" | "userAgent" => {
                select(&mut requests, name, value)?;
            }
            "times" | "every" | "afterEvents" if what == Document::Order => {
                return Err(wrong(name, "does not apply to open watches"));
            }
            "times" => times = Some(count(name, value, 1)?),
            "every" => every = count(name, value, 1)?,
            "afterEvents" => after_events = count(name, value, 0)?,
            _ => {
                let new = read_effect(name, value)?;
                if let Some((other, _)) = effect.replace((name, new)) {
                    return Err(wrong(name, &format!("conflicts with field {other:?}")));
                }
            }
        }
    }
    let one_of = "is required, or another effect: delayMilliseconds, cut, stall, expire, fail";
    let (name, effect) = effect.ok_or_else(|| wrong("answer", one_of))?;
    if what == Document::Order && !matches!(effect, Effect::End(_)) {
        return Err(wrong(name, "does not apply to open watches"));
    }
    Ok(Fault { requests, effect, times, every, after_events })
}

/// Sets an attribute that requests must have.
fn select(requests: &mut Requests, name: &str, value: &Value) -> Result<(), Status> {
    if name == "verb" {
        let verb = VERBS.into_iter().find(|verb| value == verb.as_str());
        requests.verb = Some(verb.ok_or_else(|| wrong(name, "must be a verb such as get, list or watch"))?);
        return Ok(());
    }
    let text = value.as_str().ok_or_else(|| wrong(name, "must be a string"))?;
    let field = match name {
        "group" => &mut requests.group,
        "resource" => &mut requests.resource,
        "namespace" => &mut requests.namespace,
        "name" => &mut requests.name,
        _ => &mut requests.user_agent,
    };
    *field = Some(text.to_owned());
    Ok(())
}

fn read_effect(name: &str, value: &Value) -> Result<Effect, Status> {
    Ok(match name {
        "answer" if value.is_number() => {
            let code = value.as_i64().and_then(|code| i32::try_from(code).ok());
            let code = code.filter(|code| FAILURES.contains(code)).and_then(|code| u16::try_from(code).ok());
            Effect::Answer(Answer::Code(
                code.ok_or_else(|| wrong(name, "must be a code from 400 to 599, or a Status"))?,
            ))
        }
        "answer" => {
            let status = status(name, value)?;
            if !FAILURES.contains(&status.code) {
                return Err(wrong("answer.code", "must be a code from 400 to 599"));
            }
            Effect::Answer(Answer::Status(Box::new(status)))
        }
        "delayMilliseconds" => Effect::Delay(Duration::from_millis(count(name, value, 0)?)),
        "cut" => Effect::End(match value.as_str() {
            Some("abrupt") => Ending::Abrupt,
            Some("connection") => Ending::Connection,
            Some("clean") => Ending::Clean,
            _ => return Err(wrong(name, "must be \"abrupt\", \"connection\" or \"clean\"")),
        }),
        "stall" | "expire" if value != &Value::Bool(true) => {
            return Err(wrong(name, "must be true or absent"));
        }
        "stall" => Effect::End(Ending::Stall),
        "expire" => Effect::End(Ending::expired()),
        "fail" => Effect::End(Ending::Error(Box::new(status(name, value)?))),
        _ => return Err(wrong(name, "is unknown")),
    })
}

fn wrong(field: &str, what: &str) -> Status {
    Status::bad_request(format!("invalid fault: field {field:?} {what}"))
}

fn count(name: &str, value: &Value, least: u64) -> Result<u64, Status> {
    let number = value.as_u64().filter(|number| *number >= least);
    number.ok_or_else(|| wrong(name, &format!("must be an integer of at least {least}")))
}

fn status(name: &str, value: &Value) -> Result<Status, Status> {
    serde_json::from_value(value.clone()).map_err(|error| wrong(name, &format!("is not a Status: {error}")))
}

/// Returns a rule as listed.
pub(crate) fn written((id, fault, hits): &(u64, Fault, u64)) -> Value {
    let mut fields = Map::new();
    fields.insert("id".to_owned(), json!(id));
    let Fault { requests, effect, times, every, after_events } = fault;
    let texts = [
        ("verb", requests.verb.map(|verb| verb.as_str().to_owned())),
        ("group", requests.group.clone()),
        ("resource", requests.resource.clone()),
        ("namespace", requests.namespace.clone()),
        ("name", requests.name.clone()),
        ("userAgent", requests.user_agent.clone()),
    ];
    for (name, text) in texts {
        fields.extend(text.map(|text| (name.to_owned(), json!(text))));
    }
    let (name, value) = match effect {
        Effect::Answer(Answer::Code(code)) => ("answer", json!(code)),
        Effect::Answer(Answer::Status(status)) => ("answer", json!(status)),
        Effect::Delay(time) => {
            ("delayMilliseconds", json!(u64::try_from(time.as_millis()).unwrap_or(u64::MAX)))
        }
        Effect::End(Ending::Abrupt) => ("cut", json!("abrupt")),
        Effect::End(Ending::Connection) => ("cut", json!("connection")),
        Effect::End(Ending::Clean) => ("cut", json!("clean")),
        Effect::End(Ending::Stall) => ("stall", json!(true)),
        Effect::End(ending @ Ending::Error(_)) if *ending == Ending::expired() => ("expire", json!(true)),
        Effect::End(Ending::Error(status)) => ("fail", json!(status)),
    };
    fields.insert(name.to_owned(), value);
    fields.extend(times.map(|times| ("times".to_owned(), json!(times))));
    if *every > 1 {
        fields.insert("every".to_owned(), json!(every));
    }
    if *after_events > 0 {
        fields.insert("afterEvents".to_owned(), json!(after_events));
    }
    fields.insert("hits".to_owned(), json!(hits));
    Value::Object(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_listed_as_it_was_posted() {
        let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": "no", "reason": "Expired", "code": 410});
        for rule in [
            json!({"verb": "watch", "group": "", "resource": "pods", "namespace": "a", "name": "b",
                "userAgent": "kubectl/", "cut": "abrupt", "times": 1, "every": 2, "afterEvents": 3}),
            json!({"answer": 429}),
            json!({"answer": status}),
            json!({"verb": "deletecollection", "delayMilliseconds": 250}),
            json!({"cut": "clean"}),
            json!({"cut": "connection"}),
            json!({"stall": true}),
            json!({"expire": true}),
            json!({"fail": status}),
        ] {
            let fault = read(rule.to_string().as_bytes(), Document::Rule).unwrap();
            let mut expected = rule;
            expected["id"] = 7.into();
            expected["hits"] = 2.into();
            assert_eq!(written(&(7, fault, 2)), expected);
        }
    }

    #[test]
    fn an_invalid_field_is_named() {
        let error = |body: &str, what| read(body.as_bytes(), what).unwrap_err().message;
        for (body, field) in [
            (r#"{"stall":true,"bogus":1}"#, "bogus"),
            (r#"{"stall":true,"verb":"look"}"#, "verb"),
            (r#"{"stall":true,"name":1}"#, "name"),
            (r#"{"stall":true,"times":0}"#, "times"),
            (r#"{"stall":true,"every":-1}"#, "every"),
            (r#"{"stall":true,"afterEvents":"x"}"#, "afterEvents"),
            (r#"{"stall":false}"#, "stall"),
            (r#"{"expire":true,"stall":true}"#, "stall"),
            (r#"{"answer":200}"#, "answer"),
            (r#"{"answer":{"kind":"Pod"}}"#, "answer"),
            (r#"{"answer":{"code":101}}"#, "answer.code"),
            (r#"{"cut":"off"}"#, "cut"),
            (r#"{"delayMilliseconds":1.5}"#, "delayMilliseconds"),
            (r#"{"fail":"x"}"#, "fail"),
            ("{}", "answer"),
        ] {
            let message = error(body, Document::Rule);
            assert!(message.starts_with(&format!("invalid fault: field {field:?} ")), "{body}: {message}");
        }
        assert!(error(r#"{"cut":"clean","times":1}"#, Document::Order).contains("\"times\""));
        assert!(error(r#"{"answer":410}"#, Document::Order).contains("\"answer\""));
        assert_eq!(error("[]", Document::Rule), "invalid fault: not a JSON object");
        assert!(error("{", Document::Rule).starts_with("invalid fault: not JSON: "));
    }
}
