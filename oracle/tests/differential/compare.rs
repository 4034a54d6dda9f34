//! Compare: the differences between two JSON documents.

use std::fmt;

use serde_json::Value;

/// A JSON pointer at which the responses differ, and the value of each.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Difference {
    pub(crate) pointer: String,
    pub(crate) real: Option<Value>,
    pub(crate) ours: Option<Value>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |value: &Option<Value>| match value {
            Some(value) => value.to_string().chars().take(4_000).collect(),
            None => "absent".to_owned(),
        };
        write!(f, "{}\n      real {}\n      ours {}", self.pointer, show(&self.real), show(&self.ours))
    }
}

/// Returns all differences, in the order of the real server's document.
pub(crate) fn differences(real: &Value, ours: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    walk("", Some(real), Some(ours), &mut found);
    found
}

fn walk(pointer: &str, real: Option<&Value>, ours: Option<&Value>, found: &mut Vec<Difference>) {
    match (real, ours) {
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            for (key, value) in a {
                walk(&format!("{pointer}/{}", escaped(key)), Some(value), b.get(key), found);
            }
            for (key, value) in b.iter().filter(|(key, _)| !a.contains_key(*key)) {
                walk(&format!("{pointer}/{}", escaped(key)), None, Some(value), found);
            }
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) if a.len() == b.len() => {
            for (position, (a, b)) in a.iter().zip(b).enumerate() {
                walk(&format!("{pointer}/{position}"), Some(a), Some(b), found);
            }
        }
        (real, ours) if real == ours => {}
        (real, ours) => {
            found.push(Difference { pointer: pointer.to_owned(), real: real.cloned(), ours: ours.cloned() });
        }
    }
}

fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
