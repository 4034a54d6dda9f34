//! Reading valid and malformed JSON.

use super::*;
use crate::json::testing;
use proptest::prelude::*;

fn reader(text: &[u8]) -> Reader<'_> {
    Reader::new(text, Limits::DEFAULT)
}

fn whole(text: &[u8], read: impl Fn(&mut Reader<'_>) -> Result<(), Malformed>) -> Result<(), Malformed> {
    let mut reader = reader(text);
    read(&mut reader)?;
    reader.end()
}

fn raw(text: &[u8]) -> Result<(), Malformed> {
    whole(text, |reader| reader.raw().map(drop))
}

fn skip(text: &[u8]) -> Result<(), Malformed> {
    whole(text, |reader| reader.skip())
}

#[test]
fn an_object_is_read_key_by_key() {
    let mut reader = reader(br#" { "a" : 1 , "\u0062" : [ "x" , true , null ] , "c":{"d":[]} } "#);
    reader.begin_object().unwrap();
    assert_eq!(reader.next_key().unwrap().as_deref(), Some("a"));
    assert_eq!(reader.number().unwrap(), "1");
    assert_eq!(reader.next_key().unwrap().as_deref(), Some("b"));
    reader.begin_array().unwrap();
    assert!(reader.next_element().unwrap());
    assert_eq!(reader.string().unwrap(), "x");
    assert!(reader.next_element().unwrap());
    assert!(reader.boolean().unwrap());
    assert!(reader.next_element().unwrap());
    assert!(reader.take_null().unwrap());
    assert!(!reader.next_element().unwrap());
    assert_eq!(reader.next_key().unwrap().as_deref(), Some("c"));
    assert_eq!(reader.span().unwrap(), 52..60);
    assert_eq!(reader.next_key().unwrap(), None);
    reader.end().unwrap();
}

#[test]
fn invalid_json_is_rejected_with_its_position() {
    use Problem::*;
    let cases: [(&str, usize, Problem); 19] = [
        ("", 0, Truncated),
        ("  ", 2, Truncated),
        ("nul", 3, Truncated),
        ("nulx", 0, Expected("null")),
        ("Infinity", 0, Expected("a value")),
        ("[1 2]", 3, Expected("a comma or the end of the array")),
        ("[1,]", 3, Expected("a value")),
        ("[,1]", 1, Expected("a value")),
        ("{\"a\" 1}", 5, Expected("a colon")),
        ("{\"a\":1,}", 7, Expected("a key")),
        ("{a:1}", 1, Expected("a key")),
        ("{\"a\":1]", 6, Expected("a comma or the end of the object")),
        ("[}", 1, Expected("a value")),
        ("01", 1, TrailingBytes),
        ("1.", 2, Truncated),
        ("1.e5", 2, Expected("a digit")),
        ("-", 1, Truncated),
        ("-x", 1, Expected("a digit")),
        ("{} {}", 3, TrailingBytes),
    ];
    for (text, offset, problem) in cases {
        assert_eq!(raw(text.as_bytes()), Err(Malformed::new(offset, problem)), "{text}");
    }
}

#[test]
fn a_skipped_value_only_needs_balanced_brackets() {
    assert_eq!(skip(br#"{"a":[}["}}]"}]"#), Ok(()));
    assert_eq!(skip(br#"{"a":["#), Err(Malformed::new(6, Problem::Truncated)));
    assert_eq!(skip(br#""a\"#), Err(Malformed::new(3, Problem::Truncated)));
}

#[test]
fn nesting_stops_at_the_limit_whether_read_or_skipped() {
    let limits = Limits { depth: 3, ..Limits::DEFAULT };
    let too_deep = Malformed::new(3, Problem::TooDeep { limit: 3 });
    for (text, expected) in [("[[[]]]", Ok(())), ("[[[[]]]]", Err(too_deep))] {
        assert_eq!(Reader::new(text.as_bytes(), limits).raw().map(drop), expected);
        assert_eq!(Reader::new(text.as_bytes(), limits).skip(), expected);
        let mut inside = Reader::new(text.as_bytes(), limits);
        inside.begin_array().unwrap();
        inside.next_element().unwrap();
        assert_eq!(inside.skip(), expected);
    }
}

proptest! {
    #[test]
    fn every_document_is_valid_and_is_skipped_to_its_end(json in testing::document()) {
        prop_assert_eq!(raw(json.as_bytes()), Ok(()));
        prop_assert_eq!(skip(json.as_bytes()), Ok(()));
    }

    #[test]
    fn a_truncated_document_is_rejected(json in testing::document(), cut: prop::sample::Index) {
        let cut = cut.index(json.len());
        // A number may end anywhere, and only whitespace may be missing.
        if serde_json::from_slice::<serde_json::Value>(&json.as_bytes()[..cut]).is_err() {
            let truncated = Err(Malformed::new(cut, Problem::Truncated));
            let found = raw(&json.as_bytes()[..cut]);
            let mid_character = matches!(&found, Err(error) if error.problem == Problem::InvalidUtf8);
            prop_assert!(found == truncated || mid_character, "{:?}", found);
            prop_assert_eq!(skip(&json.as_bytes()[..cut]), truncated);
        }
    }

    #[test]
    fn a_corrupted_document_is_accepted_exactly_if_serde_json_accepts_it(
        json in testing::document(), place: prop::sample::Index, byte in testing::nasty_byte()
    ) {
        let mut json = json.into_bytes();
        let place = place.index(json.len());
        json[place] = byte;
        let expected = serde_json::from_slice::<&serde_json::value::RawValue>(&json).is_ok();
        prop_assert_eq!(raw(&json).is_ok(), expected, "{}", json.escape_ascii());
        if expected {
            prop_assert_eq!(skip(&json), Ok(()));
        }
    }
}
