//! JSON paths: where the cell of a column stands in an object, as a definition says it.
//!
//! ```
//! use serde_json::json;
//! use watchkeeper_apiserver::custom::JsonPath;
//!
//! let ready = JsonPath::parse(r#".status.conditions[?(@.type=="Ready")].status"#)?;
//! let object = json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}});
//! assert_eq!(ready.find(&object), [&json!("True")]);
//! # Ok::<(), watchkeeper_apiserver::custom::JsonPathError>(())
//! ```
//!
//! This is the dialect of kubectl, without its ranges, unions and negative steps.

use serde_json::Value;

/// A path through objects and lists.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonPath {
    steps: Vec<Step>,
}

/// Why a text is no path that can be followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path:?} is no path: {problem}")]
pub struct JsonPathError {
    path: String,
    problem: &'static str,
}

#[derive(Debug, Clone, PartialEq)]
enum Step {
    Field(String),
    Item(i64),
    Slice(Option<i64>, Option<i64>),
    Every,
    /// Every value at any depth.
    Anywhere,
    Where(Operand, Option<(Comparison, Operand)>),
}

#[derive(Debug, Clone, PartialEq)]
enum Operand {
    Path(JsonPath),
    Value(Value),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Equal,
    NotEqual,
    LessOrEqual,
    GreaterOrEqual,
    Less,
    Greater,
}

impl JsonPath {
    /// Reads a path such as `.spec.replicas`.
    ///
    /// # Errors
    /// Where it is none, or of a sort that is not followed here.
    pub fn parse(path: &str) -> Result<Self, JsonPathError> {
        let mut reader = Reader { rest: path };
        let steps = reader.steps().map_err(|problem| JsonPathError { path: path.to_owned(), problem })?;
        match reader.rest.is_empty() {
            true => Ok(Self { steps }),
            false => Err(JsonPathError { path: path.to_owned(), problem: "it does not end" }),
        }
    }

    /// All values that the path leads to, in their order.
    pub fn find<'a>(&self, object: &'a Value) -> Vec<&'a Value> {
        self.steps.iter().fold(vec![object], |found, step| {
            found.into_iter().flat_map(|value| step.follow(value)).collect()
        })
    }
}

impl Step {
    fn follow<'a>(&self, value: &'a Value) -> Vec<&'a Value> {
        let items = || value.as_array().map(Vec::as_slice).unwrap_or_default();
        let place = |at: i64, items: &[Value]| {
            let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
            usize::try_from(if at < 0 { at.saturating_add(length) } else { at }).unwrap_or(0).min(items.len())
        };
        match self {
            Self::Field(name) => value.get(name).into_iter().collect(),
            Self::Item(at) => {
                let items = items();
                let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
                let at = if *at < 0 { at.saturating_add(length) } else { *at };
                usize::try_from(at).ok().and_then(|at| items.get(at)).into_iter().collect()
            }
            Self::Slice(from, to) => {
                let items = items();
                let (from, to) =
                    (from.map_or(0, |at| place(at, items)), to.map_or(items.len(), |at| place(at, items)));
                items.get(from..to).unwrap_or_default().iter().collect()
            }
            Self::Every => match value {
                Value::Object(fields) => fields.values().collect(),
                _ => items().iter().collect(),
            },
            Self::Anywhere => {
                let mut found = vec![value];
                let mut at = 0;
                while let Some(value) = found.get(at).copied() {
                    found.extend(Self::Every.follow(value));
                    at += 1;
                }
                found
            }
            Self::Where(left, None) => {
                let Operand::Path(path) = left else { return Vec::new() };
                items().iter().filter(|item| !path.find(item).is_empty()).collect()
            }
            Self::Where(left, Some((comparison, right))) => items()
                .iter()
                .filter(|item| match (left.of(item), right.of(item)) {
                    (Some(left), Some(right)) => comparison.holds(left, right),
                    _ => false,
                })
                .collect(),
        }
    }
}

impl Operand {
    fn of<'a>(&'a self, item: &'a Value) -> Option<&'a Value> {
        match self {
            Self::Value(value) => Some(value),
            Self::Path(path) => path.find(item).into_iter().next(),
        }
    }
}

impl Comparison {
    fn holds(self, left: &Value, right: &Value) -> bool {
        let order = match (left, right) {
            (Value::Number(left), Value::Number(right)) => {
                left.as_f64().zip(right.as_f64()).and_then(|(left, right)| left.partial_cmp(&right))
            }
            (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
            _ => None,
        };
        match self {
            Self::Equal => order.map_or(left == right, std::cmp::Ordering::is_eq),
            Self::NotEqual => order.map_or(left != right, std::cmp::Ordering::is_ne),
            Self::LessOrEqual => order.is_some_and(std::cmp::Ordering::is_le),
            Self::GreaterOrEqual => order.is_some_and(std::cmp::Ordering::is_ge),
            Self::Less => order.is_some_and(std::cmp::Ordering::is_lt),
            Self::Greater => order.is_some_and(std::cmp::Ordering::is_gt),
        }
    }
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn eat(&mut self, text: &str) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// As many steps as there are.
    fn steps(&mut self) -> Result<Vec<Step>, &'static str> {
        let mut steps = Vec::new();
        loop {
            if self.eat("..") {
                steps.push(Step::Anywhere);
                match self.rest.starts_with('[') {
                    true => continue,
                    false => steps.push(self.field()?),
                }
            } else if self.eat(".") {
                if !self.rest.starts_with('[') {
                    steps.push(self.field()?);
                }
            } else if self.eat("[") {
                steps.push(self.bracket()?);
            } else {
                return Ok(steps);
            }
        }
    }

    fn field(&mut self) -> Result<Step, &'static str> {
        if self.eat("*") {
            return Ok(Step::Every);
        }
        let mut name = String::new();
        let mut letters = self.rest.char_indices();
        let end = loop {
            match letters.next() {
                None => break self.rest.len(),
                Some((_, '\\')) => name.extend(letters.next().map(|(_, letter)| letter)),
                Some((at, letter)) if letter.is_whitespace() || ".,[]$@{}()=!<>".contains(letter) => {
                    break at;
                }
                Some((_, letter)) => name.push(letter),
            }
        };
        self.rest = &self.rest[end..];
        if name.is_empty() { Err("a name is missing") } else { Ok(Step::Field(name)) }
    }

    fn bracket(&mut self) -> Result<Step, &'static str> {
        if self.eat("?(") {
            return self.filter();
        }
        let step = if self.eat("*") {
            Step::Every
        } else if self.rest.starts_with(['\'', '"']) {
            Step::Field(self.quoted()?)
        } else {
            let end = self.rest.find(']').ok_or("a bracket is not closed")?;
            let (inner, rest) = self.rest.split_at(end);
            self.rest = rest;
            let number = |text: &str| match text.trim() {
                "" => Ok(None),
                text => text.parse().map(Some).map_err(|_| "an index is no number"),
            };
            match inner.split_once(':') {
                Some((from, to)) => Step::Slice(number(from)?, number(to)?),
                None => Step::Item(number(inner)?.ok_or("an index is missing")?),
            }
        };
        if self.eat("]") { Ok(step) } else { Err("a bracket is not closed") }
    }

    fn filter(&mut self) -> Result<Step, &'static str> {
        const COMPARISONS: [(&str, Comparison); 6] = [
            ("==", Comparison::Equal),
            ("!=", Comparison::NotEqual),
            ("<=", Comparison::LessOrEqual),
            (">=", Comparison::GreaterOrEqual),
            ("<", Comparison::Less),
            (">", Comparison::Greater),
        ];
        let left = self.operand()?;
        let comparison =
            COMPARISONS.iter().find(|(text, _)| self.eat(text)).map(|(_, comparison)| *comparison);
        let right = match comparison {
            Some(comparison) => Some((comparison, self.operand()?)),
            None => None,
        };
        if self.eat(")]") { Ok(Step::Where(left, right)) } else { Err("a filter is not closed") }
    }

    fn operand(&mut self) -> Result<Operand, &'static str> {
        self.rest = self.rest.trim_start();
        let operand = if self.eat("@") {
            Operand::Path(JsonPath { steps: self.steps()? })
        } else if self.rest.starts_with(['\'', '"']) {
            Operand::Value(self.quoted()?.into())
        } else {
            let end = self.rest.find([')', '=', '!', '<', '>', ' ']).ok_or("a filter is not closed")?;
            let (word, rest) = self.rest.split_at(end);
            self.rest = rest;
            Operand::Value(serde_json::from_str(word).map_err(|_| "a filter compares with nothing")?)
        };
        self.rest = self.rest.trim_start();
        Ok(operand)
    }

    /// A text in quotes, in which a backslash stands before a quote.
    fn quoted(&mut self) -> Result<String, &'static str> {
        let quote = self.rest.chars().next().ok_or("a text is missing")?;
        let mut text = String::new();
        let mut letters = self.rest.char_indices().skip(1);
        while let Some((at, letter)) = letters.next() {
            match letter {
                '\\' => text.extend(letters.next().map(|(_, letter)| letter)),
                letter if letter == quote => {
                    self.rest = &self.rest[at + quote.len_utf8()..];
                    return Ok(text);
                }
                letter => text.push(letter),
            }
        }
        Err("a text is not closed")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn a_path_leads_to_what_kubectl_would_find() {
        let object = json!({
            "spec": {"replicas": 3, "a.b": "dotted", "ports": [{"n": 1, "p": "x"}, {"n": 2}, {"n": 3, "p": "z"}]},
            "metadata": {"labels": {"app.example.com/name": "web"}},
        });
        let cases = [
            (".spec.replicas", json!([3])),
            (".spec.absent", json!([])),
            (".spec.replicas.deeper", json!([])),
            (r".spec.a\.b", json!(["dotted"])),
            (".spec['a.b']", json!(["dotted"])),
            (r".metadata.labels.app\.example\.com/name", json!(["web"])),
            (".spec.ports[0].n", json!([1])),
            (".spec.ports[-1].n", json!([3])),
            (".spec.ports[1:].n", json!([2, 3])),
            (".spec.ports[*].n", json!([1, 2, 3])),
            (".spec.ports[?(@.n==2)].n", json!([2])),
            (".spec.ports[?(@.n > 1)].n", json!([2, 3])),
            (".spec.ports[?(@.p)].n", json!([1, 3])),
            (".spec.ports[?(@.p!='x')].n", json!([3])),
            ("..p", json!(["x", "z"])),
        ];
        for (path, expected) in cases {
            assert_eq!(json!(JsonPath::parse(path).unwrap().find(&object)), expected, "{path}");
        }
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for path in ["spec", ".", ".a[", ".a[x]", ".a[?(@.b==]", ".a['b]", ".a.b c", ".a[?(x)]"] {
            assert!(JsonPath::parse(path).is_err(), "{path}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_reading_fail(path in r#"[\.\[\]\?\(\)@='"\\a1:*\- ]{0,20}"#) {
            if let Ok(path) = JsonPath::parse(&path) {
                path.find(&json!({"a": [{"a": 1}, "a"]}));
            }
        }
    }
}
