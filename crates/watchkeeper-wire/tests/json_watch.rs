//! Splitting of JSON watch responses, in all chunkings.
#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod documents;

use bytes::Bytes;
use documents::{chunks, single_bytes};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};
use watchkeeper_core::WatchEventType;
use watchkeeper_wire::json::WatchFrames;
use watchkeeper_wire::{Limits, Malformed, Problem};

type Framed = (Vec<(WatchEventType, String)>, Result<(), Malformed>);

/// Returns the events, and the error if there is one.
fn frame_within(limits: Limits, chunks: Vec<Bytes>) -> Framed {
    let mut frames = WatchFrames::new(limits);
    let mut events = Vec::new();
    for chunk in chunks {
        frames.push(chunk);
        loop {
            match frames.next() {
                Ok(Some(frame)) => {
                    events.push((frame.kind, String::from_utf8_lossy(frame.object).into_owned()));
                }
                Ok(None) => break,
                Err(error) => {
                    assert_eq!(frames.next().unwrap_err(), error, "the error stays");
                    assert_eq!(frames.finish().unwrap_err(), error, "the error stays");
                    return (events, Err(error));
                }
            }
        }
    }
    (events, frames.finish())
}

fn frame(body: &str) -> Framed {
    let whole = frame_within(Limits::DEFAULT, vec![Bytes::copy_from_slice(body.as_bytes())]);
    assert_eq!(
        frame_within(Limits::DEFAULT, single_bytes(body.as_bytes())),
        whole,
        "one byte at a time: {body}"
    );
    whole
}

#[test]
fn an_event_has_a_type_and_an_object() {
    let body = concat!(
        r#"{"type":"ADDED","object":{"kind":"Pod","metadata":{"name":"a \" } b"}}}"#,
        "\n",
        r#"{"type":"MODIFIED","object":{}}"#,
        "\n",
        r#"{"type":"DELETED","object":{"a":[1]}}"#,
        "\n",
        r#"{"type":"BOOKMARK","object":{"b":2}}"#,
        "\n",
        r#"{"type":"ERROR","object":{"kind":"Status"}}"#,
        "\n",
    );
    let (events, end) = frame(body);
    let events: Vec<(WatchEventType, &str)> =
        events.iter().map(|(kind, object)| (*kind, object.as_str())).collect();
    assert_eq!(
        events,
        [
            (WatchEventType::Added, r#"{"kind":"Pod","metadata":{"name":"a \" } b"}}"#),
            (WatchEventType::Modified, "{}"),
            (WatchEventType::Deleted, r#"{"a":[1]}"#),
            (WatchEventType::Bookmark, r#"{"b":2}"#),
            (WatchEventType::Error, r#"{"kind":"Status"}"#),
        ]
    );
    assert_eq!(end, Ok(()));
}

#[test]
fn order_newlines_and_unknown_fields_do_not_matter() {
    let body = concat!(
        r#"{"object":{"a":1},"type":"ADDED"}{"x":[{}],"type":"ADDED","y":null,"object":{"a":2}}"#,
        "\n\n\r\n \t",
        r#" { "\u0074ype" : "ADDED" , "object" : { "a" : 3 } } "#,
    );
    let (events, end) = frame(body);
    let objects: Vec<&str> = events.iter().map(|(_, object)| object.as_str()).collect();
    assert_eq!(objects, [r#"{"a":1}"#, r#"{"a":2}"#, r#"{ "a" : 3 }"#]);
    assert_eq!(end, Ok(()));
}

#[test]
fn an_event_is_returned_with_its_last_byte() {
    let mut frames = WatchFrames::new(Limits::DEFAULT);
    frames.push(Bytes::from_static(br#"{"type":"ADDED","object":{}"#));
    assert_eq!(frames.next(), Ok(None));
    frames.push(Bytes::from_static(b"}"));
    assert!(frames.next().unwrap().is_some(), "the event does not wait for a newline");
}

#[test]
fn errors_have_a_position_and_a_problem() {
    use Problem::*;
    let unknown = |found: &str| BadValue { expected: "the type of a watch event", found: found.into() };
    let cases = [
        ("[]", 0, Expected("a watch event")),
        ("{}", 2, Expected("the type of a watch event")),
        (r#"{"type":null,"object":{}}"#, 25, Expected("the type of a watch event")),
        (r#"{"type":"ADDED"}"#, 16, Expected("the object of a watch event")),
        (r#"{"type":"ADDED","object":null}"#, 30, Expected("the object of a watch event")),
        (r#"{"type":"ADDED","object":[]}"#, 25, Expected("an object")),
        (r#"{"type":"ADDED","object":"a"}"#, 25, Expected("an object")),
        (r#"{"type":7,"object":{}}"#, 8, Expected("a string")),
        (r#"{"type":"added","object":{}}"#, 8, unknown(r#""added""#)),
        (r#"{"type":"","object":{}}"#, 8, unknown(r#""""#)),
        (r#"{"type":"ADDED","type":"ADDED","object":{}}"#, 16, DuplicateKey("type".into())),
        (r#"{"object":{},"type":"ADDED","object":{}}"#, 28, DuplicateKey("object".into())),
        (r#"{"type":"ADDED","object":{}]"#, 27, Expected("a comma or the end of the object")),
        (r#"{"type":"ADDED","object":{}"#, 27, Truncated),
    ];
    for (body, offset, problem) in cases {
        assert_eq!(frame(body).1, Err(Malformed { offset, problem: problem.clone() }), "{body}");
        let second = format!("{}\n{body}", r#"{"type":"ADDED","object":{}}"#);
        assert_eq!(
            frame(&second).1,
            Err(Malformed { offset: offset + 29, problem }),
            "offsets count from the start"
        );
    }
}

#[test]
fn a_long_unknown_type_is_shortened_in_the_error() {
    let body = format!(r#"{{"type":"{}","object":{{}}}}"#, "x".repeat(5000));
    let message = frame(&body).1.unwrap_err().to_string();
    assert!(message.len() < 200, "{message}");
}

#[test]
fn a_watch_that_ends_within_an_event_is_truncated() {
    let event = r#"{"type":"ADDED","object":{"a":"\"}"}}"#;
    let body = format!("{event}\n{event}\n");
    for cut in 0..body.len() {
        let (events, end) = frame(&body[..cut]);
        let between = cut == 0 || (event.len()..=event.len() + 1).contains(&cut) || cut > 2 * event.len();
        let truncated = Err(Malformed { offset: cut as u64, problem: Problem::Truncated });
        assert_eq!(end, if between { Ok(()) } else { truncated }, "{cut}");
        assert_eq!(events.len(), usize::from(cut >= event.len()) + usize::from(cut > 2 * event.len()));
    }
}

#[test]
fn limits_are_enforced_at_the_same_position_in_any_chunks() {
    let limits = Limits { object_bytes: 20, envelope_bytes: 40, depth: 3 };
    let cases = [
        (r#"{"type":"ADDED","object":{"a":"123456789012"}}"#, None),
        (
            r#"{"type":"ADDED","object":{"a":"1234567890123"}}"#,
            Some((25, Problem::TooLong { what: "object of a watch event", limit: 20 })),
        ),
        (
            r#"{"type":"ADDED","object":{},"x":"12345678901234567890123456789"}"#,
            Some((0, Problem::TooLong { what: "watch event", limit: 60 })),
        ),
        (r#"{"type":"ADDED","object":{"a":[{}]}}"#, None),
        (r#"{"type":"ADDED","object":{"a":[[[]]]}}"#, Some((32, Problem::TooDeep { limit: 3 }))),
    ];
    for (body, expected) in cases {
        let whole = frame_within(limits, vec![Bytes::copy_from_slice(body.as_bytes())]);
        assert_eq!(frame_within(limits, single_bytes(body.as_bytes())), whole);
        let found = whole.1.err().map(|error| (error.offset, error.problem));
        assert_eq!(found, expected, "{body}");
    }
}

/// A watch response and its events.
fn watch() -> impl Strategy<Value = (String, Vec<(WatchEventType, Value)>)> {
    use WatchEventType::{Added, Bookmark, Deleted, Error, Modified};
    let kind = prop::sample::select(vec![Added, Modified, Deleted, Bookmark, Error]);
    let event =
        (kind, documents::object().prop_map(Value::Object), documents::value(), any::<bool>(), any::<bool>());
    let gap = "[ \\n\\r\\t]{0,3}";
    prop::collection::vec((event, gap), 1..5).prop_map(|events| {
        let mut body = String::new();
        let mut expected = Vec::new();
        for ((kind, object, other, turned, pretty), gap) in events {
            let mut members = vec![("type".to_owned(), json!(kind.as_str())), ("x".to_owned(), other)];
            members.push(("object".to_owned(), object.clone()));
            if turned {
                members.reverse();
            }
            body.push_str(&documents::object_text(&members, pretty));
            body.push_str(&gap);
            expected.push((kind, object));
        }
        (body, expected)
    })
}

proptest! {
    #[test]
    fn any_watch_in_any_chunks_agrees_with_serde_json(
        (body, expected) in watch(), cuts in prop::collection::vec(any::<Index>(), 0..8)
    ) {
        let (events, end) = frame_within(Limits::DEFAULT, chunks(body.as_bytes(), &cuts));
        let events: Vec<(WatchEventType, Value)> =
            events.iter().map(|(kind, object)| (*kind, serde_json::from_str(object).unwrap())).collect();
        prop_assert_eq!(events, expected);
        prop_assert_eq!(end, Ok(()));
    }

    #[test]
    fn any_bytes_yield_the_same_result_in_any_chunks(
        (body, _) in watch(),
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
        let whole = frame_within(limits, vec![Bytes::copy_from_slice(&body)]);
        prop_assert_eq!(&frame_within(limits, chunks(&body, &cuts)), &whole);
        prop_assert_eq!(&frame_within(limits, single_bytes(&body)), &whole);
    }
}
