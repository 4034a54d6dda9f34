//! Watches: start, end, and the version reached.

use std::time::Duration;

use watchkeeper_cache::Reflector;
use watchkeeper_cache::reflector::Phase;
use watchkeeper_core::{Status, StatusReason, WatchError};
use watchkeeper_testkit::script::{List, Request, Script, Watch, object};

use crate::story::{Recorder, story, story_of};

const MINUTE: Duration = Duration::from_secs(60);

fn script() -> Script {
    Script::new().without_initial_events()
}

fn listed() -> Script {
    script().then(List::at(10).item(object("a", 7)))
}

#[tokio::test(start_paused = true)]
async fn a_closed_watch_is_reopened_at_once_without_a_list() {
    let story = story(
        listed()
            .then(Watch::new().added(object("b", 11))) // short, but with an event
            .then(Watch::new().wait(5 * MINUTE)) // without events, but timed out
            .then(Watch::new().bookmark(20).fails(WatchError::Interrupted("reset".into()))),
    )
    .await;
    assert_eq!(
        story.asked,
        ["list rv=0 limit=500", "watch rv=10", "watch rv=11", "watch rv=11", "watch rv=20"]
    );
    assert_eq!(story.took, 5 * MINUTE, "no delay");
    assert_eq!(story.writes, ["commit @10: a@7", "put b@11", "bookmark @20"]);
    assert!(story.observed.failures.is_empty());
    let seen: Vec<_> = story.observed.watches.iter().map(|(_, events, short)| (*events, *short)).collect();
    assert_eq!(seen, [(1, false), (0, false), (1, false)]);
    assert_eq!(story.observed.watches_begun, 3);
}

#[tokio::test(start_paused = true)]
async fn a_very_short_watch_leads_to_a_relist_after_a_delay() {
    for short in [Watch::new(), Watch::new().wait(Duration::from_millis(999))] {
        let story = story(listed().then(short)).await;
        assert_eq!(story.asked, ["list rv=0 limit=500", "watch rv=10", "list rv=10"]);
        assert!(story.took >= Duration::from_millis(800));
        assert!(story.observed.watches[0].2 && story.observed.failures.is_empty());
    }
    let long = story(listed().then(Watch::new().wait(Duration::from_secs(1)))).await;
    assert_eq!(long.asked.last().unwrap(), "watch rv=10");
    let broken = Watch::new().fails(WatchError::Interrupted("reset".into()));
    assert_eq!(story(listed().then(broken)).await.asked.last().unwrap(), "list rv=10");
}

#[tokio::test(start_paused = true)]
async fn changes_are_delivered_in_order_with_every_version() {
    let story = story(
        listed().then(
            Watch::new()
                .added(object("b", 11))
                .modified(object("a", 12))
                .bookmark(15)
                .deleted(object("b", 16))
                .stalls(),
        ),
    )
    .await;
    assert_eq!(story.writes, ["commit @10: a@7", "put b@11", "put a@12", "bookmark @15", "delete b@16"]);
    assert_eq!(story.observed.versions, ["10", "11", "12", "15", "16"]);
    assert_eq!(story.observed.lists, [(Duration::ZERO, 1)]);
}

#[tokio::test(start_paused = true)]
async fn the_last_version_wins_even_if_it_is_lower() {
    let story = story(listed().then(Watch::new().modified(object("a", 32)).modified(object("b", 29)))).await;
    assert_eq!(story.asked.last().unwrap(), "watch rv=29");
}

#[tokio::test(start_paused = true)]
async fn a_rejected_object_is_skipped_with_its_version() {
    let script = script()
        .then(List::at(10).item(object("a", 7)).item(object("odd-1", 8)))
        .then(Watch::new().modified(object("a", 12)).added(object("odd-2", 13)).deleted(object("odd-3", 14)))
        .then(Watch::new().added(object("odd-4", 15))); // delivers only a rejected object
    let even = |reflector: Reflector<Recorder>| {
        reflector.filter(|object| match object.metadata.key().name().starts_with("odd") {
            true => Err("odd".into()),
            false => Ok(()),
        })
    };
    let story = story_of(&script, even).await;
    assert_eq!(story.writes, ["commit @10: a@7", "put a@12"]);
    assert_eq!(story.asked, ["list rv=0 limit=500", "watch rv=10", "watch rv=12", "list rv=12"]);
    assert_eq!(story.observed.skipped, ["odd-1@8: odd", "odd-2@13: odd", "odd-3@14: odd", "odd-4@15: odd"]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_does_not_resume_from_an_initial_event() {
    for nowhere in ["", "0"] {
        let watch = || Watch::new().added(object("b", 40)).added(object("a", 30));
        let first = script().then(List::at(nowhere)).then(watch());
        let story = story(first.then(watch().bookmark(41).added(object("c", 42))).then(Watch::new())).await;
        let begin = format!("watch rv={nowhere}");
        assert_eq!(story.asked[1..4], [begin.as_str(), begin.as_str(), "watch rv=42"]);
        assert_eq!(story.writes[1..3], ["put b@40", "put a@30"]); // but they are delivered
    }
}

#[tokio::test(start_paused = true)]
async fn an_expired_watch_leads_to_an_unreported_relist() {
    let watch = Watch::new().modified(object("a", 12)).fails(Status::expired("too old"));
    let story = story(listed().then(watch)).await;
    assert_eq!(story.asked.last().unwrap(), "list rv=12");
    assert!(story.observed.failures.is_empty());
    assert!(story.took >= Duration::from_millis(800));
}

#[tokio::test(start_paused = true)]
async fn any_other_watch_error_leads_to_an_unreported_relist() {
    let forbidden = Status::forbidden(None, "", "no");
    let too_large = Status::too_large_resource_version(&9.into(), &5.into(), Duration::from_secs(1));
    for error in [forbidden.into(), too_large.into(), WatchError::Malformed("not JSON".into())] {
        let story = story(listed().then(Watch::new().bookmark(12).fails(error))).await;
        assert_eq!(story.asked.last().unwrap(), "list rv=12");
        assert!(story.observed.failures.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_fails_to_open_is_reported_and_leads_to_a_relist() {
    for error in [WatchError::from(Status::expired("too old")), Status::internal_error("why").into()] {
        let story = story(listed().watch_fails(error)).await;
        assert_eq!(story.asked, ["list rv=0 limit=500", "watch rv=10", "list rv=10"]);
        assert_eq!((story.observed.failures.len(), story.observed.watches_begun), (1, 0));
        assert!(story.observed.failures[0].ends_with(": Relist"), "{:?}", story.observed.failures);
        let rounded = Duration::from_millis(1); // timer resolution
        assert!(story.took - story.observed.delays[0] < rounded, "{:?}", story.took);
    }
}

#[tokio::test(start_paused = true)]
async fn a_removed_corrupt_object_is_deleted_by_the_relist() {
    let mut corrupt = Status::internal_error("corrupt object has been deleted");
    corrupt.reason = StatusReason::StoreReadError;
    let story = story(
        script()
            .then(List::at(10).item(object("good", 1)).item(object("corrupt", 2)))
            .then(Watch::new().fails(corrupt))
            .then(List::at(11).item(object("good", 1))),
    )
    .await;
    assert_eq!(story.writes, ["commit @10: corrupt@2 good@1", "commit @11: good@1"]);
}

#[tokio::test(start_paused = true)]
async fn watch_timeouts_are_five_to_ten_minutes_or_longer_if_configured() {
    for (setting, least, most) in [(None, 300, 600), (Some(1), 300, 600), (Some(1800), 1800, 3600)] {
        let mut seen = Vec::new();
        for seed in 0..50 {
            let script = listed();
            story_of(&script, |it| match setting {
                None => it.seed(seed),
                Some(seconds) => it.seed(seed).min_watch_timeout(Duration::from_secs(seconds)),
            })
            .await;
            let Some(Request::Watch(watch)) = script.requests().pop() else { panic!("no watch") };
            seen.push(watch.timeout.unwrap().as_secs());
        }
        assert!(seen.iter().all(|it| (least..most).contains(it)), "{seen:?}");
        let (low, high) = (seen.iter().min().unwrap(), seen.iter().max().unwrap());
        assert!(high - low > (most - least) / 2, "{seen:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn progress_reports_the_phase_and_the_version() {
    let script = listed().then(Watch::new().bookmark(12).stalls());
    let reflector = Reflector::new(script.clone(), Recorder::default());
    let progress = reflector.progress();
    reflector.run(script.played()).await;
    let last = progress.borrow().clone();
    assert_eq!((last.phase, last.items, last.of), (Phase::Watching, 1, Some(1)));
    assert_eq!(last.version, 12.into());
}
