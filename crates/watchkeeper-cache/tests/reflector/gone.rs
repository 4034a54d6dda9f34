//! Collections that are removed from the server.

use std::time::Duration;

use watchkeeper_cache::Reflector;
use watchkeeper_cache::reflector::{ExitReason, OnGone, Phase};
use watchkeeper_core::{GroupResource, Status};
use watchkeeper_testkit::script::{List, Script, Watch, object};

use crate::story::{Recorder, story, story_of};

fn not_found() -> Status {
    Status::not_found(&GroupResource { group: "example.com".into(), resource: "widgets".into() }, "")
}

/// A collection that exists, and then is not found for three rounds.
fn removed() -> Script {
    let there = Watch::new().added(object("a", 8)).initial_events_end(10).added(object("b", 11));
    let script = Script::new().then(there).watch_fails(not_found());
    (0..3).fold(script, |script, _| script.watch_fails(not_found()).list_fails(not_found()))
}

#[tokio::test(start_paused = true)]
async fn a_removed_collection_is_reported_once_and_retried_until_it_is_back() {
    let script =
        removed().then(Watch::new().added(object("c", 31)).initial_events_end(31).fails(not_found()));
    let story = story(script.watch_fails(not_found()).list_fails(not_found())).await;
    assert_eq!(story.observed.gone, 2, "each time once");
    let lists = story.observed.failures.iter().filter(|it| it.starts_with("list")).count();
    assert_eq!(lists, 0, "not a failure: {:?}", story.observed.failures);
    assert_eq!(story.writes, ["commit @10: a@8", "put b@11", "commit @31: c@31"], "the copy stays meanwhile");
    assert!(story.took > Duration::from_secs(5), "with delays: {:?}", story.took);
}

#[tokio::test(start_paused = true)]
async fn a_reflector_can_exit_when_the_collection_is_removed() {
    let script = removed();
    let story = story_of(&script, |it| it.on_gone(OnGone::Exit)).await;
    assert_eq!(story.reason, ExitReason::Gone(Box::new(not_found())));
    assert_eq!(story.asked, ["stream", "watch rv=11", "stream rv=11", "list rv=11"]);
}

#[tokio::test(start_paused = true)]
async fn a_collection_that_never_existed_is_a_failure_each_time() {
    let script = Script::new().without_initial_events().list_fails(not_found()).list_fails(not_found());
    let story = story_of(&script, |it| it.on_gone(OnGone::Exit)).await;
    assert_eq!((story.observed.failures.len(), story.observed.gone), (2, 0));
    assert_eq!(story.reason, ExitReason::Stopped);
}

#[tokio::test(start_paused = true)]
async fn progress_reports_a_removed_collection() {
    let script = Script::new()
        .without_initial_events()
        .then(List::at(10))
        .watch_fails(not_found())
        .list_fails(not_found());
    let reflector = Reflector::new(script.clone(), Recorder::default());
    let mut progress = reflector.progress();
    let run = tokio::spawn(reflector.run(script.played()));
    progress.wait_for(|it| it.phase == Phase::Gone).await.unwrap();
    run.await.unwrap();
}
