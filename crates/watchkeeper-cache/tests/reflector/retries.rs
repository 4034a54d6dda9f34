//! How long the reflector waits, and for whom.

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
async fn a_server_that_is_busy_or_away_is_watched_again_from_the_same_version_with_growing_delays() {
    let refused = || WatchError::ConnectionRefused("nobody".into());
    let errors: [fn() -> WatchError; 2] =
        [|| busy().into(), || WatchError::ConnectionRefused("nobody".into())];
    for error in errors {
        let script = (0..8).fold(listed(), |script, _| script.watch_fails(error()));
        let story = story_of(&script, |it| it.backoff(plain())).await;
        assert_eq!(story.asked[1..], ["watch rv=10"; 9], "no relist");
        let delays: Vec<u128> = story.heard.delays.iter().map(Duration::as_millis).collect();
        assert_eq!(delays, [800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000]);
        assert_eq!(story.took, story.heard.delays.iter().sum::<Duration>());
        assert!(
            story.heard.failures.iter().all(|it| it.ends_with(": Rewatch")),
            "{:?}",
            story.heard.failures
        );
    }
    let in_stream = (0..3).fold(listed(), |script, _| script.then(Watch::new().fails(busy())));
    let story = story_of(&in_stream.watch_fails(refused()), |it| it.backoff(plain())).await;
    assert_eq!(story.asked[1..], ["watch rv=10"; 5], "no relist");
    assert_eq!(story.took.as_millis(), 800 + 1600 + 3200 + 6400);
    assert_eq!(story.heard.failures.len(), 1, "only what could not be opened is reported");
}

#[tokio::test(start_paused = true)]
async fn a_backoff_of_ones_own_is_kept_to() {
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
async fn rounds_watches_and_initial_events_share_the_delays_which_begin_anew_every_two_minutes() {
    let down = || Status::service_unavailable("down");
    let script = Script::new().watch_fails(busy()).then(Watch::new().initial_events_end(10).fails(busy()));
    let script = script.watch_fails(down());
    // A round fails in two requests: initial events, then the list.
    let script = (0..7).fold(script, |script, _| script.watch_fails(down()).list_fails(down()));
    let story = story_of(&script, |it| it.backoff(plain())).await;
    let waits: Vec<u128> =
        story.heard.delays.iter().map(Duration::as_millis).filter(|delay| *delay > 0).collect();
    // 1600 ms went by unreported, after the watch that was open.
    assert_eq!(waits, [800, 3200, 6400, 12_800, 25_600, 30_000, 30_000, 30_000, 800]);
    assert_eq!(story.took.as_millis(), waits.iter().sum::<u128>() + 1600);
}

#[tokio::test(start_paused = true)]
async fn every_round_that_ends_is_followed_by_a_delay_even_if_all_went_well() {
    let expired = || Watch::new().fails(Status::expired("too old"));
    let script = (0..4)
        .fold(Script::new().without_initial_events(), |script, _| script.then(List::at(10)).then(expired()));
    let story = story_of(&script, |it| it.backoff(plain())).await;
    assert_eq!(story.took.as_millis(), 800 + 1600 + 3200 + 6400);
    assert!(story.heard.failures.is_empty());
}

#[tokio::test(start_paused = true)]
async fn jitter_makes_delays_differ_between_reflectors() {
    let mut seen = Vec::new();
    for seed in 0..10 {
        let script = listed().watch_fails(busy());
        seen.push(story_of(&script, |it| it.seed(seed)).await.took);
    }
    assert!(seen.iter().all(|it| (800..1600).contains(&it.as_millis())), "{seen:?}");
    seen.sort();
    seen.dedup();
    assert!(seen.len() > 5, "{seen:?}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_asks_for_a_longer_wait_gets_it_up_to_the_longest_delay() {
    let busy = |seconds| Status::too_many_requests("busy", seconds * SECOND);
    let script = listed().watch_fails(busy(5)).watch_fails(busy(86_400));
    let story = story_of(&script, |it| it.backoff(plain())).await;
    assert_eq!(story.heard.delays, [5 * SECOND, 30 * SECOND]);
}

#[tokio::test(start_paused = true)]
async fn lists_that_fail_are_reported_with_the_delay_that_follows() {
    let refused = ListError::ConnectionRefused("nobody".into());
    let script = Script::new().without_initial_events().list_fails(busy()).list_fails(refused);
    let story = story_of(&script, |it| it.backoff(plain())).await;
    let expected = ["list: too many requests: Relist", "list: connection refused: Relist"];
    assert_eq!(story.heard.failures, expected);
    assert_eq!(story.heard.delays, [Duration::from_millis(800), Duration::from_millis(1600)]);
    assert_eq!(story.asked, ["list rv=0 limit=500"; 3]);
}

/// Watches that end with an internal error a second after they began; the tenth later, perhaps.
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
async fn internal_errors_are_borne_for_as_long_as_was_asked_for_and_by_default_not_at_all() {
    assert_eq!(story(failing(3, SECOND)).await.asked, ["list rv=0 limit=500", "watch rv=10", "list rv=10"]);

    let bearing = failing(60, SECOND);
    let story = story_of(&bearing, |it| it.bear_internal_errors(30 * SECOND)).await;
    assert_eq!(watches(&story), 1 + 31, "the first, and 31 retries");
    assert_eq!(story.asked.last().unwrap(), "list rv=10");
    assert!((33..35).contains(&story.took.as_secs()), "no delay between them: {:?}", story.took);
}

#[tokio::test(start_paused = true)]
async fn patience_is_as_at_first_once_a_minute_went_by_without_an_internal_error() {
    for (tenth, retries) in [(59 * SECOND, 9), (60 * SECOND, 9 + 31)] {
        let script = failing(60, tenth);
        let story = story_of(&script, |it| it.bear_internal_errors(30 * SECOND)).await;
        assert_eq!(watches(&story), 1 + retries, "after {tenth:?}");
    }
}

/// How many watches are opened in a minute by a server that ends each at once.
async fn watches_in_a_minute(watch: impl Fn(u64) -> Watch) -> usize {
    let script = (0..2_000).fold(listed(), |script, number| script.then(watch(number)));
    let copy = crate::story::Recorder::default();
    let reflector = watchkeeper_cache::Reflector::new(script.clone(), copy).backoff(plain()).seed(1);
    reflector.run(tokio::time::sleep(60 * SECOND)).await;
    script.requests().len() - 1
}

#[tokio::test(start_paused = true)]
async fn a_server_that_sends_the_same_event_and_ends_every_watch_is_asked_ever_more_seldom() {
    // Two at once, and then after 0.8, 1.6, 3.2, 6.4, 12.8 and 25.6 s.
    assert_eq!(watches_in_a_minute(|_| Watch::new().modified(object("a", 7))).await, 2 + 6);
    assert_eq!(watches_in_a_minute(|_| Watch::new().bookmark(10)).await, 2 + 6);
    let interrupted = |_| Watch::new().bookmark(10).fails(WatchError::Interrupted("cut".into()));
    assert_eq!(watches_in_a_minute(interrupted).await, 2 + 6);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_ends_every_watch_after_a_new_event_is_asked_once_a_second() {
    let opened = watches_in_a_minute(|number| Watch::new().modified(object("a", 11 + number))).await;
    assert_eq!(opened, 2 + 59);
    // One that lasts is followed by another at once, as before.
    let lasting = |number| Watch::new().modified(object("a", 11 + number)).wait(SECOND);
    assert_eq!(watches_in_a_minute(lasting).await, 60);
}

#[tokio::test(start_paused = true)]
async fn internal_errors_that_come_at_once_are_not_borne_without_a_pause() {
    let script =
        (0..1_000).fold(listed(), |script, _| script.then(Watch::new().fails(Status::internal_error("why"))));
    let copy = crate::story::Recorder::default();
    let reflector = watchkeeper_cache::Reflector::new(script.clone(), copy).backoff(plain()).seed(1);
    reflector.bear_internal_errors(60 * SECOND).run(tokio::time::sleep(60 * SECOND)).await;
    assert_eq!(script.requests().len(), 1 + 2 + 6);
}
