//! Lists: versions, paging, and fallbacks.

use std::num::NonZeroU32;
use std::time::Duration;

use watchkeeper_cache::Reflector;
use watchkeeper_cache::reflector::Phase;
use watchkeeper_core::{ListError, Status, StatusCause, StatusDetails, StatusReason};
use watchkeeper_testkit::script::{List, Script, Watch, object};

use crate::story::{Recorder, story, story_of};

fn script() -> Script {
    Script::new().without_initial_events()
}

fn expired() -> Status {
    Status::expired("too old")
}

fn five() -> NonZeroU32 {
    NonZeroU32::new(5).unwrap()
}

/// A watch that ends in a relist.
fn expires() -> Watch {
    Watch::new().fails(expired())
}

#[tokio::test(start_paused = true)]
async fn the_first_list_is_at_any_version_and_a_relist_at_the_last_one_seen() {
    let story = story(
        script()
            .then(List::at(10).item(object("a", 7)))
            .then(Watch::new().modified(object("a", 12)).fails(expired())),
    )
    .await;
    assert_eq!(story.asked, ["list rv=0 limit=500", "watch rv=10", "list rv=12"]);
    assert_eq!(story.writes, ["commit @10: a@7", "put a@12"]);
}

#[tokio::test(start_paused = true)]
async fn an_expired_list_is_followed_by_one_of_the_most_recent_state() {
    let lists = [List::at(10).item(object("a", 7)), List::at(30).item(object("b", 30))];
    let [first, last] = lists;
    let story = story(script().then(first).then(expires()).list_fails(expired()).then(last)).await;
    // The second and the third list belong to one round: no delay and no report in between.
    assert_eq!(story.asked, ["list rv=0 limit=500", "watch rv=10", "list rv=10", "list", "watch rv=30"]);
    assert_eq!(story.writes, ["commit @10: a@7", "commit @30: b@30"]);
    assert_eq!((story.observed.failures.len(), story.observed.lists_begun), (0, 2));
    assert!(story.took < Duration::from_secs(2), "one delay, not two: {:?}", story.took);
}

#[tokio::test(start_paused = true)]
async fn legacy_status_gone_counts_as_expired() {
    let story = story(
        script().then(List::at(10)).then(expires()).list_fails(Status::gone("compacted")).then(List::at(11)),
    )
    .await;
    assert_eq!(story.asked[2..], ["list rv=10", "list", "watch rv=11"]);
}

#[tokio::test(start_paused = true)]
async fn a_too_large_version_in_any_encoding_leads_to_a_most_recent_list() {
    let cause = Status::too_large_resource_version(&10.into(), &5.into(), Duration::from_secs(1));
    let mut by_cause_message = Status::timeout("wait", Duration::from_secs(1));
    by_cause_message.details = Some(Box::new(StatusDetails {
        causes: vec![StatusCause { message: "Too large resource version".into(), ..Default::default() }],
        ..Default::default()
    }));
    let by_message = Status {
        message: "Too large resource version: 10, current: 5".into(),
        reason: StatusReason::Timeout,
        code: 504,
        details: Some(Box::default()),
        ..Default::default()
    };
    for status in [cause, by_cause_message, by_message] {
        let story =
            story(script().then(List::at(10)).then(expires()).list_fails(status.clone()).then(List::at(11)))
                .await;
        assert_eq!(story.asked[2..], ["list rv=10", "list", "watch rv=11"], "{status:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_most_recent_list_is_reported_and_repeated() {
    let story = story(
        script()
            .then(List::at(10))
            .then(expires())
            .list_fails(expired())
            .list_fails(Status::service_unavailable("down"))
            .then(List::at(20))
            .then(expires()),
    )
    .await;
    let expected = [
        "list rv=0 limit=500",
        "watch rv=10",
        "list rv=10",
        "list",
        "list limit=500", // the version is still unavailable
        "watch rv=20",
        "list rv=20", // a successful list makes it available again
    ];
    assert_eq!(story.asked, expected);
    assert_eq!(story.observed.failures, ["list: list rejected by the server: Relist"]);
}

#[tokio::test(start_paused = true)]
async fn an_explicit_page_size_applies_to_all_lists() {
    let script = script()
        .then(List::at(10).item(object("a", 1)).continues("p2"))
        .then(List::at(10).item(object("b", 2)))
        .then(expires())
        .then(List::at(20).item(object("b", 2)));
    let story = story_of(&script, |it| it.page_size(five())).await;
    let expected =
        ["list rv=0 limit=5", "list continue=p2 limit=5", "watch rv=10", "list rv=10 limit=5", "watch rv=20"];
    assert_eq!(story.asked, expected);
    assert_eq!(story.writes, ["commit @10: a@1 b@2", "commit @20: b@2"]);
}

/// As after the restart of a server whose watch cache is younger than its storage history.
#[tokio::test(start_paused = true)]
async fn a_version_that_expires_twice_leads_to_a_most_recent_list() {
    let opens_and_expires = || script().then(List::at(10)).then(expires()).then(List::at(10)).then(expires());
    let is_refused =
        || script().then(List::at(10)).watch_fails(expired()).then(List::at(10)).watch_fails(expired());
    for script in [opens_and_expires(), is_refused()] {
        let script = script.then(List::at(20)).then(expires());
        let story = story_of(&script, |it| it.page_size(five())).await;
        let expected = [
            "list rv=0 limit=5",
            "watch rv=10",
            "list rv=10 limit=5", // paged, so exactly at this version
            "watch rv=10",
            "list limit=5",
            "watch rv=20",
            "list rv=20 limit=5",
        ];
        assert_eq!(story.asked, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn relists_are_paged_once_the_first_list_was() {
    let story = story(
        script()
            .then(List::at(10).item(object("a", 1)).continues("p2"))
            .then(List::at(10).item(object("b", 2)))
            .then(expires())
            .then(List::at(10)),
    )
    .await;
    let expected = [
        "list rv=0 limit=500",
        "list continue=p2 limit=500",
        "watch rv=10",
        "list rv=10 limit=500",
        "watch rv=10",
    ];
    assert_eq!(story.asked, expected);
}

#[tokio::test(start_paused = true)]
async fn pages_of_a_most_recent_list_do_not_make_relists_paged() {
    let story = story(
        script()
            .list_fails(expired())
            .list_fails(Status::service_unavailable("down"))
            .then(List::at(10).item(object("a", 1)).continues("p2"))
            .then(List::at(10))
            .then(expires()),
    )
    .await;
    let expected = [
        "list rv=0 limit=500",
        "list limit=500",
        "list limit=500",
        "list continue=p2 limit=500",
        "watch rv=10",
        "list rv=10",
    ];
    assert_eq!(story.asked, expected);
}

#[tokio::test(start_paused = true)]
async fn an_expired_continue_token_leads_to_a_list_without_paging() {
    let script = script()
        .then(List::at(10).item(object("a", 1)))
        .then(expires())
        .then(List::at(10).item(object("a", 1)).item(object("stale", 2)).continues("p2"))
        .list_fails(expired())
        .then(List::at(15).item(object("b", 12)));
    let story = story_of(&script, |it| it.page_size(five())).await;
    let expected = ["list rv=10 limit=5", "list continue=p2 limit=5", "list rv=10", "watch rv=15"];
    assert_eq!(story.asked[2..], expected);
    assert_eq!(story.writes, ["commit @10: a@1", "commit @15: b@12"]); // the first page was discarded
    assert!(story.observed.failures.is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_expired_unpaged_list_leads_to_a_paged_most_recent_one() {
    let story = story(
        script()
            .then(List::at(10).item(object("a", 1)).continues("p2"))
            .list_fails(expired())
            .list_fails(expired())
            .then(List::at(20).item(object("b", 12))),
    )
    .await;
    let expected =
        ["list rv=0 limit=500", "list continue=p2 limit=500", "list rv=0", "list limit=500", "watch rv=20"];
    assert_eq!(story.asked, expected);
    assert_eq!(story.writes, ["commit @20: b@12"]);
}

#[tokio::test(start_paused = true)]
async fn a_page_can_be_empty_and_the_first_page_sets_the_version() {
    let story = story(
        script()
            .then(List::at(10).item(object("a", 1)).continues("p2"))
            .then(List::at(11).continues("p3"))
            .then(List::at(12).item(object("c", 3))),
    )
    .await;
    assert_eq!(story.writes, ["commit @10: a@1 c@3"]);
    assert_eq!(story.asked.last().unwrap(), "watch rv=10");
}

#[tokio::test(start_paused = true)]
async fn an_interrupted_list_does_not_change_the_copy() {
    let broken = || List::at(20).item(object("new", 20));
    let story = story(
        script()
            .then(List::at(10).item(object("a", 1)))
            .then(expires())
            .then(broken().breaks_off())
            .then(broken().fails(ListError::Interrupted("reset".into())))
            .then(broken().fails(ListError::Malformed("a table".into()))),
    )
    .await;
    assert_eq!(story.writes, ["commit @10: a@1"]);
    let expected = [
        "list: list interrupted: Relist",
        "list: list interrupted: Relist",
        "list: invalid list response: Relist",
    ];
    assert_eq!(story.observed.failures, expected);
    assert_eq!(story.asked[2..], ["list rv=10"; 4]);
}

#[tokio::test(start_paused = true)]
async fn progress_counts_received_and_expected_items() {
    let many = |from: u64| (from..from + 150).map(|number| object(&format!("o{number}"), 1));
    let script = script()
        .then(List::at(10).items(many(0)).remaining(150).continues("p2"))
        .then(List::at(10).items(many(150)).stalls());
    let reflector = Reflector::new(script.clone(), Recorder::default());
    let mut progress = reflector.progress();
    assert_eq!(progress.borrow_and_update().phase, Phase::Idle);
    let run = tokio::spawn(reflector.run(script.played()));
    let seen = progress.wait_for(|it| it.of.is_some()).await.unwrap().clone();
    assert_eq!((seen.phase, seen.of), (Phase::Listing, Some(300)));
    run.await.unwrap();
    assert_eq!(progress.borrow().items, 300);
    assert!(progress.borrow().version.is_empty(), "the list has not ended");
}

#[tokio::test(start_paused = true)]
async fn an_endless_paged_list_fails_and_is_retried() {
    let page = |token: &str| List::at(10).item(object("a", 1)).continues(token);
    let script = script().then(page("p2")).then(page("p3")).then(page("p3")).then(List::at(20));
    let story = story(script).await;
    let expected = [
        "list rv=0 limit=500",
        "list continue=p2 limit=500",
        "list continue=p3 limit=500",
        "list rv=0 limit=500", // not the third page again
        "watch rv=20",
    ];
    assert_eq!(story.asked, expected);
    assert_eq!(story.observed.failures, ["list: invalid list response: Relist"]);
    assert_eq!(story.writes, ["commit @20: "], "nothing of it counts");
    assert!(story.took >= Duration::from_millis(800));

    // Empty pages, each with a new token.
    let empty = (0..100).fold(Script::new().without_initial_events(), |script, page| {
        script.then(List::at(10).continues(&page.to_string()))
    });
    let story = story_of(&empty, |it| it).await;
    let failed = story.asked.iter().skip(1).position(|asked| asked.starts_with("list rv=0"));
    assert_eq!(failed, Some(19), "20 pages, and then from the beginning: {:?}", story.asked);
    assert_eq!(story.observed.failures.len(), 5);
}
