//! Delays and retries of the reflector.

use std::time::Duration;

use watchkeeper_cache::reflector::Backoff;
use watchkeeper_core::{ListError, Status, WatchError};
use watchkeeper_testkit::script::{List, Script, Watch, object};

use crate::story::{story, story_of};

const SECOND: Duration = Duration::from_secs(1);

fn plain() -> Backoff {
    Backoff { jitter: 0.0, ..Backoff::default() }
}

fn listed() -> Script {
    Script::new().without_initial_events().then(List::at(10).item(object("a", 7)))
}

fn busy() -> Status {
    Status::too_many_requests("busy", Duration::ZERO)
}

#[tokio::test(start_paused = true)]
async fn a_busy_or_unreachable_server_is_rewatched_from_the_same_version_with_backoff() {
    let refused = || WatchError::ConnectionRefused("nobody".into());
    let errors: [fn() -> WatchError; 2] =
        [|| busy().into(), || WatchError::ConnectionRefused("nobody".into())];
    for error in errors {
        let script = (0..8).fold(listed(), |script, _| script.watch_fails(error()));
        let story = story_of(&script, |it| it.backoff(plain())).await;
        assert_eq!(story.asked[1..], ["watch rv=10"; 9], "no relist");
        let delays: Vec<u128> = story.observed.delays.iter().map(Duration::as_millis).collect();
        assert_eq!(delays, [800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000]);
        assert_eq!(story.took, story.observed.delays.iter().sum::<Duration>());
        assert!(
            story.observed.failures.iter().all(|it| it.ends_with(": Rewatch")),
            "{:?}",
            story.observed.failures
        );
    }
    let in_stream = (0..3).fold(listed(), |script, _| script.then(Watch::new().fails(busy())));
    let story = story_of(&in_stream.watch_fails(refused()), |it| it.backoff(plain())).await;
    assert_eq!(story.asked[1..], ["watch rv=10"; 5], "no relist");
    assert_eq!(story.took.as_millis(), 800 + 1600 + 3200 + 6400);
    assert_eq!(story.observed.failures.len(), 1, "only what could not be opened is reported");
}

#[tokio::test(start_paused = true)]
async fn a_custom_backoff_is_used() {
    let own = Backoff {
        base: Duration::from_millis(10),
        factor: 2.0,
        jitter: 0.0,
        cap: Duration::from_millis(100),
        steps: 38,
    };
    let script = (0..5).fold(listed(), |script, _| script.watch_fails(busy()));
    let story = story_of(&script, |it| it.backoff(own)).await;
    assert_eq!(story.took.as_millis(), 10 + 20 + 40 + 80 + 100);
}

#[tokio::test(start_paused = true)]
async fn rounds_watches_and_initial_events_share_one_backoff() {
    let down = || Status::service_unavailable("down");
    let script = Script::new().watch_fails(busy()).then(Watch::new().initial_events_end(10).fails(busy()));
    let script = script.watch_fails(down());
    // A round fails with two requests: initial events, then the list.
    let script = (0..7).fold(script, |script, _| script.watch_fails(down()).list_fails(down()));
    let story = story_of(&script, |it| it.backoff(plain())).await;
    let waits: Vec<u128> =
        story.observed.delays.iter().map(Duration::as_millis).filter(|delay| *delay > 0).collect();
    // The 1600 ms delay after the open watch is not reported.
    assert_eq!(waits, [800, 3200, 6400, 12_800, 25_600, 30_000, 30_000, 30_000, 800]);
    assert_eq!(story.took.as_millis(), waits.iter().sum::<u128>() + 1600);
}

#[tokio::test(start_paused = true)]
async fn every_round_is_followed_by_a_delay() {
    let expired = || Watch::new().fails(Status::expired("too old"));
    let script = (0..4)
        .fold(Script::new().without_initial_events(), |script, _| script.then(List::at(10)).then(expired()));
    let story = story_of(&script, |it| it.backoff(plain())).await;
    assert_eq!(story.took.as_millis(), 800 + 1600 + 3200 + 6400);
    assert!(story.observed.failures.is_empty());
}

#[tokio::test(start_paused = true)]
async fn jitter_makes_delays_differ_between_reflectors_and_repeats_with_the_seed() {
    let took = async |seed| story_of(&listed().watch_fails(busy()), |it| it.seed(seed)).await.took;
    let mut seen = Vec::new();
    for seed in 0..10 {
        seen.push(took(seed).await);
    }
    assert_eq!(took(7).await, seen[7]);
    assert!(seen.iter().all(|it| (800..1600).contains(&it.as_millis())), "{seen:?}");
    seen.sort();
    seen.dedup();
    assert!(seen.len() > 5, "{seen:?}");
}

#[tokio::test(start_paused = true)]
async fn retry_after_is_honoured_up_to_the_cap() {
    let busy = |seconds| Status::too_many_requests("busy", seconds * SECOND);
    let script = listed().watch_fails(busy(5)).watch_fails(busy(86_400));
    let story = story_of(&script, |it| it.backoff(plain())).await;
    assert_eq!(story.observed.delays, [5 * SECOND, 30 * SECOND]);
}

#[tokio::test(start_paused = true)]
async fn a_failed_list_is_reported_with_the_next_delay() {
    let refused = ListError::ConnectionRefused("nobody".into());
    let script = Script::new().without_initial_events().list_fails(busy()).list_fails(refused);
    let story = story_of(&script, |it| it.backoff(plain())).await;
    let expected = ["list: too many requests: Relist", "list: connection refused: Relist"];
    assert_eq!(story.observed.failures, expected);
    assert_eq!(story.observed.delays, [Duration::from_millis(800), Duration::from_millis(1600)]);
    assert_eq!(story.asked, ["list rv=0 limit=500"; 3]);
}

/// Watches that fail with an internal error after a second, and the tenth after `tenth`.
fn failing(count: u32, tenth: Duration) -> Script {
    (1..=count).fold(listed(), |script, number| {
        let lasts = if number == 10 { tenth } else { SECOND };
        script.then(Watch::new().wait(lasts).fails(Status::internal_error("why")))
    })
}

fn watches(story: &crate::story::Story) -> usize {
    story.asked.iter().filter(|it| it.starts_with("watch")).count()
}

#[tokio::test(start_paused = true)]
async fn internal_errors_are_retried_for_the_configured_time_and_not_by_default() {
    assert_eq!(story(failing(3, SECOND)).await.asked, ["list rv=0 limit=500", "watch rv=10", "list rv=10"]);

    let bearing = failing(60, SECOND);
    let story = story_of(&bearing, |it| it.max_internal_error_retry(30 * SECOND)).await;
    assert_eq!(watches(&story), 1 + 31, "the first, and 31 retries");
    assert_eq!(story.asked.last().unwrap(), "list rv=10");
    // 32 watches of one second each, without delays between them, then the relist delay of 0.8 to 1.6 s.
    assert!((32_800..33_600).contains(&story.took.as_millis()), "{:?}", story.took);
}

#[tokio::test(start_paused = true)]
async fn a_minute_without_internal_errors_resets_the_retry_time() {
    for (tenth, retries) in [(59 * SECOND, 9), (60 * SECOND, 9 + 31)] {
        let script = failing(60, tenth);
        let story = story_of(&script, |it| it.max_internal_error_retry(30 * SECOND)).await;
        assert_eq!(watches(&story), 1 + retries, "after {tenth:?}");
    }
}

/// Returns the number of watches opened in a minute if the server ends each at once.
async fn watches_in_a_minute(watch: impl Fn(u64) -> Watch) -> usize {
    let script = (0..2_000).fold(listed(), |script, number| script.then(watch(number)));
    let copy = crate::story::Recorder::default();
    let reflector = watchkeeper_cache::Reflector::new(script.clone(), copy).backoff(plain()).seed(1);
    reflector.run(tokio::time::sleep(60 * SECOND)).await;
    script.requests().len() - 1
}

#[tokio::test(start_paused = true)]
async fn watches_that_repeat_the_same_event_and_end_back_off() {
    // Two immediately, and then after 0.8, 1.6, 3.2, 6.4, 12.8 and 25.6 s.
    assert_eq!(watches_in_a_minute(|_| Watch::new().modified(object("a", 7))).await, 2 + 6);
    assert_eq!(watches_in_a_minute(|_| Watch::new().bookmark(10)).await, 2 + 6);
    let interrupted = |_| Watch::new().bookmark(10).fails(WatchError::Interrupted("cut".into()));
    assert_eq!(watches_in_a_minute(interrupted).await, 2 + 6);
}

#[tokio::test(start_paused = true)]
async fn watches_that_end_after_a_new_event_are_opened_once_a_second() {
    let opened = watches_in_a_minute(|number| Watch::new().modified(object("a", 11 + number))).await;
    assert_eq!(opened, 2 + 59);
    // A long watch is followed by another immediately.
    let lasting = |number| Watch::new().modified(object("a", 11 + number)).wait(SECOND);
    assert_eq!(watches_in_a_minute(lasting).await, 60);
}

#[tokio::test(start_paused = true)]
async fn immediate_internal_errors_are_not_retried_without_a_delay() {
    let script =
        (0..1_000).fold(listed(), |script, _| script.then(Watch::new().fails(Status::internal_error("why"))));
    let copy = crate::story::Recorder::default();
    let reflector = watchkeeper_cache::Reflector::new(script.clone(), copy).backoff(plain()).seed(1);
    reflector.max_internal_error_retry(60 * SECOND).run(tokio::time::sleep(60 * SECOND)).await;
    assert_eq!(script.requests().len(), 1 + 2 + 6);
}
