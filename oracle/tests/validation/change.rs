//! Changes: edits of an object before it is sent.

use std::fmt;

use serde_json::{Value, json};

/// A list of edits.
#[derive(Debug, Clone, Default)]
pub(crate) struct Change {
    /// JSON pointers, each with the value to set, or `None` to remove it.
    steps: Vec<(String, Option<Value>)>,
    /// Whether it changes the object's name.
    pub(crate) renames: bool,
    /// Whether the response of the real server contains a Go struct.
    pub(crate) shows_types: bool,
}

/// A line of `cases.txt`.
pub(crate) struct Case {
    pub(crate) resource: String,
    pub(crate) is_update: bool,
    pub(crate) change: Change,
}

impl Change {
    fn set(pointer: impl Into<String>, value: Value) -> Self {
        Self { steps: vec![(pointer.into(), Some(value))], ..Self::default() }
    }

    fn removal(pointer: impl Into<String>) -> Self {
        Self { steps: vec![(pointer.into(), None)], ..Self::default() }
    }

    /// Returns a changed copy of an object.
    pub(crate) fn applied(&self, object: &Value) -> Value {
        let mut object = object.clone();
        for (pointer, value) in &self.steps {
            let (parent, last) = pointer.rsplit_once('/').unwrap_or_default();
            let last = last.replace("~1", "/");
            let mut place = &mut object;
            for step in parent.split('/').skip(1).map(|step| step.replace("~1", "/")) {
                place = match step.parse::<usize>() {
                    Ok(at) if place.is_array() => &mut place[at],
                    _ => &mut place[step],
                };
            }
            match (place, value) {
                (Value::Array(items), Some(value)) if last == "-" => items.push(value.clone()),
                (Value::Array(items), Some(value)) => {
                    items[last.parse::<usize>().unwrap_or_default()] = value.clone();
                }
                (Value::Array(items), None) => drop(items.remove(last.parse().unwrap_or_default())),
                (Value::Object(fields), None) => drop(fields.remove(&last)),
                (place, Some(value)) => place[last] = value.clone(),
                (_, None) => {}
            }
        }
        object
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (pointer, value) in &self.steps {
            match value {
                Some(value) => write!(f, "{pointer}={value} ")?,
                None => write!(f, "-{pointer} ")?,
            }
        }
        Ok(())
    }
}

/// Changes that apply to objects of every kind.
pub(crate) fn common_changes() -> Vec<Change> {
    let long = "a".repeat(300);
    let mut changes = vec![Change::default()];
    for name in [json!("Bad_Name"), json!("a.b"), json!(""), json!(long), json!("a/b")] {
        changes.push(Change { renames: true, ..Change::set("/metadata/name", name) });
    }
    let unnamed = |prefix: &str| Change {
        steps: vec![
            ("/metadata/name".to_owned(), None),
            ("/metadata/generateName".to_owned(), Some(json!(prefix))),
        ],
        renames: true,
        ..Change::default()
    };
    changes.push(unnamed("ok-"));
    let labels = [json!({"-": "x"}), json!({"a/b/c": "x"}), json!({"/a": "x"}), json!({"a": "no!"})];
    changes.extend(labels.map(|labels| Change::set("/metadata/labels", labels)));
    let (long_key, long_value) = ("a".repeat(64), "b".repeat(64));
    changes.push(Change::set("/metadata/labels", json!({long_key: long_value})));
    changes.push(Change::set("/metadata/annotations", json!({"a b": "x"})));
    changes.push(Change::set("/metadata/annotations", json!({"a": "x".repeat(256 << 10)})));
    for finalizers in [json!(["mine"]), json!(["a/b/c"]), json!(["orphan", "foregroundDeletion"])] {
        changes.push(Change::set("/metadata/finalizers", finalizers));
    }
    let owners = [
        json!([{}]),
        json!([{"apiVersion": "a/b/c", "kind": "K", "name": "n", "uid": "u"}]),
        json!([{"apiVersion": "v1", "kind": "Event", "name": "n", "uid": "u"}]),
        json!([{"apiVersion": "v1", "kind": "K", "name": "n", "uid": "u", "controller": true},
               {"apiVersion": "v1", "kind": "K", "name": "m", "uid": "v", "controller": true}]),
    ];
    changes.extend(owners.map(|owners| Change::set("/metadata/ownerReferences", owners)));
    changes
}

/// Changes that remove, empty or invalidate each field of an object, one field each.
pub(crate) fn mutations(object: &Value) -> Vec<Change> {
    let mut changes = Vec::new();
    for (name, value) in object.as_object().into_iter().flatten() {
        if !matches!(name.as_str(), "apiVersion" | "kind" | "metadata") {
            walk(&format!("/{name}"), value, &mut changes);
        }
    }
    changes
}

fn walk(pointer: &str, value: &Value, changes: &mut Vec<Change>) {
    changes.push(Change::removal(pointer));
    match value {
        Value::Object(fields) => {
            changes.push(Change::set(pointer, json!({})));
            for (name, value) in fields {
                walk(&format!("{pointer}/{}", name.replace('/', "~1")), value, changes);
            }
        }
        Value::Array(items) => {
            changes.push(Change::set(pointer, json!([])));
            if let Some(first) = items.first() {
                changes.push(Change::set(format!("{pointer}/-"), first.clone()));
            }
            for (at, item) in items.iter().enumerate() {
                walk(&format!("{pointer}/{at}"), item, changes);
            }
        }
        Value::String(_) => {
            for bad in ["", "Bad Value!"] {
                changes.push(Change::set(pointer, json!(bad)));
            }
        }
        Value::Number(_) => {
            for bad in [-1, 0, 70_000] {
                changes.push(Change::set(pointer, json!(bad)));
            }
        }
        Value::Bool(is) => changes.push(Change::set(pointer, json!(!is))),
        Value::Null => {}
    }
}

/// Parses `cases.txt`: `pods + /spec/hostname="A"` creates, `pods ~ ...` and `pods/status ~ ...` update; `-/spec` removes a
/// field. The word `types` after the sign marks a case to which the real server responds with a Go struct.
pub(crate) fn cases(text: &str) -> impl Iterator<Item = Case> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| {
        let mut words = line.splitn(3, ' ');
        let (resource, sign, rest) = (words.next(), words.next(), words.next());
        let mut rest = rest.unwrap_or_default();
        let mut change = Change::default();
        if let Some(after) = rest.strip_prefix("types ") {
            (change.shows_types, rest) = (true, after);
        }
        for step in rest.split(" ; ") {
            change.steps.push(match step.strip_prefix('-') {
                Some(pointer) => (pointer.to_owned(), None),
                None => {
                    let (pointer, value) = step.split_once('=').unwrap_or_else(|| panic!("no value: {line}"));
                    let value = serde_json::from_str(value).unwrap_or_else(|error| panic!("{error}: {line}"));
                    (pointer.to_owned(), Some(value))
                }
            });
        }
        Case { resource: resource.unwrap_or_default().to_owned(), is_update: sign == Some("~"), change }
    })
}
