use std::sync::Arc;

use super::*;
use crate::events::clock::Clock;
use crate::events::event::{Event, Recorded, Source};
use crate::events::reference::Reference;

/// A correlator with a clock that the test advances.
struct World {
    correlator: Correlator,
    clock: Clock,
    begun: Instant,
    passed: Duration,
}

/// An event to record.
#[derive(Clone)]
struct TestEvent {
    object: &'static str,
    field: &'static str,
    event_type: &'static str,
    reason: &'static str,
    message: String,
}

fn event(message: &str) -> TestEvent {
    TestEvent { object: "a", field: "", event_type: "Normal", reason: "Because", message: message.to_owned() }
}

impl World {
    fn new() -> Self {
        Self::with_spam_key(None)
    }

    fn with_spam_key(key: Option<Box<SpamKey>>) -> Self {
        let (clock, begun) = (Clock::new(), Instant::now());
        Self { correlator: Correlator::new(key), clock, begun, passed: Duration::ZERO }
    }

    /// Records an event and returns the name, count and message written, or `None` if it was rate limited.
    fn record(&mut self, what: &TestEvent) -> Option<(String, u32, String)> {
        let regarding = Reference {
            api_version: "v1".into(),
            kind: "Pod".into(),
            name: what.object.into(),
            field_path: what.field.into(),
            ..Reference::default()
        };
        let event = match what.event_type {
            "Normal" => Event::normal(what.reason, &*what.message),
            _ => Event::warning(what.reason, &*what.message),
        };
        let source =
            Arc::new(Source { component: "kubelet".into(), host: "h".into(), instance: String::new() });
        let recorded = Recorded { regarding, event, source, at: self.clock.now() };
        let event = CoreEvent::new(&recorded);
        let now = self.begun + self.passed;
        let Correlated { key, event } = self.correlator.correlate(event, now, self.clock.now())?;
        self.correlator.written(&key, &event.name, event.count);
        Some((event.name, event.count, event.message))
    }

    fn counts(&mut self, all: impl IntoIterator<Item = TestEvent>) -> Vec<Option<u32>> {
        all.into_iter().map(|what| self.record(&what).map(|(_, count, _)| count)).collect()
    }
}

fn messages(range: std::ops::Range<u32>) -> impl Iterator<Item = TestEvent> {
    range.map(|number| event(&number.to_string()))
}

#[test]
fn a_single_event_is_written_unchanged() {
    assert_eq!(World::new().record(&event("m")).map(|(_, count, text)| (count, text)), Some((1, "m".into())));
}

#[test]
fn repeated_events_are_counted_under_the_first_name() {
    let mut world = World::new();
    let first = world.record(&event("m")).unwrap();
    let more: Vec<_> = (0..11).map(|_| world.record(&event("m")).unwrap()).collect();
    assert_eq!(more.iter().map(|it| it.1).collect::<Vec<_>>(), (2..13).collect::<Vec<_>>());
    assert!(more.iter().all(|it| it.0 == first.0 && it.2 == "m"));
}

#[test]
fn events_that_differ_in_field_type_reason_or_object_are_counted_apart() {
    let mut world = World::new();
    let others = [
        event("m"),
        TestEvent { field: "spec.containers{web}", ..event("m") },
        TestEvent { event_type: "Warning", ..event("m") },
        TestEvent { reason: "Other", ..event("m") },
        TestEvent { object: "b", ..event("m") },
        event("m"),
    ];
    assert_eq!(world.counts(others), [Some(1), Some(1), Some(1), Some(1), Some(1), Some(2)]);
}

#[test]
fn the_tenth_message_of_a_reason_is_combined_and_later_ones_are_counted() {
    let mut world = World::new();
    let nine: Vec<_> = messages(0..9).map(|what| world.record(&what).unwrap()).collect();
    assert!(nine.iter().all(|it| it.1 == 1 && !it.2.starts_with('(')));
    let tenth = world.record(&event("9")).unwrap();
    assert_eq!((tenth.1, tenth.2.as_str()), (1, "(combined from similar events): 9"));
    let eleventh = world.record(&event("10")).unwrap();
    assert_eq!((eleventh.1, eleventh.2.as_str()), (2, "(combined from similar events): 10"));
    assert_eq!(eleventh.0, tenth.0, "same event");
    assert!(nine.iter().all(|it| it.0 != tenth.0));
}

#[test]
fn messages_more_than_ten_minutes_apart_are_not_combined() {
    let mut world = World::new();
    for what in messages(0..25) {
        assert_eq!(world.record(&what).unwrap().1, 1);
        world.passed += INTERVAL + Duration::from_secs(1);
    }
    // The window slides: a gap of exactly ten minutes still combines.
    let mut world = World::new();
    let last = messages(0..10).map(|what| {
        world.passed += INTERVAL;
        world.record(&what).unwrap().2
    });
    assert_eq!(last.last().unwrap(), "(combined from similar events): 9");
}

#[test]
fn one_object_gets_a_burst_of_25_and_then_one_event_per_five_minutes() {
    let mut world = World::new();
    let written = world.counts(std::iter::repeat_n(event("m"), 30));
    assert_eq!(written.iter().flatten().count(), 25);
    assert_eq!(written[25..], [None; 5]);
    world.passed += REFILL;
    // Rate-limited occurrences were still counted.
    assert_eq!(world.counts([event("m"), event("m")]), [Some(31), None]);
    let others = [
        TestEvent { event_type: "Warning", ..event("m") }, // has its own bucket
        TestEvent { reason: "Other", ..event("m") },       // shares the bucket
        TestEvent { object: "b", ..event("m") },
    ];
    assert_eq!(world.counts(others), [Some(1), None, Some(1)]);
}

#[test]
fn each_object_has_its_own_bucket() {
    let mut world = World::new();
    let names: [&'static str; 30] = std::array::from_fn(|number| &*format!("pod-{number}").leak());
    let written = world.counts(names.map(|object| TestEvent { object, ..event("m") }));
    assert_eq!(written, [Some(1); 30]);
}

#[test]
fn the_spam_key_can_be_replaced() {
    let mut world = World::with_spam_key(Some(Box::new(|event| event.reason.clone())));
    let mut objects = ["a", "b"].into_iter().cycle();
    let both = std::iter::repeat_with(|| TestEvent { object: objects.next().unwrap_or("a"), ..event("m") });
    let written = world.counts(both.take(30));
    assert_eq!(written.iter().flatten().count(), 25, "both objects share one bucket");
    assert_eq!(world.counts([TestEvent { reason: "Other", ..event("m") }]), [Some(1)]);
}

#[test]
fn the_name_and_count_returned_by_the_server_win() {
    let mut world = World::new();
    let source = Arc::new(Source { component: "c".into(), host: String::new(), instance: String::new() });
    let recorded = |at| Recorded {
        regarding: Reference::default(),
        event: Event::normal("R", "m"),
        source: source.clone(),
        at,
    };
    let record = |world: &mut World, answer: Option<(&str, u32)>| {
        let event = CoreEvent::new(&recorded(world.clock.now()));
        let correlated = world.correlator.correlate(event, world.begun, world.clock.now());
        let Correlated { key, event } = correlated.unwrap();
        if let Some((name, count)) = answer {
            world.correlator.written(&key, name, count);
        }
        (event.name, event.count)
    };
    record(&mut world, Some(("renamed", 7)));
    assert_eq!(record(&mut world, None), ("renamed".to_owned(), 8));
    assert_eq!(record(&mut world, None), ("renamed".to_owned(), 9), "unanswered writes are counted too");
}

#[test]
fn the_caches_are_bounded() {
    let mut world = World::new();
    for number in 0..REMEMBERED + 10 {
        world.record(&TestEvent { object: format!("pod-{number}").leak(), ..event("m") });
    }
    let Correlator { similar, counted, budgets, .. } = &world.correlator;
    assert_eq!([similar.len(), counted.len(), budgets.len()], [REMEMBERED; 3]);
    assert_eq!(world.counts([TestEvent { object: "pod-0", ..event("m") }]), [Some(1)], "evicted");
}

#[test]
fn json_has_the_fields_of_v1() {
    let source = Arc::new(Source { component: "c".into(), host: "h".into(), instance: String::new() });
    let regarding = Reference { kind: "Node".into(), name: "n1".into(), ..Reference::default() };
    let event = Event::warning("R", "m").annotation("k", "v");
    let recorded = Recorded { regarding, event, source, at: Moment(1_700_000_000_123_456_789) };
    let mut event = CoreEvent::new(&recorded);
    let json = event.to_json();
    assert_eq!(json["metadata"]["namespace"], "default", "a node is cluster-scoped");
    assert_eq!(json["metadata"]["name"], "n1.17979cfe3d85cd15");
    assert_eq!(json["metadata"]["annotations"]["k"], "v");
    assert_eq!(json["source"], serde_json::json!({"component": "c", "host": "h"}));
    assert_eq!((&json["reportingComponent"], &json["reportingInstance"]), (&"c".into(), &"h".into()));
    assert_eq!((&json["type"], &json["count"]), (&"Warning".into(), &1.into()));
    assert_eq!(json["firstTimestamp"], "2023-11-14T22:13:20Z");
    assert_eq!(json["lastTimestamp"], json["firstTimestamp"]);
    event.count = 3;
    let patch = serde_json::json!({"count": 3, "lastTimestamp": "2023-11-14T22:13:20Z", "message": "m"});
    assert_eq!(event.patch(), patch);
}
