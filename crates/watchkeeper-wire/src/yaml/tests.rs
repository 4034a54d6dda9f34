//! YAML as Go reads it.

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
