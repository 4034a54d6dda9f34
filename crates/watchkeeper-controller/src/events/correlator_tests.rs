use std::sync::Arc;

use super::*;
use crate::events::clock::Clock;
use crate::events::occurrence::{Occurrence, Recorded, Source};
use crate::events::reference::Reference;

/// A correlator, and a clock that goes when it is told to.
struct World {
    correlator: Correlator,
    clock: Clock,
    begun: Instant,
    passed: Duration,
}

/// Something happens to an object.
#[derive(Clone)]
struct Happens {
    object: &'static str,
    field: &'static str,
    severity: &'static str,
    reason: &'static str,
    message: String,
}

fn happens(message: &str) -> Happens {
    Happens { object: "a", field: "", severity: "Normal", reason: "Because", message: message.to_owned() }
}

impl World {
    fn new() -> Self {
        Self::sparing(None)
    }

    fn sparing(key: Option<Box<SpamKey>>) -> Self {
        let (clock, begun) = (Clock::new(), Instant::now());
        Self { correlator: Correlator::new(key), clock, begun, passed: Duration::ZERO }
    }

    /// What is written: `new`, or the count of what was; and its message.
    fn hear(&mut self, what: &Happens) -> Option<(String, u32, String)> {
        let regarding = Reference {
            api_version: "v1".into(),
            kind: "Pod".into(),
            name: what.object.into(),
            field_path: what.field.into(),
            ..Reference::default()
        };
        let occurrence = match what.severity {
            "Normal" => Occurrence::normal(what.reason, &*what.message),
            _ => Occurrence::warning(what.reason, &*what.message),
        };
        let source =
            Arc::new(Source { component: "kubelet".into(), host: "h".into(), instance: String::new() });
        let recorded = Recorded { regarding, occurrence, source, at: self.clock.now() };
        let event = CoreEvent::new(&recorded);
        let now = self.begun + self.passed;
        let Correlated { key, event } = self.correlator.correlate(event, now, self.clock.now())?;
        self.correlator.written(&key, &event.name, event.count);
        Some((event.name, event.count, event.message))
    }

    fn counts(&mut self, all: impl IntoIterator<Item = Happens>) -> Vec<Option<u32>> {
        all.into_iter().map(|what| self.hear(&what).map(|(_, count, _)| count)).collect()
    }
}

fn messages(range: std::ops::Range<u32>) -> impl Iterator<Item = Happens> {
    range.map(|number| happens(&number.to_string()))
}

#[test]
fn one_event_is_one() {
    assert_eq!(World::new().hear(&happens("m")).map(|(_, count, text)| (count, text)), Some((1, "m".into())));
}

#[test]
fn the_same_event_counts_also_after_ten_times_and_keeps_its_name_and_first_time() {
    let mut world = World::new();
    let first = world.hear(&happens("m")).unwrap();
    let more: Vec<_> = (0..11).map(|_| world.hear(&happens("m")).unwrap()).collect();
    assert_eq!(more.iter().map(|it| it.1).collect::<Vec<_>>(), (2..13).collect::<Vec<_>>());
    assert!(more.iter().all(|it| it.0 == first.0 && it.2 == "m"));
}

#[test]
fn another_field_another_type_or_another_reason_is_another_event() {
    let mut world = World::new();
    let others = [
        happens("m"),
        Happens { field: "spec.containers{web}", ..happens("m") },
        Happens { severity: "Warning", ..happens("m") },
        Happens { reason: "Other", ..happens("m") },
        Happens { object: "b", ..happens("m") },
        happens("m"),
    ];
    assert_eq!(world.counts(others), [Some(1), Some(1), Some(1), Some(1), Some(1), Some(2)]);
}

#[test]
fn the_tenth_message_of_a_reason_is_combined_and_the_eleventh_counts_for_it() {
    let mut world = World::new();
    let nine: Vec<_> = messages(0..9).map(|what| world.hear(&what).unwrap()).collect();
    assert!(nine.iter().all(|it| it.1 == 1 && !it.2.starts_with('(')));
    let tenth = world.hear(&happens("9")).unwrap();
    assert_eq!((tenth.1, tenth.2.as_str()), (1, "(combined from similar events): 9"));
    let eleventh = world.hear(&happens("10")).unwrap();
    assert_eq!((eleventh.1, eleventh.2.as_str()), (2, "(combined from similar events): 10"));
    assert_eq!(eleventh.0, tenth.0, "it is the same event");
    assert!(nine.iter().all(|it| it.0 != tenth.0));
}

#[test]
fn messages_more_than_ten_minutes_apart_are_not_combined() {
    let mut world = World::new();
    for what in messages(0..25) {
        assert_eq!(world.hear(&what).unwrap().1, 1);
        world.passed += INTERVAL + Duration::from_secs(1);
    }
    // The window slides: ten minutes from each to the next are not too many.
    let mut world = World::new();
    let last = messages(0..10).map(|what| {
        world.passed += INTERVAL;
        world.hear(&what).unwrap().2
    });
    assert_eq!(last.last().unwrap(), "(combined from similar events): 9");
}

#[test]
fn of_one_object_a_burst_is_written_and_then_one_in_five_minutes() {
    let mut world = World::new();
    let written = world.counts(std::iter::repeat_n(happens("m"), 30));
    assert_eq!(written.iter().flatten().count(), 25);
    assert_eq!(written[25..], [None; 5]);
    world.passed += REFILL;
    // What was not written was counted.
    assert_eq!(world.counts([happens("m"), happens("m")]), [Some(31), None]);
    let others = [
        Happens { severity: "Warning", ..happens("m") }, // has a budget of its own
        Happens { reason: "Other", ..happens("m") },     // has not
        Happens { object: "b", ..happens("m") },
    ];
    assert_eq!(world.counts(others), [Some(1), None, Some(1)]);
}

#[test]
fn thirty_objects_have_thirty_budgets() {
    let mut world = World::new();
    let names: [&'static str; 30] = std::array::from_fn(|number| &*format!("pod-{number}").leak());
    let written = world.counts(names.map(|object| Happens { object, ..happens("m") }));
    assert_eq!(written, [Some(1); 30]);
}

#[test]
fn a_budget_can_be_that_of_something_else() {
    let mut world = World::sparing(Some(Box::new(|event| event.reason.clone())));
    let mut objects = ["a", "b"].into_iter().cycle();
    let both = std::iter::repeat_with(|| Happens { object: objects.next().unwrap_or("a"), ..happens("m") });
    let written = world.counts(both.take(30));
    assert_eq!(written.iter().flatten().count(), 25, "for both objects together");
    assert_eq!(world.counts([Happens { reason: "Other", ..happens("m") }]), [Some(1)]);
}

#[test]
fn what_the_server_has_counts() {
    let mut world = World::new();
    let source = Arc::new(Source { component: "c".into(), host: String::new(), instance: String::new() });
    let recorded = |at| Recorded {
        regarding: Reference::default(),
        occurrence: Occurrence::normal("R", "m"),
        source: source.clone(),
        at,
    };
    let hear = |world: &mut World, answer: Option<(&str, u32)>| {
        let event = CoreEvent::new(&recorded(world.clock.now()));
        let correlated = world.correlator.correlate(event, world.begun, world.clock.now());
        let Correlated { key, event } = correlated.unwrap();
        if let Some((name, count)) = answer {
            world.correlator.written(&key, name, count);
        }
        (event.name, event.count)
    };
    hear(&mut world, Some(("renamed", 7)));
    assert_eq!(hear(&mut world, None), ("renamed".to_owned(), 8));
    assert_eq!(hear(&mut world, None), ("renamed".to_owned(), 9), "what is not answered counts too");
}

#[test]
fn no_more_than_so_much_is_remembered() {
    let mut world = World::new();
    for number in 0..REMEMBERED + 10 {
        world.hear(&Happens { object: format!("pod-{number}").leak(), ..happens("m") });
    }
    let Correlator { similar, counted, budgets, .. } = &world.correlator;
    assert_eq!([similar.len(), counted.len(), budgets.len()], [REMEMBERED; 3]);
    assert_eq!(world.counts([Happens { object: "pod-0", ..happens("m") }]), [Some(1)], "it was forgotten");
}

#[test]
fn an_event_is_written_as_the_server_wants_it() {
    let source = Arc::new(Source { component: "c".into(), host: "h".into(), instance: String::new() });
    let regarding = Reference { kind: "Node".into(), name: "n1".into(), ..Reference::default() };
    let occurrence = Occurrence::warning("R", "m").annotation("k", "v");
    let recorded = Recorded { regarding, occurrence, source, at: Moment(1_700_000_000_123_456_789) };
    let mut event = CoreEvent::new(&recorded);
    let json = event.to_json();
    assert_eq!(json["metadata"]["namespace"], "default", "a node is in no namespace");
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
