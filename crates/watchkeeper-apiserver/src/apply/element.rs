//! Element: one step of the path to a field.
//!
//! | as text in `fieldsV1` | in a message | is |
//! |---|---|---|
//! | `f:spec` | `.spec` | a field of an object |
//! | `k:{"name":"web"}` | `[name="web"]` | the item of a list whose fields are these |
//! | `v:"example.com/hold"` | `[="example.com/hold"]` | the item of a list that is this value |
//! | `i:3` | `[3]` | the item of a list at this place |

use std::cmp::Ordering;
use std::fmt;

use serde_json::{Number, Value};
use watchkeeper_core::Quoted;

/// One step of the path to a field. They are ordered as the real server orders them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Element {
    /// A field of an object.
    Field(String),
    /// The item of a list whose fields are these, by their names in order.
    Key(Vec<(String, Scalar)>),
    /// The item of a list that is this value.
    Value(Scalar),
    /// The item of a list at this place.
    Index(i64),
}

/// A value that tells items of a list apart.
#[derive(Debug, Clone)]
pub enum Scalar {
    /// A number; 1 and 1.0 are the same.
    Number(Number),
    /// A text.
    Text(String),
    /// True or false.
    Bool(bool),
    /// What the API never has for a key: `null`, or the text of a list or an object.
    Other(String),
}

/// Why a text is no element.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ElementError {
    /// Of a sort that a later server may know: it is passed over.
    #[error("an element of an unknown sort")]
    Unknown,
    /// Of no sort at all, or of a sort that it does not fit.
    #[error("no element: {0}")]
    Malformed(String),
}

impl Element {
    /// A field of an object.
    pub fn field(name: impl Into<String>) -> Self {
        Self::Field(name.into())
    }

    /// Reads an element as `fieldsV1` has it.
    ///
    /// # Errors
    /// Where it is none.
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

    /// The element as `fieldsV1` has it.
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

/// As it stands in a message.
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

/// JSON as Go writes it: fit for a script element, too.
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
    fn elements_are_written_as_they_were_read() {
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
    fn what_is_no_element_is_told_from_what_is_unknown() {
        assert_eq!(Element::parse("x:y"), Err(ElementError::Unknown));
        for text in ["", "f", "spec", "i:x", "k:[]", "k:{", "v:", "v:1 2", "ff:x"] {
            assert!(matches!(Element::parse(text), Err(ElementError::Malformed(_))), "{text}");
        }
    }

    #[test]
    fn numbers_are_ordered_by_value_and_sorts_as_the_real_server_orders_them() {
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
