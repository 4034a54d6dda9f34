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

    fn hear(&mut self, object: &str, occurrence: Occurrence) -> Vec<Write> {
        let regarding = Reference { kind: "Pod".into(), name: object.into(), ..Reference::default() };
        let recorded = Recorded { regarding, occurrence, source: self.source.clone(), at: self.clock.now() };
        let (now, at) = (self.now(), self.clock.now());
        self.series.observe(&recorded, now, at)
    }
}

fn counts(writes: &[Write]) -> Vec<(Purpose, u32)> {
    writes.iter().map(|write| (write.why, write.event.series.map_or(1, |(count, _)| count))).collect()
}

fn scheduled() -> Occurrence {
    Occurrence::normal("Scheduled", "to n1").action("Binding")
}

#[test]
fn the_first_is_written_the_second_begins_a_series_and_the_rest_count() {
    let mut world = World::new();
    let first = world.hear("a", scheduled());
    assert_eq!(counts(&first), [(Purpose::News, 1)]);
    assert_eq!(first[0].event.patch(), None);
    // Another note is the same event.
    let second = world.hear("a", Occurrence::normal("Scheduled", "to n2").action("Binding"));
    assert_eq!(counts(&second), [(Purpose::News, 2)]);
    assert_eq!(second[0].event.name, first[0].event.name);
    assert_eq!(second[0].event.patch().unwrap()["series"]["count"], 2);
    for _ in 0..3 {
        assert!(world.hear("a", scheduled()).is_empty());
    }
    assert_eq!(counts(&world.series.refresh()), [(Purpose::Refresh, 5)]);
}

#[test]
fn what_makes_an_event_another_is_all_but_its_note() {
    let mut world = World::new();
    let other = Reference { name: "n1".into(), ..Reference::default() };
    world.hear("a", scheduled());
    let others = [
        ("b", scheduled()),
        ("a", scheduled().action("Preempting")),
        ("a", scheduled().related(&other)),
        ("a", Occurrence::normal("Failed", "to n1").action("Binding")),
        ("a", Occurrence::warning("Scheduled", "to n1").action("Binding")),
    ];
    for (object, occurrence) in others {
        assert_eq!(counts(&world.hear(object, occurrence.clone())), [(Purpose::News, 1)], "{occurrence:?}");
    }
    world.source = Arc::new(Source { instance: "c-other".into(), ..Source::clone(&world.source) });
    assert_eq!(counts(&world.hear("a", scheduled())), [(Purpose::News, 1)]);
}

#[test]
fn a_series_is_over_when_nothing_was_heard_for_six_minutes() {
    let mut world = World::new();
    for _ in 0..3 {
        world.hear("a", scheduled());
    }
    world.hear("single", scheduled());
    world.passed = FINISH;
    assert!(world.series.finish(world.now()).is_empty(), "not yet");
    world.passed += Duration::from_secs(1);
    let over = world.series.finish(world.now());
    assert_eq!((counts(&over), world.series.len()), (vec![(Purpose::Finish, 3)], 1), "a single is forgotten");
    // It could not be written: it is tried again.
    let over = world.series.finish(world.now());
    assert_eq!(counts(&over), [(Purpose::Finish, 3)]);
    // It has gone on meanwhile.
    world.hear("a", scheduled());
    world.series.finished(&over[0]);
    assert_eq!(world.series.len(), 1);
    world.passed += FINISH + Duration::from_secs(1);
    let over = world.series.finish(world.now());
    world.series.finished(&over[0]);
    assert_eq!((counts(&over), world.series.len()), (vec![(Purpose::Finish, 4)], 0));
    assert_eq!(counts(&world.hear("a", scheduled())), [(Purpose::News, 1)], "and then begins anew");
}

#[test]
fn at_the_end_what_the_server_does_not_know_is_told() {
    let mut world = World::new();
    for (object, times) in [("a", 1), ("b", 2), ("c", 5)] {
        (0..times).for_each(|_| drop(world.hear(object, scheduled())));
    }
    assert_eq!(counts(&world.series.untold()), [(Purpose::Refresh, 5)], "that of c alone");
    assert!(world.series.untold().is_empty());
}

#[test]
fn no_more_than_so_many_go_on() {
    let mut world = World::new();
    (0..3).for_each(|_| drop(world.hear("first", scheduled())));
    for number in 1..REMEMBERED {
        world.hear(&format!("pod-{number}"), scheduled());
    }
    let writes = world.hear("one-more", scheduled());
    assert_eq!(counts(&writes), [(Purpose::Finish, 3), (Purpose::News, 1)]);
    assert_eq!(world.series.len(), REMEMBERED);
}

#[test]
fn an_event_is_written_as_the_server_wants_it() {
    let mut world = World::new();
    let node = Reference { kind: "Node".into(), name: "n1".into(), ..Reference::default() };
    let occurrence = Occurrence::warning("Failed", "no room").related(&node).annotation("k", "v");
    let write = world.hear("a", occurrence).remove(0);
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
