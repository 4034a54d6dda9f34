//! How a reflector ends: at any point, at once, and with it the request that was going on.

use std::future::{pending, ready};
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use tokio::time::{Instant, sleep};
use watchkeeper_cache::Reflector;
use watchkeeper_cache::reflector::Why;
use watchkeeper_cache::source::{Page, from_closures};
use watchkeeper_core::{ListMeta, Status, WatchError, WatchEvent};
use watchkeeper_testkit::script::{List, Script, Watch, object};

use crate::story::{Recorder, story};

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn a_reflector_that_is_stopped_before_it_begins_asks_for_nothing() {
    let script = Script::new().then(Watch::new().initial_events_end(10));
    let ended = Reflector::new(script.clone(), Recorder::default()).run(ready(())).await;
    assert_eq!(ended.why, Why::Stopped);
    assert!(script.requests().is_empty());
}

/// Scripts that leave the reflector in each of its states.
fn halfway() -> Vec<Script> {
    let initial = || Watch::new().added(object("a", 1));
    let listing = || Script::new().without_initial_events();
    vec![
        Script::new(),                                                        // opening a stream
        Script::new().then(initial().stalls()),                               // streaming
        Script::new().then(initial().initial_events_end(10).stalls()),        // watching the same stream
        Script::new().watch_fails(Status::too_many_requests("busy", SECOND)), // waiting
        listing(),                                                            // waiting for a list
        listing().then(List::at(10).item(object("a", 1)).stalls()),           // within a list
        listing().then(List::at(10)),                                         // opening a watch
        listing().then(List::at(10)).then(Watch::new().stalls()),             // watching
    ]
}

#[tokio::test(start_paused = true)]
async fn a_reflector_that_is_stopped_in_any_state_ends_at_once_and_leaves_no_request() {
    for (number, script) in halfway().into_iter().enumerate() {
        let begun = Instant::now();
        let stop = sleep(Duration::from_millis(500));
        let ended = Reflector::new(script.clone(), Recorder::default()).run(stop).await;
        assert_eq!((ended.why, script.open()), (Why::Stopped, 0), "state {number}");
        assert_eq!(begun.elapsed(), Duration::from_millis(500), "state {number}");
        assert!(!script.requests().is_empty(), "state {number}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_reflector_that_is_dropped_in_any_state_leaves_no_request() {
    for (number, script) in halfway().into_iter().enumerate() {
        let run = Reflector::new(script.clone(), Recorder::default()).run(pending());
        assert!(tokio::time::timeout(Duration::from_millis(500), run).await.is_err(), "state {number}");
        assert_eq!(script.open(), 0, "state {number}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_is_let_go_of_however_it_ends() {
    let watches = [
        Watch::new(),
        Watch::new().bookmark(11),
        Watch::new().fails(Status::expired("too old")),
        Watch::new().bookmark(11).fails(WatchError::Interrupted("reset".into())),
    ];
    for watch in watches {
        let story = story(Script::new().without_initial_events().then(List::at(10)).then(watch)).await;
        assert_eq!(story.open, 0);
    }
}

#[tokio::test]
async fn a_source_that_always_has_more_does_not_keep_a_reflector_from_being_stopped() {
    let end = || ListMeta::new(1.into());
    let busy = from_closures(
        move |_| async move { Ok(Page { items: Vec::new(), end: end() }) },
        |_| async {
            let endless = stream::iter(2_u64..).map(|version| Ok(WatchEvent::Modified(object("a", version))));
            Ok(endless.boxed())
        },
    );
    // On one thread: the timer is only looked at if the reflector lets it.
    let copy = Recorder::default();
    let ended = Reflector::new(busy, copy.clone()).run(sleep(Duration::from_millis(20))).await;
    assert_eq!(ended.why, Why::Stopped);
    assert!(copy.notes().len() > 1, "events came");
}
