//! Initial events (WatchList), and the fallback to lists.

use std::time::Duration;

use watchkeeper_core::{GroupKind, Status, WatchError};
use watchkeeper_testkit::script::{List, Script, Watch, object};

use crate::story::{story, story_of};

fn expired() -> Status {
    Status::expired("too old")
}

fn busy() -> Status {
    Status::too_many_requests("busy", Duration::from_secs(1))
}

fn initial() -> Watch {
    Watch::new().added(object("a", 8)).added(object("b", 3)).initial_events_end(10)
}

#[tokio::test(start_paused = true)]
async fn initial_events_are_committed_by_their_bookmark_and_changes_follow_in_one_watch() {
    let story = story(Script::new().then(initial().added(object("c", 11)).stalls())).await;
    assert_eq!(story.asked, ["stream"]);
    assert_eq!(story.writes, ["commit @10: a@8 b@3", "put c@11"]);
    assert_eq!(story.observed.versions, ["10", "11"]); // none of an initial event
    assert_eq!((story.observed.lists, story.observed.watches_begun), (vec![(Duration::ZERO, 2)], 1));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_committed_before_the_initial_events_bookmark() {
    let story = story(Script::new().then(Watch::new().added(object("a", 8)).bookmark(9).stalls())).await;
    assert!(story.writes.is_empty(), "{:?}", story.writes);
}

#[tokio::test(start_paused = true)]
async fn changes_among_the_initial_events_are_part_of_the_copy() {
    let story = story(
        Script::new().then(
            Watch::new()
                .added(object("a", 1))
                .added(object("b", 2))
                .modified(object("a", 3))
                .added(object("c", 4))
                .deleted(object("c", 5))
                .initial_events_end(5)
                .stalls(),
        ),
    )
    .await;
    assert_eq!(story.writes, ["commit @5: a@3 b@2"]);
}

#[tokio::test(start_paused = true)]
async fn a_server_without_initial_events_is_listed() {
    let invalid = Status::invalid(&GroupKind { group: String::new(), kind: "Pod".into() }, "", Vec::new());
    let other = WatchError::Interrupted("no route".into());
    for error in [invalid.into(), Status::internal_error("why").into(), other] {
        let story = story(
            Script::new()
                .watch_fails(error)
                .then(List::at(10).item(object("a", 1)))
                .then(Watch::new().added(object("b", 11)).fails(expired())),
        )
        .await;
        // The next round requests initial events again.
        assert_eq!(story.asked, ["stream", "list rv=0 limit=500", "watch rv=10", "stream rv=11"]);
        assert_eq!(story.writes, ["commit @10: a@1", "put b@11"]);
        assert!(story.observed.failures[0].ends_with(": List"), "{:?}", story.observed.failures);
        assert_eq!(story.observed.delays, [Duration::ZERO]);
    }
}

#[tokio::test(start_paused = true)]
async fn failed_initial_events_are_discarded_and_followed_by_a_list() {
    for error in [WatchError::from(Status::internal_error("why")), WatchError::Malformed("not JSON".into())] {
        let story = story(
            Script::new()
                .then(Watch::new().added(object("half", 1)).fails(error))
                .then(List::at(10).item(object("a", 1))),
        )
        .await;
        assert_eq!(story.asked, ["stream", "list rv=0 limit=500", "watch rv=10"]);
        assert_eq!(story.writes, ["commit @10: a@1"]);
        assert!(story.observed.failures.is_empty(), "it was open");
    }
}

#[tokio::test(start_paused = true)]
async fn a_busy_server_is_asked_for_initial_events_again_after_a_delay() {
    let refused = WatchError::ConnectionRefused("nobody".into());
    let story = story(
        Script::new()
            .watch_fails(busy())
            .watch_fails(refused)
            .then(Watch::new().added(object("half", 1)).fails(busy()))
            .then(initial().stalls()),
    )
    .await;
    assert_eq!(story.asked, ["stream"; 4]);
    assert_eq!(story.writes, ["commit @10: a@8 b@3"]);
    assert!(story.took >= Duration::from_millis(800 + 1600 + 3200));
    assert_eq!(story.observed.failures.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn interrupted_initial_events_are_discarded_and_restarted() {
    let half = || Watch::new().added(object("half", 1));
    let story = story(
        Script::new()
            .then(half())
            .then(half().fails(WatchError::Interrupted("reset".into())))
            .then(initial().stalls()),
    )
    .await;
    assert_eq!(story.asked, ["stream"; 3]);
    assert_eq!(story.writes, ["commit @10: a@8 b@3"]);
    // The first restart is immediate; later ones are delayed.
    assert!((800..1600).contains(&story.took.as_millis()), "{:?}", story.took);
}

#[tokio::test(start_paused = true)]
async fn a_very_short_watch_without_initial_events_is_followed_by_a_list() {
    let story = story(Script::new().then(Watch::new()).then(List::at(10))).await;
    assert_eq!(story.asked, ["stream", "list rv=0 limit=500", "watch rv=10"]);
    let patient = Script::new().then(Watch::new().wait(Duration::from_secs(1)));
    assert_eq!(crate::story::story(patient).await.asked, ["stream", "stream"]);
}

#[tokio::test(start_paused = true)]
async fn an_expired_or_too_large_version_is_not_requested_again() {
    let too_large = || Status::too_large_resource_version(&9.into(), &5.into(), Duration::from_secs(1));
    for status in [expired(), too_large()] {
        for opened in [true, false] {
            let first = Script::new().then(initial().fails(expired()));
            let then = match opened {
                true => first.then(Watch::new().fails(status.clone())),
                false => first.watch_fails(status.clone()),
            };
            let last = Watch::new().initial_events_end(20).fails(expired());
            let story = story(then.then(last)).await;
            assert_eq!(story.asked, ["stream", "stream rv=10", "stream", "stream rv=20"]);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn repeatedly_interrupted_initial_events_fall_back_to_a_list() {
    let broken: [fn(Script) -> Script; 3] = [
        |script| script.watch_fails(expired()),
        |script| script.then(Watch::new().fails(expired())),
        |script| script.then(Watch::new().added(object("half", 1))),
    ];
    for broken in broken {
        let script = (0..4).fold(Script::new(), |script, _| broken(script)).then(List::at(10));
        let story = story(script).await;
        assert_eq!(story.asked[..4], ["stream"; 4]);
        assert!(story.asked[4].starts_with("list"), "{:?}", story.asked);
        assert_eq!(story.writes, ["commit @10: "]);
        assert!(story.took >= Duration::from_millis(800 + 1600), "{:?}", story.took);
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_closed_after_the_initial_events_is_resumed() {
    let story = story(
        Script::new()
            .then(initial().added(object("c", 11)))
            .then(Watch::new().added(object("d", 12)).stalls()),
    )
    .await;
    assert_eq!(story.asked, ["stream", "watch rv=11"]);
    assert_eq!(story.writes, ["commit @10: a@8 b@3", "put c@11", "put d@12"]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_expires_after_the_initial_events_is_reported() {
    let story = story(Script::new().then(initial().added(object("c", 11))).watch_fails(expired())).await;
    assert_eq!(story.asked, ["stream", "watch rv=11", "stream rv=11"]);
    assert_eq!(story.observed.failures, ["watch: resource version expired: Relist"]);
}

#[tokio::test(start_paused = true)]
async fn a_rejected_object_is_not_part_of_the_copy() {
    let script = Script::new().then(initial().stalls());
    let story = story_of(&script, |it| {
        it.filter(|object| match object.metadata.key().name() {
            "b" => Err("not a".into()),
            _ => Ok(()),
        })
    })
    .await;
    assert_eq!(story.writes, ["commit @10: a@8"]);
    assert_eq!(story.observed.skipped, ["b@3: not a"]);
}

#[tokio::test(start_paused = true)]
async fn stalled_initial_events_are_reported_every_ten_seconds() {
    let second = Duration::from_secs(1);
    let silent = Watch::new().wait(25 * second).initial_events_end(10).stalls();
    let observed = story(Script::new().then(silent)).await.observed;
    assert_eq!(observed.stalls, ["10s: nothing", "20s: nothing"]);

    let steady = (0..10).fold(Watch::new(), |watch, _| watch.wait(3 * second).added(object("a", 1)));
    let steady = steady.wait(15 * second).initial_events_end(10).wait(60 * second).stalls();
    let observed = story(Script::new().then(steady)).await.observed;
    assert_eq!(observed.stalls, ["40s: last 10s ago"]);
}
