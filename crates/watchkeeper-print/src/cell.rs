//! Cells: small expressions over an object.
//!
//! | expression | prints |
//! |---|---|
//! | `name`, `age`, `created` | common metadata |
//! | `text P [or W]` | the string at a path, or W if absent |
//! | `filled P or W` | the string at a path, or W if absent or empty |
//! | `number P or W` | a number or string at a path, as text |
//! | `int P`, `bool P [or true]` | an integer, a boolean |
//! | `count P...` | the number of items or entries, in total |
//! | `ratio P P` | two numbers: `1/3` |
//! | `since P or W` | the time since a timestamp |
//! | `join P [or W]` | the strings of a list, joined by commas |
//! | `containers P`, `images P` | the names or images of containers, joined by commas |
//! | `labels P`, `selector P` | labels, a label selector |
//! | `quantity P`, `modes P` | a quantity, the short names of access modes |
//! | `kind.word [argument]` | a special cell: see [`crate::cells`] |

use std::cell::OnceCell;

use serde_json::Value;
use watchkeeper_core::Timestamp;
use watchkeeper_wire::json_path::at;

use crate::cells;
use crate::custom::CustomCell;
use crate::pod::Pod;
use crate::timestamp_format::TimestampFormat;
use crate::value::{
    amount, count, int, labels, list, modes, number, or_placeholder, selector, text, timestamp,
};

/// An object to print.
#[derive(Debug)]
pub(crate) struct Subject<'a> {
    pub(crate) object: &'a Value,
    pub(crate) times: TimestampFormat,
    /// The default storage class of the list.
    pub(crate) default_class: Option<&'a str>,
    /// Computed once for three cells.
    pod: OnceCell<Pod>,
}

impl<'a> Subject<'a> {
    pub(crate) fn new(object: &'a Value, times: TimestampFormat, default_class: Option<&'a str>) -> Self {
        Self { object, times, default_class, pod: OnceCell::new() }
    }

    pub(crate) fn pod(&self) -> &Pod {
        self.pod.get_or_init(|| Pod::read(self.object))
    }

    /// Formats the timestamp at a path, if there is one.
    pub(crate) fn since(&self, path: &str) -> Option<String> {
        Some(self.times.format(timestamp(at(self.object, path)?)?))
    }
}

/// The expression of a cell.
#[derive(Debug, Clone)]
pub(crate) enum Cell {
    Custom(CustomCell),
    Created,
    Text { path: &'static str, or: &'static str },
    Filled { path: &'static str, or: &'static str },
    Number { path: &'static str, or: &'static str },
    Int { path: &'static str },
    Bool { path: &'static str, or: bool },
    Count { paths: &'static str },
    Ratio { of: &'static str, to: &'static str },
    Since { path: &'static str, or: &'static str },
    Join { path: &'static str, or: &'static str },
    Each { path: &'static str, field: &'static str },
    Labels { path: &'static str },
    Selector { path: &'static str },
    Quantity { path: &'static str },
    Modes { path: &'static str },
    Timestamp(Special),
    Special(Special),
    SpecialOf(SpecialOf, &'static str),
}

/// A special cell.
pub(crate) type Special = fn(&Subject<'_>) -> Value;
/// A special cell with an argument.
pub(crate) type SpecialOf = fn(&Subject<'_>, &'static str) -> Value;

impl Cell {
    pub(crate) const NAME: Self = Self::Text { path: "metadata.name", or: "" };

    pub(crate) fn parse(text: &'static str) -> Result<Self, String> {
        let (text, or) = text.split_once(" or ").map_or((text, None), |(text, or)| (text, Some(or)));
        let (word, path) = text.split_once(' ').unwrap_or((text, ""));
        let text_or = or.unwrap_or_default();
        Ok(match word {
            "name" => Self::NAME,
            "age" => Self::Since { path: "metadata.creationTimestamp", or: "<unknown>" },
            "created" => Self::Created,
            "text" => Self::Text { path, or: text_or },
            "filled" => Self::Filled { path, or: text_or },
            "number" => Self::Number { path, or: text_or },
            "int" => Self::Int { path },
            "bool" => Self::Bool { path, or: or == Some("true") },
            "count" => Self::Count { paths: path },
            "ratio" => {
                let (of, to) = path.split_once(' ').ok_or_else(|| format!("{text:?} needs two paths"))?;
                Self::Ratio { of, to }
            }
            "since" => Self::Since { path, or: text_or },
            "join" => Self::Join { path, or: text_or },
            "containers" => Self::Each { path, field: "name" },
            "images" => Self::Each { path, field: "image" },
            "labels" => Self::Labels { path },
            "selector" => Self::Selector { path },
            "quantity" => Self::Quantity { path },
            "modes" => Self::Modes { path },
            _ => match (cells::timestamp(word), cells::special(word), cells::special_of(word)) {
                (Some(cell), ..) if path.is_empty() => Self::Timestamp(cell),
                (_, Some(special), _) if path.is_empty() => Self::Special(special),
                (.., Some(special)) if !path.is_empty() => Self::SpecialOf(special, path),
                _ => return Err(format!("unknown cell {text:?}")),
            },
        })
    }

    /// Returns whether the cell is a timestamp.
    pub(crate) fn is_timestamp(&self) -> bool {
        match self {
            Self::Custom(cell) => cell.is_date(),
            Self::Created | Self::Since { .. } | Self::Timestamp(_) => true,
            _ => false,
        }
    }

    pub(crate) fn value(&self, subject: &Subject<'_>) -> Value {
        let object = subject.object;
        match *self {
            Self::Custom(ref cell) => cell.value(object, subject.times),
            Self::Created => {
                let created = at(object, "metadata.creationTimestamp").and_then(timestamp);
                Value::from(created.unwrap_or(Timestamp::GO_ZERO).to_string())
            }
            Self::Text { path, or } => Value::from(text(object, path).unwrap_or(or)),
            Self::Filled { path, or } => {
                Value::from(text(object, path).filter(|text| !text.is_empty()).unwrap_or(or))
            }
            Self::Number { path, or } => Value::from(number(object, path).unwrap_or_else(|| or.to_owned())),
            Self::Int { path } => Value::from(int(object, path)),
            Self::Bool { path, or } => Value::from(at(object, path).and_then(Value::as_bool).unwrap_or(or)),
            Self::Count { paths } => {
                Value::from(paths.split(' ').map(|path| count(object, path)).sum::<usize>())
            }
            Self::Ratio { of, to } => Value::from(format!("{}/{}", int(object, of), int(object, to))),
            Self::Since { path, or } => Value::from(subject.since(path).unwrap_or_else(|| or.to_owned())),
            Self::Join { path, or } => {
                let texts: Vec<&str> = list(object, path).iter().filter_map(Value::as_str).collect();
                Value::from(or_placeholder(texts.join(","), or))
            }
            Self::Each { path, field } => {
                let texts: Vec<&str> =
                    list(object, path).iter().map(|it| text(it, field).unwrap_or("")).collect();
                Value::from(texts.join(","))
            }
            Self::Labels { path } => Value::from(labels(at(object, path))),
            Self::Selector { path } => Value::from(match selector(at(object, path)) {
                Some(selector) => or_placeholder(selector, "<none>"),
                None => "<error>".to_owned(),
            }),
            Self::Quantity { path } => Value::from(amount(at(object, path))),
            Self::Modes { path } => Value::from(modes(list(object, path))),
            Self::Timestamp(special) | Self::Special(special) => special(subject),
            Self::SpecialOf(special, argument) => special(subject, argument),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn print(cell: &'static str, object: &Value) -> Value {
        let now = "2026-11-15T10:00:00Z".parse().unwrap();
        Cell::parse(cell).unwrap().value(&Subject::new(object, TimestampFormat::Age { now }, None))
    }

    #[test]
    fn absent_values_print_as_placeholders() {
        let nothing = json!({});
        let cases = [
            ("name", json!("")),
            ("age", json!("<unknown>")),
            ("created", json!("0001-01-01T00:00:00Z")),
            ("text a.b or <none>", json!("<none>")),
            ("filled a or <x>", json!("<x>")),
            ("number a or N/A", json!("N/A")),
            ("int a", json!(0)),
            ("bool a", json!(false)),
            ("bool a or true", json!(true)),
            ("count a b", json!(0)),
            ("ratio a b", json!("0/0")),
            ("since a or <none>", json!("<none>")),
            ("join a or <none>", json!("<none>")),
            ("containers a", json!("")),
            ("labels a", json!("<none>")),
            ("selector a", json!("<none>")),
            ("quantity a", json!("0")),
            ("modes a", json!("")),
        ];
        for (cell, expected) in cases {
            assert_eq!(print(cell, &nothing), expected, "{cell}");
        }
    }

    #[test]
    fn values_print_in_their_format() {
        let object = json!({
            "metadata": {"name": "n", "creationTimestamp": "2026-11-15T09:00:00Z"},
            "empty": "", "i": 3, "s": "50%", "list": ["a", "b"], "map": {"b": "2", "a": "1"},
            "containers": [{"name": "x", "image": "i:1"}, {"name": "y"}], "q": "1000m",
            "modes": ["ReadWriteMany", "ReadWriteOnce", "ReadWriteOnce"],
            "selector": {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "c", "operator": "Exists"}]},
            "bad": {"matchExpressions": [{"key": "c", "operator": "Sometimes"}]},
        });
        let cases = [
            ("name", json!("n")),
            ("age", json!("60m")),
            ("created", json!("2026-11-15T09:00:00Z")),
            ("text empty or <none>", json!("")),
            ("filled empty or <none>", json!("<none>")),
            ("number i or N/A", json!("3")),
            ("number s or N/A", json!("50%")),
            ("count list map", json!(4)),
            ("ratio i absent", json!("3/0")),
            ("join list", json!("a,b")),
            ("containers containers", json!("x,y")),
            ("images containers", json!("i:1,")),
            ("labels map", json!("a=1,b=2")),
            ("selector selector", json!("a=b,c")),
            ("selector bad", json!("<error>")),
            ("quantity q", json!("1")),
            ("modes modes", json!("RWO,RWX")),
        ];
        for (cell, expected) in cases {
            assert_eq!(print(cell, &object), expected, "{cell}");
        }
    }

    #[test]
    fn unknown_cells_are_rejected() {
        for text in ["guess", "pod.guess", "pod.ready x", "node.address", "ratio a"] {
            assert!(Cell::parse(text).is_err(), "{text:?} was accepted");
        }
    }
}
