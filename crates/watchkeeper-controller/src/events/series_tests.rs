use std::sync::Arc;

use super::*;
use crate::events::clock::Clock;

struct World {
    series: Series,
    clock: Clock,
    begun: Instant,
    passed: Duration,
    source: Arc<Source>,
}

impl World {
    fn new() -> Self {
        let source = Source { component: "c".into(), host: String::new(), instance: "c-h".into() };
        let (clock, begun) = (Clock::new(), Instant::now());
        Self { series: Series::new(), clock, begun, passed: Duration::ZERO, source: Arc::new(source) }
    }

    fn now(&self) -> Instant {
        self.begun + self.passed
    }

    fn record(&mut self, object: &str, event: Event) -> Vec<Write> {
        let regarding = Reference { kind: "Pod".into(), name: object.into(), ..Reference::default() };
        let recorded = Recorded { regarding, event, source: self.source.clone(), at: self.clock.now() };
        let (now, at) = (self.now(), self.clock.now());
        self.series.observe(&recorded, now, at)
    }
}

fn counts(writes: &[Write]) -> Vec<(Purpose, u32)> {
    writes.iter().map(|write| (write.why, write.event.series.map_or(1, |(count, _)| count))).collect()
}

fn scheduled() -> Event {
    Event::normal("Scheduled", "to n1").action("Binding")
}

#[test]
fn the_first_is_written_the_second_starts_a_series_and_the_rest_are_counted() {
    let mut world = World::new();
    let first = world.record("a", scheduled());
    assert_eq!(counts(&first), [(Purpose::New, 1)]);
    assert_eq!(first[0].event.patch(), None);
    // A different note does not make it a different event.
    let second = world.record("a", Event::normal("Scheduled", "to n2").action("Binding"));
    assert_eq!(counts(&second), [(Purpose::New, 2)]);
    assert_eq!(second[0].event.name, first[0].event.name);
    assert_eq!(second[0].event.patch().unwrap()["series"]["count"], 2);
    for _ in 0..3 {
        assert!(world.record("a", scheduled()).is_empty());
    }
    assert_eq!(counts(&world.series.refresh()), [(Purpose::Refresh, 5)]);
}

#[test]
fn events_that_differ_in_anything_but_the_note_are_different() {
    let mut world = World::new();
    let other = Reference { name: "n1".into(), ..Reference::default() };
    world.record("a", scheduled());
    let others = [
        ("b", scheduled()),
        ("a", scheduled().action("Preempting")),
        ("a", scheduled().related(&other)),
        ("a", Event::normal("Failed", "to n1").action("Binding")),
        ("a", Event::warning("Scheduled", "to n1").action("Binding")),
    ];
    for (object, event) in others {
        assert_eq!(counts(&world.record(object, event.clone())), [(Purpose::New, 1)], "{event:?}");
    }
    world.source = Arc::new(Source { instance: "c-other".into(), ..Source::clone(&world.source) });
    assert_eq!(counts(&world.record("a", scheduled())), [(Purpose::New, 1)]);
}

#[test]
fn a_series_is_over_after_six_minutes_without_an_occurrence() {
    let mut world = World::new();
    for _ in 0..3 {
        world.record("a", scheduled());
    }
    world.record("single", scheduled());
    world.passed = FINISH;
    assert!(world.series.finish(world.now()).is_empty(), "not yet");
    world.passed += Duration::from_secs(1);
    let over = world.series.finish(world.now());
    assert_eq!(
        (counts(&over), world.series.len()),
        (vec![(Purpose::Finish, 3)], 1),
        "single events are forgotten"
    );
    // The write failed: it is attempted again.
    let over = world.series.finish(world.now());
    assert_eq!(counts(&over), [(Purpose::Finish, 3)]);
    // The series continues meanwhile.
    world.record("a", scheduled());
    world.series.finished(&over[0]);
    assert_eq!(world.series.len(), 1);
    world.passed += FINISH + Duration::from_secs(1);
    let over = world.series.finish(world.now());
    world.series.finished(&over[0]);
    assert_eq!((counts(&over), world.series.len()), (vec![(Purpose::Finish, 4)], 0));
    assert_eq!(counts(&world.record("a", scheduled())), [(Purpose::New, 1)], "a new series starts");
}

#[test]
fn unwritten_counts_are_written_at_the_end() {
    let mut world = World::new();
    for (object, times) in [("a", 1), ("b", 2), ("c", 5)] {
        (0..times).for_each(|_| drop(world.record(object, scheduled())));
    }
    assert_eq!(
        counts(&world.series.unwritten()),
        [(Purpose::Refresh, 5)],
        "only c has unwritten occurrences"
    );
    assert!(world.series.unwritten().is_empty());
}

#[test]
fn the_number_of_active_series_is_bounded() {
    let mut world = World::new();
    (0..3).for_each(|_| drop(world.record("first", scheduled())));
    for number in 1..REMEMBERED {
        world.record(&format!("pod-{number}"), scheduled());
    }
    let writes = world.record("one-more", scheduled());
    assert_eq!(counts(&writes), [(Purpose::Finish, 3), (Purpose::New, 1)]);
    assert_eq!(world.series.len(), REMEMBERED);
}

#[test]
fn json_has_the_fields_of_events_k8s_io() {
    let mut world = World::new();
    let node = Reference { kind: "Node".into(), name: "n1".into(), ..Reference::default() };
    let event = Event::warning("Failed", "no room").related(&node).annotation("k", "v");
    let write = world.record("a", event).remove(0);
    let json = write.event.to_json();
    assert_eq!(json["metadata"]["namespace"], "default");
    assert_eq!(json["metadata"]["annotations"]["k"], "v");
    assert_eq!((&json["action"], &json["reason"]), (&"Failed".into(), &"Failed".into()));
    assert_eq!((&json["note"], &json["type"]), (&"no room".into(), &"Warning".into()));
    assert_eq!(json["related"], serde_json::json!({"kind": "Node", "name": "n1"}));
    assert_eq!(json["reportingInstance"], "c-h");
    assert!(json.get("series").is_none());
    assert_eq!(json["eventTime"].as_str().map(str::len), Some("2023-11-14T22:13:20.123456Z".len()));
}
