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
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn value(text: &str) -> Value {
        read(text).unwrap().document.into()
    }

    #[test]
    fn scalars_resolve_as_in_go() {
        for (text, meaning) in [
            ("0x10", json!(16)),
            ("010", json!(8)),
            ("0o10", json!(8)),
            ("0b11", json!(3)),
            ("1_000", json!(1000)),
            ("1e3", json!(1000)),
            (".5", json!(0.5)),
            ("1.", json!(1)),
            ("08", json!(8)),
            ("+5", json!(5)),
            ("-0", json!(0)),
            ("-9223372036854775808", json!(i64::MIN)),
            ("18446744073709551615", json!(u64::MAX)),
            ("18446744073709551616", json!(18446744073709551616.0)),
            ("1e400", json!("1e400")),
            ("0.1e", json!("0.1e")),
            ("0x", json!("0x")),
            ("1:30", json!("1:30")),
            ("2020-01-01", json!("2020-01-01")),
            ("yes", json!(true)),
            ("N", json!(false)),
            ("tRUE", json!("tRUE")),
            ("~", json!(null)),
            ("", json!(null)),
            ("'1'", json!("1")),
            ("!!int \"5\"", json!(5)),
            ("!!str 5", json!("5")),
            ("!!binary aGk=", json!("hi")),
            ("!foo x", json!("x")),
        ] {
            assert_eq!(value(&format!("a: {text}")), json!({"a": meaning}), "{text}");
        }
        assert_eq!(read("a: .inf").unwrap_err(), "json: unsupported value: +Inf");
    }

    #[test]
    fn keys_become_strings_and_duplicates_are_reported_with_lines() {
        let yaml = read("1: a\ntrue: b\n1.5: c\nx:\n  k: 1\n  k: 2\n1: d\n").unwrap();
        assert_eq!(yaml.repeated, [(6, "k".to_owned()), (7, "1".to_owned())]);
        assert_eq!(Value::from(yaml.document), json!({"1": "d", "true": "b", "1.5": "c", "x": {"k": 2}}));
        assert!(read("? [a, b]\n: 1\n").is_err());
        assert!(read("null: 1\n").unwrap_err().starts_with("unsupported map key of type: %!s(<nil>)"));
    }

    #[test]
    fn aliases_and_merges_are_followed() {
        let text = "d: &d {a: 1, b: 2}\ne: *d\nf:\n  <<: *d\n  a: 3\ng:\n  b: 4\n  <<: [*d, {c: 5}]\n";
        let expected = json!({
            "d": {"a": 1, "b": 2}, "e": {"a": 1, "b": 2}, "f": {"a": 3, "b": 2}, "g": {"a": 1, "b": 4, "c": 5}
        });
        assert_eq!(value(text), expected);
        assert_eq!(read(text).unwrap().repeated, []);
    }

    #[test]
    fn only_the_first_document_is_read() {
        assert_eq!(value("a: 1\n---\nb: 2\n"), json!({"a": 1}));
        assert_eq!(value(""), Value::Null);
        assert_eq!(value("# nothing\n"), Value::Null);
    }

    #[test]
    fn a_block_scalar_ends_as_the_input_does() {
        for (text, meaning) in [
            ("|\n  x\n", "x\n"),
            ("|\n  x", "x"),
            ("|+\n  x", "x"),
            ("|-\n  x", "x"),
            (">\n  x\n  y", "x y"),
            ("|\n  x\n ", "x\n"),
            ("|\n  x\n  ", "x\n"),
            ("|\n  x\n   ", "x\n "),
            ("|+\n  x\n ", "x\n"),
            ("|+\n  x\n  ", "x\n"),
            ("|+\n  x\n   ", "x\n "),
            ("|+\n  x\n\n", "x\n\n"),
            ("|\n  x\r", "x\n"),
            ("|\n  x\n# y", "x\n"),
            ("|\n  x\n...", "x\n"),
            ("|", ""),
            ("|\n", ""),
            ("|+\n  ", ""),
            ("|+\n\n  ", "\n"),
            ("|\n\n\n  ", ""),
        ] {
            assert_eq!(value(&format!("a: {text}")), json!({"a": meaning}), "{text:?}");
            assert_eq!(value(text), json!(meaning), "{text:?}");
        }
    }

    #[test]
    fn a_multi_line_root_string_does_not_end_the_document() {
        for (text, written) in [
            ("...\n", "|\n  ...\n"),
            ("---\nx", "|-\n  ---\n  x\n"),
            ("a\n\n", "|+\n  a\n\n"),
            ("...", "'...'\n"),
            ("--- a", "'--- a'\n"),
        ] {
            assert_eq!(write(&json!(text)), written);
            assert_eq!(value(written), json!(text), "{written:?}");
        }
        assert_eq!(value("|\n...\n"), json!(""));
    }

    #[test]
    fn long_and_multi_line_keys_are_written_as_in_go() {
        let long = "k".repeat(129);
        let fields = json!({"a\nb\n": 1, &long[1..]: "x", "o": {&long: {"c": "d", "e": [1, {"f": 2}]}}});
        let written = format!(
            "? |\n  a\n  b\n: 1\n{}: x\no:\n  ? {long}\n  : c: d\n    e:\n    - 1\n    - f: 2\n",
            &long[1..]
        );
        assert_eq!(write(&fields), written);
        assert_eq!(value(&written), fields);
        let list = json!([{"k".repeat(2000): ["c", {"d": "x\ny"}]}]);
        assert_eq!(value(&write(&list)), list);
    }

    #[test]
    fn unprintable_characters_are_escaped() {
        let text = "a\u{1}\u{7f}\u{85}\u{2028}\u{feff}\u{ffff}\u{e0001}\"\\\t\n";
        let written = "\"a\\x01\\x7F\\N\\L\\uFEFF\\uFFFF\\U000E0001\\\"\\\\\\t\\n\"\n";
        assert_eq!(write(&json!(text)), written);
        assert_eq!(value(written), json!(text));
    }

    #[test]
    fn alias_bombs_are_rejected() {
        let mut text = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
        for level in 1..20 {
            let before = format!("*a{}", level - 1);
            text.push_str(&format!("a{level}: &a{level} [{}]\n", [before.as_str(); 10].join(",")));
        }
        assert_eq!(read(&text).unwrap_err(), "yaml: document contains excessive aliasing");
    }

    /// Nine anchors with nine aliases each, in 463 bytes.
    fn small_bomb() -> String {
        let mut text = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned();
        for level in 1..9 {
            let before = format!("*a{}", level - 1);
            text.push_str(&format!("a{level}: &a{level} [{}]\n", [before.as_str(); 9].join(",")));
        }
        text
    }

    #[test]
    fn small_alias_bombs_are_rejected_before_expansion() {
        let text = small_bomb();
        assert!(text.len() < 500, "{}", text.len());
        assert_eq!(read(&text).unwrap_err(), "yaml: document contains excessive aliasing");
    }

    #[test]
    fn aliases_of_a_long_string_are_limited_by_bytes() {
        let long = "x".repeat(YAML_ALIASED_BYTES / 10);
        let document = |aliases: usize| format!("a: &a {long}\nb: [{}]\n", vec!["*a"; aliases].join(","));
        assert!(read(&document(10)).is_ok());
        assert_eq!(read(&document(11)).unwrap_err(), "yaml: document contains excessive aliasing");
        let keys: String = (0..11).map(|n| format!("- *a : {n}\n")).collect();
        let error = read(&format!("- &a {long}\n{keys}")).unwrap_err();
        assert_eq!(error, "yaml: document contains excessive aliasing");
    }

    #[test]
    fn aliases_are_allowed_as_far_as_go_allows_them() {
        // 100 values and their aliases: no limit below 1,000 values, and up to 99% aliased beyond.
        let list = |aliases: usize| {
            let values = vec!["x"; 100].join(",");
            format!("a: &a [{values}]\nb: [{}]\n", vec!["*a"; aliases].join(","))
        };
        assert!(read(&list(8)).is_ok());
        assert!(read(&list(3000)).is_ok());
        assert_eq!(read(&list(4500)).unwrap_err(), "yaml: document contains excessive aliasing");
    }

    #[test]
    fn repeated_merges_take_linear_time() {
        let fields: String = (0..200).map(|n| format!("f{n}: {n}, ")).collect();
        let merges = "  <<: *a\n".repeat(80_000);
        let error = read(&format!("a: &a {{{fields}}}\nb:\n{merges}")).unwrap_err();
        assert_eq!(error, "yaml: document contains excessive aliasing");
    }

    #[test]
    fn chained_anchors_are_limited_in_depth() {
        let mut text = "- &a0 [x]\n".to_owned();
        for level in 1..30_000 {
            text.push_str(&format!("- &a{level} [*a{}]\n", level - 1));
        }
        let error = read(&text).unwrap_err();
        assert!(error.contains("max depth") || error.contains("aliasing"), "{error}");
    }

    #[test]
    fn deep_documents_are_rejected() {
        assert!(read(&"[".repeat(DOCUMENT_DEPTH + 1)).unwrap_err().contains("max depth"));
        assert!(read(&"- ".repeat(DOCUMENT_DEPTH + 1)).unwrap_err().contains("max depth"));
    }

    #[test]
    fn malformed_text_is_rejected() {
        assert_eq!(read("a: b: c").unwrap_err(), "yaml: mapping values are not allowed in this context");
        for text in ["a: b\0c", "a: 1\n\0", "a: \"\u{1}\"", "a: \u{7f}", "a: '\u{81}'", "a: \u{ffff}"] {
            assert_eq!(read(text).unwrap_err(), "yaml: control characters are not allowed", "{text:?}");
        }
        for text in ["a: [", "a: 'x", "*x", "a: b\n  c: d: e\n"] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_status_is_written_as_in_go() {
        let status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 404,
            "message": "configmaps \"nope\" not found", "reason": "NotFound",
            "details": {"name": "nope", "kind": "configmaps"}
        });
        let expected = "apiVersion: v1\ncode: 404\ndetails:\n  kind: configmaps\n  name: nope\nkind: Status\nmessage: configmaps \"nope\" not found\nmetadata: {}\nreason: NotFound\nstatus: Failure\n";
        assert_eq!(write(&status), expected);
        let lines = json!({"message": "406: Not Acceptable\n\nAvailable: application/json", "x": [{"a": "1", "b": []}, "y: z"]});
        let expected = "message: |-\n  406: Not Acceptable\n\n  Available: application/json\nx:\n- a: \"1\"\n  b: []\n- 'y: z'\n";
        assert_eq!(write(&lines), expected);
    }

    fn any_json() -> impl proptest::strategy::Strategy<Value = Value> {
        use proptest::prelude::*;
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[ -~\n\u{e4}\t\u{7f}\u{85}\u{2028}\u{feff}.-]{0,12}".prop_map(Value::from),
            "([a-c\u{e4}'\"#:-]{1,9} {1,3}){12,30}[a-c]{0,2}".prop_map(Value::from), // is folded
            "(yes|0x1|1e3|~|- a|a: b|#x|---|2020-01-01|<<|=|a #b|:|\\?|'|\"| |)".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[ -~\n]{0,5}|k{129}", inner, 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest::proptest! {
        #[test]
        fn documents_round_trip(value in any_json()) {
            let text = write(&value);
            let read = read(&text).map(|yaml| Value::from(yaml.document));
            proptest::prop_assert_eq!(read, Ok(value), "{}", text);
        }

        #[test]
        fn parsing_never_panics(text in "[-a:&*{}\\[\\],#|>'\"!%@?<~. \n0x]{0,40}") {
            let _ = read(&text);
        }
    }
}
