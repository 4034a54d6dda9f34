//! Events of `v1`.

use std::time::Duration;

use watchkeeper_controller::events::{EventApi, Occurrence, Recorder, Reference};

use crate::sheet::{Sheet, Trouble};
use crate::{World, reference};

#[tokio::test(start_paused = true)]
async fn the_first_is_created_and_the_rest_are_counted_and_what_has_expired_is_created_again() {
    let world = World::start(EventApi::Core);
    for _ in 0..3 {
        world.record("a", "m");
    }
    world.settle().await;
    assert_eq!(world.sheet.requests(), ["create a 1", "patch a 2", "patch a 3"]);
    let [event] = &world.sheet.events()[..] else { panic!("one event") };
    assert_eq!((&event["count"], &event["message"]), (&3.into(), &"m".into()));
    world.sheet.expire();
    world.record("a", "m");
    world.settle().await;
    assert_eq!(world.sheet.requests(), ["patch a 4", "create a 4"]);
    world.record("a", "m");
    world.settle().await;
    assert_eq!(world.sheet.requests(), ["patch a 5"]);
    assert_eq!(world.count("written"), 5);
}

#[tokio::test(start_paused = true)]
async fn many_messages_are_combined_and_too_many_are_spared() {
    let world = World::start(EventApi::Core);
    for number in 0..30 {
        world.record("a", &number.to_string());
    }
    world.settle().await;
    let events = world.sheet.events();
    assert_eq!(events.len(), 10, "nine as they are, and one for the rest");
    let combined = events.iter().find(|event| event["count"] != 1).unwrap();
    assert_eq!(combined["message"], "(combined from similar events): 24");
    assert_eq!(combined["count"], 16);
    assert_eq!((world.count("written"), world.count("spared")), (25, 5));
}

#[tokio::test(start_paused = true)]
async fn what_does_not_reach_the_server_is_tried_twelve_times_and_then_it_is_the_turn_of_the_next() {
    let world = World::start(EventApi::Core);
    world.sheet.troubles([Trouble::Unreachable; 12]);
    world.record("a", "m");
    world.record("b", "m");
    while world.count("written") == 0 {
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    let requests = world.sheet.requests();
    assert_eq!(requests[..12], ["create a 1"; 12]);
    assert_eq!(requests[12..], ["create b 1"]);
    assert_eq!(world.count("given_up"), 1);
    let seconds = world.begun.elapsed().as_secs();
    assert!((100..=110).contains(&seconds), "{seconds} s: a part of ten at first, and then ten each");
}

#[tokio::test(start_paused = true)]
async fn what_the_server_does_not_want_is_not_tried_again() {
    let world = World::start(EventApi::Core);
    world.sheet.troubles([Trouble::Refused, Trouble::Exists, Trouble::Missing, Trouble::Unreachable]);
    for object in ["a", "b", "c", "d"] {
        world.record(object, "m");
    }
    world.settle().await;
    assert_eq!(world.sheet.requests(), ["create a 1", "create b 1", "create c 1", "create d 1"]);
    assert_eq!((world.count("refused"), world.count("written")), (3, 0));
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(world.sheet.requests(), ["create d 1"], "only what was not answered");
}

#[tokio::test(start_paused = true)]
async fn who_records_never_waits_and_what_has_no_room_is_counted() {
    let world = World::start(EventApi::Core);
    world.sheet.silent_for("a");
    world.record("a", "m");
    world.settle().await; // the writer waits for the answer
    for number in 0..1200 {
        world.record("a", &number.to_string());
    }
    assert_eq!(world.count("dropped"), 200);
}

#[tokio::test(start_paused = true)]
async fn two_sheets_are_written_on_and_know_nothing_of_each_other() {
    let world = World::start(EventApi::Core);
    let other = Sheet::default();
    let (second, writer) = Recorder::new(other.clone(), EventApi::Core, "others");
    let _writing = tokio::spawn(writer.run(world.stop.clone()));
    second.record(&reference("a"), Occurrence::normal("Because", "m"));
    let both = world.recorder.clone().and(&second);
    both.record(&reference("a"), Occurrence::normal("Because", "m"));
    both.record(&reference("a"), Occurrence::normal("Because", "m"));
    world.settle().await;
    assert_eq!(world.sheet.requests(), ["create a 1", "patch a 2"]);
    assert_eq!(
        other.requests(),
        ["create a 1", "create a 1", "patch a 2"],
        "another source is another event"
    );
}

#[tokio::test(start_paused = true)]
async fn an_event_is_where_its_object_is_and_says_who_has_seen_it() {
    let world = World::start(EventApi::Core);
    let node = Reference { kind: "Node".to_owned(), name: "n1".to_owned(), ..Reference::default() };
    world.recorder.clone().host("machine").record(&node, Occurrence::warning("Full", "no room"));
    world.settle().await;
    let [event] = &world.sheet.events()[..] else { panic!("one event") };
    assert_eq!(event["metadata"]["namespace"], "default");
    assert_eq!(event["source"], serde_json::json!({"component": "shops", "host": "machine"}));
    assert_eq!(event["type"], "Warning");
}
