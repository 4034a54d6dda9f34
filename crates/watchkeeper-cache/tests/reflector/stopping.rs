//! Stopping and dropping a reflector in each of its states.

use std::future::{pending, ready};
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use tokio::time::{Instant, sleep};
use watchkeeper_cache::Reflector;
use watchkeeper_cache::reflector::ExitReason;
use watchkeeper_cache::source::{Page, from_closures};
use watchkeeper_core::{ListMeta, Status, WatchError, WatchEvent};
use watchkeeper_testkit::script::{List, Script, Watch, object};

use crate::story::{Recorder, story};

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn a_reflector_stopped_before_it_runs_sends_no_request() {
    let script = Script::new().then(Watch::new().initial_events_end(10));
    let ended = Reflector::new(script.clone(), Recorder::default()).run(ready(())).await;
    assert_eq!(ended.reason, ExitReason::Stopped);
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
async fn stopping_a_reflector_in_any_state_cancels_its_request() {
    for (number, script) in halfway().into_iter().enumerate() {
        let begun = Instant::now();
        let stop = sleep(Duration::from_millis(500));
        let ended = Reflector::new(script.clone(), Recorder::default()).run(stop).await;
        assert_eq!((ended.reason, script.open()), (ExitReason::Stopped, 0), "state {number}");
        assert_eq!(begun.elapsed(), Duration::from_millis(500), "state {number}");
        assert!(!script.requests().is_empty(), "state {number}");
    }
}

#[tokio::test(start_paused = true)]
async fn dropping_a_reflector_in_any_state_cancels_its_request() {
    for (number, script) in halfway().into_iter().enumerate() {
        let run = Reflector::new(script.clone(), Recorder::default()).run(pending());
        assert!(tokio::time::timeout(Duration::from_millis(500), run).await.is_err(), "state {number}");
        assert_eq!(script.open(), 0, "state {number}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_is_closed_however_it_ends() {
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
async fn a_source_that_is_always_ready_does_not_starve_stop() {
    let end = || ListMeta::new(1.into());
    let busy = from_closures(
        move |_| async move { Ok(Page { items: Vec::new(), end: end() }) },
        |_| async {
            let endless = stream::iter(2_u64..).map(|version| Ok(WatchEvent::Modified(object("a", version))));
            Ok(endless.boxed())
        },
    );
    // On one thread, the timer fires only if the reflector yields.
    let copy = Recorder::default();
    let ended = Reflector::new(busy, copy.clone()).run(sleep(Duration::from_millis(20))).await;
    assert_eq!(ended.reason, ExitReason::Stopped);
    assert!(copy.notes().len() > 1, "events came");
}
