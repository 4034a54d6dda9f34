//! Splitting of JSON lists of every form, in all chunkings.
#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod documents;

use bytes::Bytes;
use documents::{chunks, single_bytes};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};
use watchkeeper_core::ListMeta;
use watchkeeper_wire::json::ListSplitter;
use watchkeeper_wire::{Limits, Malformed, Problem};

type Split = (Vec<String>, Result<ListMeta, Malformed>);

/// Returns the items, and the end or the error.
fn split_within(limits: Limits, chunks: Vec<Bytes>) -> Split {
    let mut split = ListSplitter::new(limits);
    let mut items = Vec::new();
    for chunk in chunks {
        split.push(chunk);
        loop {
            match split.next() {
                Ok(Some(item)) => items.push(String::from_utf8_lossy(item).into_owned()),
                Ok(None) => break,
                Err(error) => {
                    assert_eq!(split.next().unwrap_err(), error, "the error stays");
                    assert_eq!(split.finish().unwrap_err(), error, "the error stays");
                    return (items, Err(error));
                }
            }
        }
    }
    (items, split.finish())
}

fn split(chunks: Vec<Bytes>) -> Split {
    split_within(Limits::DEFAULT, chunks)
}

fn split_whole(body: &str) -> Split {
    let whole = split(vec![Bytes::copy_from_slice(body.as_bytes())]);
    assert_eq!(split(single_bytes(body.as_bytes())), whole, "one byte at a time: {body}");
    whole
}

fn problem(body: &str) -> (u64, Problem) {
    let error = split_whole(body).1.unwrap_err();
    (error.offset, error.problem)
}

const PODS: &str = concat!(
    r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"42","continue":"abc","remainingItemCount":7},"#,
    r#""items":[{"metadata":{"name":"a \" ] } b"}},{"metadata":{"name":"b"},"spec":{"list":[[],{}]}}]}"#,
    "\n"
);

#[test]
fn a_list_has_items_and_a_kind() {
    let (items, end) = split_whole(PODS);
    assert_eq!(
        items,
        [r#"{"metadata":{"name":"a \" ] } b"}}"#, r#"{"metadata":{"name":"b"},"spec":{"list":[[],{}]}}"#]
    );
    let expected = ListMeta {
        resource_version: "42".into(),
        continue_token: Some("abc".into()),
        remaining_item_count: Some(7),
        api_version: "v1".into(),
        kind: "PodList".into(),
    };
    assert_eq!(end, Ok(expected));
}

#[test]
fn items_may_come_before_metadata() {
    let (items, end) =
        split_whole(r#"{"items":[{"a":1}],"metadata":{"resourceVersion":"42"},"kind":"WidgetList"}"#);
    assert_eq!(items, [r#"{"a":1}"#]);
    let end = end.unwrap();
    assert_eq!((end.resource_version, end.kind.as_str()), ("42".into(), "WidgetList"));
}

#[test]
fn null_absent_and_empty_items_are_an_empty_list() {
    for body in [
        r#"{"metadata":{"resourceVersion":"42"},"items":null}"#,
        r#"{"items":null,"metadata":{"resourceVersion":"42"}}"#,
        r#"{"metadata":{"resourceVersion":"42"},"items":[]}"#,
        r#"{"metadata":{"resourceVersion":"42"}}"#,
    ] {
        let (items, end) = split_whole(body);
        assert!(items.is_empty());
        assert_eq!(end.unwrap().resource_version, "42".into(), "{body}");
    }
    let empty = split_whole(r#"{}"#);
    assert_eq!(empty, (vec![], Ok(ListMeta::default())));
}

#[test]
fn a_status_instead_of_a_list_is_recognized_by_kind() {
    let (items, end) =
        split_whole(r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","code":403}"#);
    assert!(items.is_empty());
    assert_eq!(end.unwrap().kind, "Status");
}

#[test]
fn whitespace_unknown_fields_and_escaped_keys_are_accepted() {
    let (items, end) = split_whole(
        "\r\n { \"x\" : [ \"]\" , -1.5e3 ] ,\t\"y\":true, \"z\":\"a\\\\\", \"n\": 0 ,\
         \"\\u0069tems\" : [ { \"a\" : 1 } ,\n{ } ] , \"metadata\" : { \"resourceVersion\" : \"\\u0034\\u0032\" ,\
         \"continue\":\"\", \"remainingItemCount\":null, \"selfLink\":\"/\" } } \n\n",
    );
    assert_eq!(items, [r#"{ "a" : 1 }"#, "{ }"]);
    let end = end.unwrap();
    assert_eq!(
        (end.resource_version, end.continue_token, end.remaining_item_count),
        ("42".into(), None, None)
    );
}

#[test]
fn a_null_field_is_absent() {
    let (_, end) = split_whole(r#"{"kind":null,"apiVersion":null,"metadata":null,"items":null}"#);
    assert_eq!(end, Ok(ListMeta::default()));
}

#[test]
fn errors_have_a_position_and_a_problem() {
    use Problem::*;
    let cases = [
        (r#"[]"#, 0, Expected("a list")),
        (r#"x"#, 0, Expected("a list")),
        (r#"{,}"#, 1, Expected("a key")),
        (r#"{"kind":"a",}"#, 12, Expected("a key")),
        (r#"{"kind" "a"}"#, 8, Expected("a colon")),
        (r#"{"kind":"a" "b"}"#, 12, Expected("a comma or the end of the list")),
        (r#"{"kind":}"#, 8, Expected("a value")),
        (r#"{"kind":7}"#, 8, Expected("a string")),
        (r#"{"other":truth}"#, 9, Expected("true")),
        (r#"{"other":truex}"#, 13, TrailingBytes),
        (r#"{"other":01}"#, 10, TrailingBytes),
        (r#"{"metadata":[]}"#, 12, Expected("an object")),
        (r#"{"metadata":{"resourceVersion":42}}"#, 31, Expected("a string")),
        (
            r#"{"metadata":{"remainingItemCount":9223372036854775808}}"#,
            34,
            NumberOutOfRange("remainingItemCount"),
        ),
        (r#"{"metadata":{"a":1,"a":2}}"#, 19, DuplicateKey("a".into())),
        (r#"{"metadata":{},"metadata":{}}"#, 15, DuplicateKey("metadata".into())),
        (r#"{"items":[],"items":[]}"#, 12, DuplicateKey("items".into())),
        (r#"{"items":null,"it\u0065ms":[]}"#, 14, DuplicateKey("items".into())),
        (r#"{"items":{}}"#, 9, Expected("an array")),
        (r#"{"items":nix}"#, 9, Expected("null")),
        (r#"{"items":[1]}"#, 10, Expected("an object")),
        (r#"{"items":[null]}"#, 10, Expected("an object")),
        (r#"{"items":[{},]}"#, 13, Expected("an object")),
        (r#"{"items":[{} {}]}"#, 13, Expected("a comma or the end of the items")),
        (r#"{"items":[]]"#, 11, Expected("a comma or the end of the list")),
        (r#"{} {}"#, 3, TrailingBytes),
        (r#"{"\x":1}"#, 2, InvalidEscape),
        (r#"{"#, 1, Truncated),
        (r#""#, 0, Truncated),
        (r#"{"items":[{"a":"#, 15, Truncated),
    ];
    for (body, offset, expected) in cases {
        assert_eq!(problem(body), (offset, expected), "{body}");
    }
    let invalid = split(vec![Bytes::from_static(b"{\"kind\":\"a\xff\"}")]).1.unwrap_err();
    assert_eq!((invalid.offset, invalid.problem), (10, InvalidUtf8));
}

#[test]
fn items_before_an_error_are_returned() {
    let (items, end) = split_whole(r#"{"items":[{"a":1},7]}"#);
    assert_eq!(items, [r#"{"a":1}"#]);
    assert!(end.is_err());
}

#[test]
fn a_list_truncated_at_any_byte_is_rejected() {
    let body = PODS.trim_end();
    for cut in 0..body.len() {
        let (_, end) = split_whole(&body[..cut]);
        assert_eq!(end, Err(Malformed { offset: cut as u64, problem: Problem::Truncated }), "{cut}");
    }
}

#[test]
fn an_item_within_one_chunk_is_borrowed() {
    let chunk = Bytes::from_static(PODS.as_bytes());
    let mut split = ListSplitter::new(Limits::DEFAULT);
    split.push(chunk.clone());
    while let Some(item) = split.next().unwrap() {
        assert!(chunk.as_ptr_range().contains(&item.as_ptr()), "it was copied");
    }
}

#[test]
fn undrained_chunks_are_joined() {
    let mut split = ListSplitter::new(Limits::DEFAULT);
    PODS.as_bytes().chunks(7).for_each(|chunk| split.push(Bytes::copy_from_slice(chunk)));
    let mut count = 0;
    while split.next().unwrap().is_some() {
        count += 1;
    }
    assert_eq!((count, split.finish().unwrap().resource_version), (2, "42".into()));
}

#[test]
fn an_object_of_one_and_a_half_megabytes_arrives_byte_by_byte() {
    let item = format!(r#"{{"data":{{"key":"{}"}}}}"#, r#"0123456\\"#.repeat(1_500_000 / 9));
    let body = format!(r#"{{"items":[{item}]}}"#);
    let mut split = ListSplitter::new(Limits::DEFAULT);
    let mut found = Vec::new();
    for byte in body.as_bytes() {
        split.push(Bytes::copy_from_slice(&[*byte]));
        while let Some(item) = split.next().unwrap() {
            found.push(item.to_vec());
        }
    }
    split.finish().unwrap();
    assert!(found == [item.into_bytes()], "one item, to the byte");
}

#[test]
fn limits_are_enforced_at_the_same_position_in_any_chunks() {
    let limits = Limits { object_bytes: 20, envelope_bytes: 40, depth: 3 };
    let cases = [
        (r#"{"items":[{"a":"12345678901"},{"a":"123456789012"}]}"#, None),
        (
            r#"{"items":[{"a":"123456789012"},{"a":"1234567890123"}]}"#,
            Some((31, Problem::TooLong { what: "list item", limit: 20 })),
        ),
        (r#"{"items":[{"a":[{"b":[]}]}]}"#, Some((21, Problem::TooDeep { limit: 3 }))),
        (
            r#"{"other":"12345678901234567890","items":[],"metadata":{"name":"abcdef"}}"#,
            Some((43, Problem::TooLong { what: "list without its items", limit: 40 })),
        ),
    ];
    for (body, expected) in cases {
        let whole = split_within(limits, vec![Bytes::copy_from_slice(body.as_bytes())]);
        assert_eq!(split_within(limits, single_bytes(body.as_bytes())), whole);
        let found = whole.1.err().map(|error| (error.offset, error.problem));
        assert_eq!(found, expected, "{body}");
    }
}

/// A list with its fields in any order, and its content.
fn list() -> impl Strategy<Value = (String, Vec<Value>, String)> {
    let items = prop::collection::vec(documents::object().prop_map(Value::Object), 0..5);
    let others = prop::collection::vec(("[xyz]{1,3}", documents::value()), 0..3);
    (items, documents::string(), others, any::<bool>()).prop_flat_map(|(items, version, others, pretty)| {
        let mut members = vec![
            ("kind".to_owned(), json!("List")),
            ("metadata".to_owned(), json!({"resourceVersion": version, "x": items.first()})),
            ("items".to_owned(), Value::from(items.clone())),
        ];
        members.extend(others);
        Just(members).prop_shuffle().prop_map(move |members| {
            (documents::object_text(&members, pretty), items.clone(), version.clone())
        })
    })
}

proptest! {
    #[test]
    fn any_list_in_any_chunks_agrees_with_serde_json(
        (body, items, version) in list(), cuts in prop::collection::vec(any::<Index>(), 0..8)
    ) {
        let (found, end) = split(chunks(body.as_bytes(), &cuts));
        let found: Vec<Value> = found.iter().map(|item| serde_json::from_str(item).unwrap()).collect();
        prop_assert_eq!(found, items);
        prop_assert_eq!(end.unwrap().resource_version, version.as_str().into());
    }

    #[test]
    fn any_bytes_yield_the_same_result_in_any_chunks(
        (body, ..) in list(),
        wrong in prop::collection::vec((any::<Index>(), documents::nasty_byte()), 0..4),
        cuts in prop::collection::vec(any::<Index>(), 0..8),
        limits in (1..200_usize, 1..200_usize, 1..8_usize),
    ) {
        let mut body = body.into_bytes();
        for (place, byte) in wrong {
            let place = place.index(body.len());
            body[place] = byte;
        }
        let limits = Limits { object_bytes: limits.0, envelope_bytes: limits.1, depth: limits.2 };
        let whole = split_within(limits, vec![Bytes::copy_from_slice(&body)]);
        prop_assert_eq!(&split_within(limits, chunks(&body, &cuts)), &whole);
        prop_assert_eq!(&split_within(limits, single_bytes(&body)), &whole);
    }
}
