//! Element: one step of the path to a field.
//!
//! | in `fieldsV1` | in a message | stands for |
//! |---|---|---|
//! | `f:spec` | `.spec` | a field of an object |
//! | `k:{"name":"web"}` | `[name="web"]` | the list item with these fields |
//! | `v:"example.com/hold"` | `[="example.com/hold"]` | the list item with this value |
//! | `i:3` | `[3]` | the list item at this index |

use std::cmp::Ordering;
use std::fmt;

use serde_json::{Number, Value};
use watchkeeper_core::Quoted;

/// One step of the path to a field. The order is that of kube-apiserver.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Element {
    /// A field of an object.
    Field(String),
    /// The list item with these fields, ordered by name.
    Key(Vec<(String, Scalar)>),
    /// The list item with this value.
    Value(Scalar),
    /// The list item at this index.
    Index(i64),
}

/// A value that identifies a list item.
#[derive(Debug, Clone)]
pub enum Scalar {
    /// A number; 1 and 1.0 are the same.
    Number(Number),
    /// A string.
    Text(String),
    /// A boolean.
    Bool(bool),
    /// Never a key in the API: `null`, or the JSON of a list or an object.
    Other(String),
}

/// Why a string is not an element.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ElementError {
    /// Unknown prefix, perhaps of a later version: ignored.
    #[error("unknown element type")]
    Unknown,
    /// No prefix, or a value that does not fit the prefix.
    #[error("invalid element: {0}")]
    Malformed(String),
}

impl Element {
    /// Creates the element of an object field.
    pub fn field(name: impl Into<String>) -> Self {
        Self::Field(name.into())
    }

    /// Parses an element of `fieldsV1`.
    ///
    /// # Errors
    /// If it is not an element.
    pub fn parse(text: &str) -> Result<Self, ElementError> {
        let malformed = || ElementError::Malformed(text.chars().take(64).collect());
        let (sort, rest) = text.split_once(':').ok_or_else(malformed)?;
        match sort {
            "f" => Ok(Self::field(rest)),
            "v" => serde_json::from_str(rest).map(|value: Value| Self::Value(value.into())),
            "k" => serde_json::from_str(rest).map(|key: serde_json::Map<String, Value>| {
                Self::Key(key.into_iter().map(|(name, value)| (name, value.into())).collect())
            }),
            "i" => return rest.parse().map(Self::Index).map_err(|_| malformed()),
            sort if sort.len() == 1 => return Err(ElementError::Unknown),
            _ => return Err(malformed()),
        }
        .map_err(|_| malformed())
    }

    /// Formats the element for `fieldsV1`.
    pub fn text(&self) -> String {
        match self {
            Self::Field(name) => format!("f:{name}"),
            Self::Value(value) => format!("v:{}", value.json()),
            Self::Index(place) => format!("i:{place}"),
            Self::Key(key) => {
                let fields: Vec<String> = key
                    .iter()
                    .map(|(name, value)| format!("{}:{}", go_json(&name.as_str().into()), value.json()))
                    .collect();
                format!("k:{{{}}}", fields.join(","))
            }
        }
    }
}

/// Formats it for messages.
impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Value(value) => write!(f, "[={value}]"),
            Self::Index(place) => write!(f, "[{place}]"),
            Self::Key(key) => {
                let fields: Vec<String> = key.iter().map(|(name, value)| format!("{name}={value}")).collect();
                write!(f, "[{}]", fields.join(","))
            }
        }
    }
}

impl Scalar {
    fn json(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Text(text) => go_json(&text.as_str().into()),
            Self::Bool(value) => value.to_string(),
            Self::Other(json) => json.clone(),
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Number(_) => 0,
            Self::Text(_) => 1,
            Self::Bool(_) => 2,
            Self::Other(_) => 3,
        }
    }
}

impl From<Value> for Scalar {
    fn from(value: Value) -> Self {
        match value {
            Value::Number(number) => Self::Number(number),
            Value::String(text) => Self::Text(text),
            Value::Bool(value) => Self::Bool(value),
            other => Self::Other(other.to_string()),
        }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => Quoted(text).fmt(f),
            other => f.write_str(&other.json()),
        }
    }
}

impl Ord for Scalar {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => match (a.as_i64(), b.as_i64()) {
                (Some(a), Some(b)) => a.cmp(&b),
                _ => a.as_f64().unwrap_or_default().total_cmp(&b.as_f64().unwrap_or_default()),
            },
            (Self::Text(a), Self::Text(b)) | (Self::Other(a), Self::Other(b)) => a.cmp(b),
            (Self::Bool(a), Self::Bool(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for Scalar {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Scalar {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Scalar {}

/// Formats JSON as Go does, with HTML characters escaped.
pub(super) fn go_json(value: &Value) -> String {
    let mut json = value.to_string();
    for (plain, escaped) in [
        ("<", "\\u003c"),
        (">", "\\u003e"),
        ("&", "\\u0026"),
        ("\u{2028}", "\\u2028"),
        ("\u{2029}", "\\u2029"),
    ] {
        if json.contains(plain) {
            json = json.replace(plain, escaped);
        }
    }
    json
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_round_trip() {
        for (text, shown) in [
            ("f:spec", ".spec"),
            ("f:a.b/c:d", ".a.b/c:d"),
            (r#"k:{"containerPort":80,"protocol":"TCP"}"#, r#"[containerPort=80,protocol="TCP"]"#),
            (r#"v:"x""#, r#"[="x"]"#),
            ("v:true", "[=true]"),
            ("v:1.5", "[=1.5]"),
            ("i:3", "[3]"),
        ] {
            let element = Element::parse(text).unwrap();
            assert_eq!((element.text().as_str(), element.to_string().as_str()), (text, shown));
        }
        assert_eq!(Element::parse(r#"k:{"b":1,"a":2}"#).unwrap().text(), r#"k:{"a":2,"b":1}"#);
    }

    #[test]
    fn malformed_elements_are_distinguished_from_unknown_ones() {
        assert_eq!(Element::parse("x:y"), Err(ElementError::Unknown));
        for text in ["", "f", "spec", "i:x", "k:[]", "k:{", "v:", "v:1 2", "ff:x"] {
            assert!(matches!(Element::parse(text), Err(ElementError::Malformed(_))), "{text}");
        }
    }

    #[test]
    fn elements_are_ordered_as_in_kube_apiserver() {
        let ordered =
            ["f:b", r#"k:{"p":9}"#, r#"k:{"p":80}"#, r#"k:{"p":"a"}"#, "v:1", "v:\"a\"", "v:true", "i:1"];
        let mut elements: Vec<Element> =
            ordered.iter().rev().map(|text| Element::parse(text).unwrap()).collect();
        elements.sort();
        let texts: Vec<String> = elements.iter().map(Element::text).collect();
        assert_eq!(texts, ordered);
        assert_eq!(Element::parse("v:1").unwrap(), Element::parse("v:1.0").unwrap());
    }
}
