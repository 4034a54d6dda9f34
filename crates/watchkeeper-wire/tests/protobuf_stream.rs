//! Protobuf lists and watches, valid and malformed, in all chunkings.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use bytes::Bytes;
use proptest::prelude::*;
use watchkeeper_core::{ListMeta, WatchEventType};
use watchkeeper_wire::protobuf::{ListSplitter, WatchFrames, wrap};
use watchkeeper_wire::{Limits, Malformed, Problem};

/// A protobuf message builder.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(mut self, field: u32, value: u64) -> Self {
        self.number(u64::from(field) << 3);
        self.number(value);
        self
    }

    fn bytes(mut self, field: u32, payload: &[u8]) -> Self {
        self.number(u64::from(field) << 3 | 2);
        self.number(payload.len() as u64);
        self.0.extend_from_slice(payload);
        self
    }

    fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

fn list(items: &[Vec<u8>]) -> Vec<u8> {
    let metadata = Message::default().bytes(2, b"4711").bytes(3, b"next").varint(4, 12);
    let message =
        items.iter().fold(Message::default().bytes(1, &metadata.0), |list, item| list.bytes(2, item));
    wrap("v1", "PodList", &message.0)
}

fn event(kind: &str, api_version: &str, name: &str, object: &[u8]) -> Vec<u8> {
    let raw = Message::default().bytes(1, &wrap(api_version, name, object));
    let event = Message::default().bytes(1, kind.as_bytes()).bytes(2, &raw.0);
    [&(event.0.len() as u32).to_be_bytes()[..], &event.0[..]].concat()
}

fn split(body: &[u8], chunk: usize, limits: Limits) -> Result<(Vec<Vec<u8>>, ListMeta), Malformed> {
    let mut split = ListSplitter::new(limits);
    let mut items = Vec::new();
    for chunk in body.chunks(chunk) {
        split.push(Bytes::copy_from_slice(chunk));
        while let Some(item) = split.next()? {
            items.push(item.to_vec());
        }
    }
    Ok((items, split.finish()?))
}

fn frames(body: &[u8], chunk: usize) -> Result<Vec<(WatchEventType, Vec<u8>)>, Malformed> {
    let mut frames = WatchFrames::new(Limits::DEFAULT);
    let mut events = Vec::new();
    for chunk in body.chunks(chunk) {
        frames.push(Bytes::copy_from_slice(chunk));
        while let Some(frame) = frames.next()? {
            events.push((frame.kind, frame.object.to_vec()));
        }
    }
    frames.finish()?;
    Ok(events)
}

#[test]
fn list_metadata_has_version_token_and_count() {
    let (items, end) = split(&list(&[b"a".to_vec()]), 1_000, Limits::DEFAULT).unwrap();
    assert_eq!(items, [b"a"]);
    assert_eq!(
        (end.resource_version, end.continue_token.as_deref(), end.remaining_item_count),
        ("4711".into(), Some("next"), Some(12))
    );
    assert_eq!((end.api_version.as_str(), end.kind.as_str()), ("v1", "PodList"));
}

#[test]
fn a_list_may_be_empty_and_its_metadata_may_come_last() {
    let (items, end) = split(&wrap("v1", "PodList", b""), 3, Limits::DEFAULT).unwrap();
    assert_eq!((items.len(), end.resource_version), (0, "".into()));

    let metadata = Message::default().bytes(2, b"8");
    let late = Message::default().bytes(2, b"item").bytes(1, &metadata.0);
    let (items, end) = split(&wrap("v1", "PodList", &late.0), 2, Limits::DEFAULT).unwrap();
    assert_eq!((items, end.resource_version), (vec![b"item".to_vec()], "8".into()));
}

#[test]
fn unknown_fields_are_skipped() {
    let message =
        Message::default().varint(9, 300).bytes(2, b"item").bytes(10, &[0; 5_000]).bytes(2, b"other");
    let (items, _) = split(&wrap("v1", "PodList", &message.0), 7, Limits::DEFAULT).unwrap();
    assert_eq!(items, [b"item".to_vec(), b"other".to_vec()]);
}

#[test]
fn a_list_truncated_at_any_byte_is_rejected() {
    let body = list(&[vec![1; 300], vec![2; 5]]);
    // The two fields after the list are empty and may be absent.
    let whole = body.len() - 4;
    for end in 0..whole {
        let error = split(&body[..end], 64, Limits::DEFAULT).unwrap_err();
        assert_eq!(error, Malformed { offset: end as u64, problem: Problem::Truncated });
    }
    for end in [whole, whole + 2, whole + 4] {
        assert_eq!(split(&body[..end], 64, Limits::DEFAULT).unwrap().0.len(), 2);
    }
}

#[test]
fn oversized_items_are_rejected_before_they_are_buffered() {
    let limits = Limits { object_bytes: 100, ..Limits::DEFAULT };
    let error = split(&list(&[vec![0; 101]]), 16, limits).unwrap_err();
    assert_eq!(error.problem, Problem::TooLong { what: "list item", limit: 100 });
    assert!(split(&list(&[vec![0; 100]]), 16, limits).is_ok());
}

#[test]
fn lengths_past_the_list_or_4_gib_are_rejected() {
    let mut message = Message::default();
    message.number(2 << 3 | 2);
    message.number(1 << 40);
    let error = split(&wrap("v1", "PodList", &message.0), 5, Limits::DEFAULT).unwrap_err();
    assert_eq!(error.problem, Problem::LengthPastEnd { length: 1 << 40, left: 0 });
}

#[test]
fn a_status_is_not_a_list() {
    let status = Message::default().bytes(2, b"Failure").bytes(3, b"pods is forbidden");
    let error = split(&wrap("v1", "Status", &status.0), 1_000, Limits::DEFAULT).unwrap_err();
    assert_eq!(error.problem, Problem::Expected("a list, not a Status"));
}

#[test]
fn bodies_without_the_magic_number_are_rejected() {
    let error = split(br#"{"kind":"PodList"}"#, 2, Limits::DEFAULT).unwrap_err();
    assert_eq!(error, Malformed { offset: 0, problem: Problem::NoMagic });
}

#[test]
fn an_item_of_1_5_mb_arrives_in_single_bytes() {
    let body = list(&[vec![7; 1_500_000]]);
    let (items, _) = split(&body, 1, Limits::DEFAULT).unwrap();
    assert_eq!(items[0].len(), 1_500_000);
}

#[test]
fn watches_are_split_in_any_chunking() {
    let body = [
        event("ADDED", "v1", "Pod", &[1; 200]),
        event("BOOKMARK", "v1", "Pod", b""),
        event("ERROR", "v1", "Status", &[3; 20]),
    ]
    .concat();
    let expected = vec![
        (WatchEventType::Added, vec![1; 200]),
        (WatchEventType::Bookmark, Vec::new()),
        (WatchEventType::Error, vec![3; 20]),
    ];
    for chunk in 1..body.len() {
        assert_eq!(frames(&body, chunk).unwrap(), expected, "in chunks of {chunk}");
    }
}

#[test]
fn a_watch_that_ends_within_a_frame_is_truncated() {
    let first = event("ADDED", "v1", "Pod", b"abc");
    let body = [first.clone(), event("DELETED", "v1", "Pod", b"def")].concat();
    for end in 1..body.len() {
        match frames(&body[..end], 8) {
            Ok(events) => assert_eq!((events.len(), end), (1, first.len())),
            Err(error) => assert_eq!(error, Malformed { offset: end as u64, problem: Problem::Truncated }),
        }
    }
}

#[test]
fn unknown_event_types_and_huge_frames_are_rejected() {
    let error = frames(&event("RENAMED", "v1", "Pod", b""), 100).unwrap_err();
    assert!(matches!(error.problem, Problem::BadValue { .. }), "{error}");
    let error = frames(&u32::MAX.to_be_bytes(), 100).unwrap_err();
    assert!(matches!(error.problem, Problem::TooLong { what: "watch event", .. }), "{error}");
}

proptest! {
    #[test]
    fn items_round_trip_in_any_chunks(
        items in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..8),
        chunk in 1_usize..400,
    ) {
        let (split, end) = split(&list(&items), chunk, Limits::DEFAULT).unwrap();
        prop_assert_eq!(split, items);
        prop_assert_eq!(end.resource_version, "4711".into());
    }

    #[test]
    fn arbitrary_bytes_never_panic(
        body in prop::collection::vec(any::<u8>(), 0..200),
        chunk in 1_usize..64,
    ) {
        let _ = split(&body, chunk, Limits::DEFAULT);
        let _ = split(&[b"k8s\0", &body[..]].concat(), chunk, Limits::DEFAULT);
        let _ = frames(&body, chunk);
    }
}
