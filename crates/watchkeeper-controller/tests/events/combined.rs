//! Writing `v1` events.

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use watchkeeper_controller::events::{Event, EventApi, EventRecorder, Reference};

use crate::sheet::{Sheet, Trouble};
use crate::{World, reference};

#[tokio::test(start_paused = true)]
async fn the_first_event_is_created_the_rest_are_counted_and_expired_ones_recreated() {
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
async fn many_messages_are_combined_and_then_rate_limited() {
    let world = World::start(EventApi::Core);
    for number in 0..30 {
        world.record("a", &number.to_string());
    }
    world.settle().await;
    let events = world.sheet.events();
    assert_eq!(events.len(), 10, "nine single events and one aggregate");
    let combined = events.iter().find(|event| event["count"] != 1).unwrap();
    assert_eq!(combined["message"], "(combined from similar events): 24");
    assert_eq!(combined["count"], 16);
    assert_eq!((world.count("written"), world.count("rate_limited")), (25, 5));
}

#[tokio::test(start_paused = true)]
async fn a_spam_key_decides_which_events_share_a_rate_limit() {
    let (sheet, stop) = (Sheet::default(), CancellationToken::new());
    let (recorder, writer) = EventRecorder::new(sheet.clone(), EventApi::Core, "shops");
    for number in 0..30 {
        let shop = reference(&format!("shop-{number}"));
        recorder.record(&shop, Event::normal("Because", "m"));
    }
    stop.cancel();
    writer.spam_key(|_, _, reason| reason.to_owned()).run(stop).await;
    assert_eq!(sheet.events().len(), 25, "all objects share one limit");
}

#[tokio::test(start_paused = true)]
async fn an_unreachable_server_is_tried_twelve_times_before_the_next_event() {
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
    assert_eq!(world.count("failed"), 1);
    let seconds = world.begun.elapsed().as_secs();
    assert!((100..=110).contains(&seconds), "{seconds} s: up to ten at first, then ten each");
}

#[tokio::test(start_paused = true)]
async fn rejected_events_are_not_retried() {
    let world = World::start(EventApi::Core);
    world.sheet.troubles([Trouble::Rejected, Trouble::Exists, Trouble::Missing, Trouble::Unreachable]);
    for object in ["a", "b", "c", "d"] {
        world.record(object, "m");
    }
    world.settle().await;
    assert_eq!(world.sheet.requests(), ["create a 1", "create b 1", "create c 1", "create d 1"]);
    assert_eq!((world.count("rejected"), world.count("written")), (3, 0));
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(world.sheet.requests(), ["create d 1"], "only the unanswered one is retried");
}

#[tokio::test(start_paused = true)]
async fn recording_never_blocks_and_dropped_events_are_counted() {
    let world = World::start(EventApi::Core);
    world.sheet.silent_for("a");
    world.record("a", "m");
    world.settle().await; // the writer waits for the response
    for number in 0..1200 {
        world.record("a", &number.to_string());
    }
    assert_eq!(world.count("dropped"), 200);
}

#[tokio::test(start_paused = true)]
async fn a_recorder_with_two_writers_keeps_them_independent() {
    let world = World::start(EventApi::Core);
    let other = Sheet::default();
    let (second, writer) = EventRecorder::new(other.clone(), EventApi::Core, "others");
    let _writing = tokio::spawn(writer.run(world.stop.clone()));
    second.record(&reference("a"), Event::normal("Because", "m"));
    let both = world.recorder.clone().and(&second);
    both.record(&reference("a"), Event::normal("Because", "m"));
    both.record(&reference("a"), Event::normal("Because", "m"));
    world.settle().await;
    assert_eq!(world.sheet.requests(), ["create a 1", "patch a 2"]);
    assert_eq!(
        other.requests(),
        ["create a 1", "create a 1", "patch a 2"],
        "another source makes another event"
    );
}

#[tokio::test(start_paused = true)]
async fn an_event_has_the_namespace_of_its_object_and_its_source() {
    let world = World::start(EventApi::Core);
    let node = Reference { kind: "Node".to_owned(), name: "n1".to_owned(), ..Reference::default() };
    world.recorder.clone().host("machine").record(&node, Event::warning("Full", "no room"));
    world.settle().await;
    let [event] = &world.sheet.events()[..] else { panic!("one event") };
    assert_eq!(event["metadata"]["namespace"], "default");
    assert_eq!(event["source"], serde_json::json!({"component": "shops", "host": "machine"}));
    assert_eq!(event["type"], "Warning");
}
