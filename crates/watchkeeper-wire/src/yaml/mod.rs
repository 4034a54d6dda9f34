//! YAML: parsed into a [`Document`] and written from JSON, as Kubernetes does.
//!
//! Kubernetes reads YAML 1.1: `yes`, `on` and `y` are true, `010` is eight, and `<<` merges. It converts
//! the result to JSON: numeric keys become strings, and `1e3` becomes `1000`.
//!
//! - `yaml.Y1`: aliases cannot make a document much larger than its text: see `expand`.
//! - `yaml.Y2`: only the first document of a stream is parsed.

mod expand;
mod text;
mod write;

use std::collections::HashSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, Tag};
use serde_json::Number;

use crate::document::{DOCUMENT_DEPTH, Document};
use expand::{Anchors, Budget, Entry, Expander, Node};

pub use expand::YAML_ALIASED_BYTES;
pub use write::write;

/// Maximum number of duplicate keys to report.
pub const REPEATED_KEYS: usize = 100;

/// A document and its duplicate keys.
#[derive(Debug, PartialEq)]
pub struct Yaml {
    /// The document.
    pub document: Document,
    /// Line and name of duplicate keys, at most [`REPEATED_KEYS`].
    pub repeated: Vec<(usize, String)>,
}

/// An incomplete list or mapping.
enum Open {
    List { items: Vec<Node>, anchor: usize },
    Object { mapping: Mapping, anchor: usize, key: Key },
}

/// The entries of a mapping, and the set of its keys to detect duplicates.
#[derive(Default)]
struct Mapping {
    entries: Vec<Entry>,
    names: HashSet<String>,
}

/// The state of a mapping.
enum Key {
    Due,
    Read {
        name: String,
        line: usize,
    },
    /// The next value is merged into the mapping.
    Merge,
}

#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    anchors: Anchors,
    budget: Budget,
    repeated: Vec<(usize, String)>,
    root: Option<Node>,
}

/// Parses the first document; an empty stream is null.
///
/// # Errors
/// An approximation of Go's error message.
pub fn read(text: &str) -> Result<Yaml, String> {
    let mut builder = Builder::default();
    if text.contains(is_control) {
        return Err("yaml: control characters are not allowed".to_owned());
    }
    let end = text.chars().count();
    let mut parser = Parser::new_from_str(text);
    while let Some(event) = parser.next_event() {
        let (event, span) = event.map_err(|error| shown(&error))?;
        match event {
            Event::DocumentEnd | Event::StreamEnd => break,
            Event::Alias(anchor) => builder.alias(anchor, span.start.line())?,
            Event::Scalar(content, style, anchor, tag) => {
                let gained = span.end.index() == end && gains_a_break(&content, style, span);
                let content = &content[..content.len() - usize::from(gained)];
                let plain = match (style, &tag) {
                    (ScalarStyle::Plain, None) if content == "<<" => Plain::Merge,
                    _ => Plain::Not,
                };
                let node = Node::Leaf(scalar(content, style, tag.as_deref())?);
                builder.add(node, plain, span.start.line(), anchor)?;
            }
            Event::SequenceStart(anchor, _) => builder.enter(Open::List { items: Vec::new(), anchor })?,
            Event::MappingStart(anchor, _) => {
                builder.enter(Open::Object { mapping: Mapping::default(), anchor, key: Key::Due })?;
            }
            Event::SequenceEnd | Event::MappingEnd => builder.leave(span.start.line())?,
            Event::Nothing | Event::StreamStart | Event::DocumentStart(_) => {}
        }
    }
    let Builder { anchors, budget, repeated, root, .. } = builder;
    let document = match root {
        Some(root) => Expander::new(&anchors, budget).expand(&root, 0)?, // yaml.Y1
        None => Document::Null,
    };
    Ok(Yaml { document, repeated })
}

/// Returns whether YAML 1.1 forbids the character, even in quotes.
fn is_control(c: char) -> bool {
    !matches!(c, '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{fffd}' | '\u{10000}'..)
}

/// Returns whether the parser added a line break to a block scalar at the end of the input, which Go does not. The
/// span of a scalar starts after the indentation of its first line, and that of an empty one at its `|`.
fn gains_a_break(content: &str, style: ScalarStyle, span: Span) -> bool {
    let last_line_counts = match content.trim_end_matches('\n') {
        "" => span.end.line() == span.start.line() + 1,
        _ => span.end.col() >= span.start.col(),
    };
    let is_block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
    is_block && content.ends_with('\n') && span.end.col() > 0 && last_line_counts
}

/// The role of a scalar.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Plain {
    Not,
    /// `<<`, which merges if used as a key.
    Merge,
}

impl Builder {
    fn enter(&mut self, open: Open) -> Result<(), String> {
        if let Some(Open::Object { key: Key::Due, .. }) = self.open.last() {
            return Err("yaml: invalid map key".to_owned());
        }
        if self.open.len() >= DOCUMENT_DEPTH {
            return Err(format!("yaml: exceeded max depth of {DOCUMENT_DEPTH}"));
        }
        self.open.push(open);
        Ok(())
    }

    fn leave(&mut self, line: usize) -> Result<(), String> {
        match self.open.pop() {
            Some(Open::List { items, anchor }) => self.add(Node::List(items), Plain::Not, line, anchor),
            Some(Open::Object { mapping, anchor, .. }) => {
                self.add(Node::Object(mapping.entries), Plain::Not, line, anchor)
            }
            None => Ok(()),
        }
    }

    fn alias(&mut self, anchor: usize, line: usize) -> Result<(), String> {
        let value = self.anchors.get(&anchor);
        let value = value.ok_or_else(|| "yaml: anchor value contains itself".to_owned())?;
        // Keys are resolved to strings at once.
        let node = match (self.open.last(), value) {
            (Some(Open::Object { key: Key::Due, .. }), Node::Leaf(leaf)) => {
                if let Document::Text(text) = leaf {
                    self.budget.copy(text)?;
                }
                Node::Leaf(leaf.clone())
            }
            _ => Node::Alias(anchor),
        };
        self.add(node, Plain::Not, line, 0)
    }

    fn add(&mut self, node: Node, plain: Plain, line: usize, anchor: usize) -> Result<(), String> {
        // A key is resolved to a string before it becomes an anchor.
        let key = match self.open.last() {
            Some(Open::Object { key: Key::Due, .. }) => Some(match plain {
                Plain::Merge => Key::Merge,
                Plain::Not => Key::Read { name: key_text(&node)?, line },
            }),
            _ => None,
        };
        let node = match anchor {
            0 => node,
            anchor => {
                self.anchors.insert(anchor, node);
                Node::Anchored(anchor)
            }
        };
        match self.open.last_mut() {
            None => {
                self.root.get_or_insert(node);
            }
            Some(Open::List { items, .. }) => items.push(node),
            Some(Open::Object { mapping, key: due, .. }) => match (key, std::mem::replace(due, Key::Due)) {
                (Some(key), _) => *due = key,
                (None, Key::Read { name, line }) => {
                    if !mapping.names.insert(name.clone()) && self.repeated.len() < REPEATED_KEYS {
                        self.repeated.push((line, name.clone()));
                    }
                    mapping.entries.push(Entry::Field(name, node));
                }
                (None, Key::Merge) => mapping.entries.push(Entry::Merge(node)),
                (None, Key::Due) => {} // keys are handled above
            },
        }
        Ok(())
    }
}

/// Converts a key to a string.
fn key_text(node: &Node) -> Result<String, String> {
    let Node::Leaf(leaf) = node else { return Err("yaml: invalid map key".to_owned()) };
    match leaf {
        Document::Text(text) => Ok(text.clone()),
        Document::Number(number) => Ok(number.to_string()),
        Document::Bool(value) => Ok(value.to_string()),
        Document::Null => Err("unsupported map key of type: %!s(<nil>), key: <nil>".to_owned()),
        Document::List(_) | Document::Object(_) => Err("yaml: invalid map key".to_owned()),
    }
}

fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Result<Document, String> {
    let tag = tag.filter(|tag| tag.is_yaml_core_schema()).map(|tag| tag.suffix.as_str());
    let text_node = || Document::Text(text.to_owned());
    match (tag, style) {
        (Some("str"), _) => Ok(text_node()),
        (Some("binary"), _) => {
            let bytes = STANDARD.decode(text.replace(['\n', ' '], ""));
            let bytes = bytes.map_err(|_| "yaml: !!binary value contains invalid base64 data".to_owned())?;
            Ok(Document::Text(String::from_utf8_lossy(&bytes).into_owned()))
        }
        (Some("int" | "float" | "bool" | "null"), _) | (None, ScalarStyle::Plain) => resolve(text),
        _ => Ok(text_node()),
    }
}

/// Resolves a plain scalar by YAML 1.1, as Go does.
fn resolve(text: &str) -> Result<Document, String> {
    let number = |number: f64| match number {
        // Go writes a float without a fraction as an integer.
        it if it.fract() == 0.0 && it.abs() < 9e15 => Document::Number((it as i64).into()),
        it => Number::from_f64(it).map_or(Document::Null, Document::Number),
    };
    let node = match text {
        "" | "~" | "null" | "Null" | "NULL" => Document::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Document::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Document::Bool(false)
        }
        ".nan" | ".NaN" | ".NAN" => return Err("json: unsupported value: NaN".to_owned()),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => {
            return Err("json: unsupported value: +Inf".to_owned());
        }
        "-.inf" | "-.Inf" | "-.INF" => return Err("json: unsupported value: -Inf".to_owned()),
        text => {
            let plain = text.replace('_', "");
            let starts_a_number = text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c));
            match starts_a_number.then(|| integer(&plain)).flatten() {
                Some(number) => Document::Number(number),
                None => match float(&plain).filter(|_| starts_a_number) {
                    Some(value) => number(value),
                    None => Document::Text(text.to_owned()),
                },
            }
        }
    };
    Ok(node)
}

/// Parses decimal, `0x`, `0o`, `0b`, and octal with a leading zero.
fn integer(text: &str) -> Option<Number> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'o' | b'O', ..] => (8, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    if digits.starts_with(['+', '-']) {
        return None;
    }
    if negative {
        i64::from_str_radix(&format!("-{digits}"), radix).ok().map(Number::from)
    } else {
        u64::from_str_radix(digits, radix).ok().map(Number::from)
    }
}

/// Parses `1.5`, `.5`, `1.` and `12e03`, but not the other forms that Rust accepts, nor infinite values.
fn float(text: &str) -> Option<f64> {
    let is_digit = |c: char| c.is_ascii_digit();
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) =
        unsigned.split_once(['e', 'E']).map_or((unsigned, None), |(m, e)| (m, Some(e)));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = whole.chars().all(is_digit) && fraction.chars().all(is_digit);
    let some = !whole.is_empty() || !fraction.is_empty();
    let exponent = exponent.is_none_or(|exponent| {
        let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !digits.is_empty() && digits.chars().all(is_digit)
    });
    text.parse().ok().filter(|value: &f64| digits && some && exponent && value.is_finite())
}

fn shown(error: &ScanError) -> String {
    match error.marker().line() {
        0 | 1 => format!("yaml: {}", error.info()),
        line => format!("yaml: line {line}: {}", error.info()),
    }
}

#[cfg(test)]
mod tests;
