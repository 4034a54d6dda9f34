//! Writing `events.k8s.io/v1` events.

use std::time::Duration;

use tokio::time::sleep;
use watchkeeper_controller::events::EventApi;

use crate::World;
use crate::sheet::Trouble;

const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test(start_paused = true)]
async fn a_series_is_started_refreshed_and_finished() {
    let world = World::start(EventApi::Events);
    for _ in 0..4 {
        world.record("a", "m");
    }
    world.settle().await;
    assert_eq!(world.sheet.requests(), ["create a 1", "patch a 2"]);
    assert_eq!((world.count("written"), world.count("counted")), (2, 2));
    for _ in 0..16 {
        sleep(MINUTE * 2).await;
        world.record("a", "m");
    }
    assert_eq!(world.sheet.requests(), ["patch a 18"], "after 30 minutes, not before");
    sleep(MINUTE * 5).await;
    assert!(world.sheet.requests().is_empty());
    sleep(MINUTE * 8).await;
    assert_eq!(world.sheet.requests(), ["patch a 20"], "the series is over");
    sleep(MINUTE * 60).await;
    assert!(world.sheet.requests().is_empty());
    world.record("a", "m");
    world.settle().await;
    assert_eq!(world.sheet.requests(), ["create a 1"], "the next event starts anew");
}

#[tokio::test(start_paused = true)]
async fn a_failed_final_write_is_repeated_later() {
    let world = World::start(EventApi::Events);
    for _ in 0..3 {
        world.record("a", "m");
    }
    world.settle().await;
    world.sheet.requests();
    world.sheet.troubles([Trouble::Unreachable]);
    sleep(MINUTE * 13).await;
    assert_eq!(world.sheet.requests(), ["patch a 3"]);
    sleep(MINUTE * 6).await;
    assert_eq!(world.sheet.requests(), ["patch a 3"]);
    sleep(MINUTE * 30).await;
    assert!(world.sheet.requests().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_series_is_retried_when_its_event_is_deleted_and_recreated() {
    let world = World::start(EventApi::Events);
    // The patch finds no event, then the create finds one.
    world.sheet.troubles([Trouble::None, Trouble::Missing, Trouble::Exists]);
    world.record("a", "m");
    world.record("a", "m");
    world.settle().await;
    assert_eq!(world.sheet.requests(), ["create a 1", "patch a 2", "create a 2"]);
    sleep(Duration::from_secs(13)).await;
    assert_eq!(world.sheet.requests(), ["patch a 2"]);
    // A deleted event is recreated with its count.
    let world = World::start(EventApi::Events);
    world.record("a", "m");
    world.settle().await;
    world.sheet.expire();
    world.record("a", "m");
    world.settle().await;
    assert_eq!(world.sheet.requests(), ["create a 1", "patch a 2", "create a 2"]);
    assert_eq!(world.sheet.events()[0]["series"]["count"], 2);
}

#[tokio::test(start_paused = true)]
async fn rejected_events_are_not_retried_and_unanswered_ones_are_twelve_times() {
    let world = World::start(EventApi::Events);
    world.sheet.troubles([Trouble::Rejected, Trouble::Exists]);
    world.record("a", "m");
    world.settle().await;
    world.record("b", "m");
    world.settle().await;
    assert_eq!(world.sheet.requests(), ["create a 1", "create b 1"]);
    assert_eq!(world.count("rejected"), 2);

    world.sheet.troubles([Trouble::Unreachable; 12]);
    let begun = tokio::time::Instant::now();
    world.record("c", "m");
    while world.count("failed") == 0 {
        sleep(Duration::from_millis(500)).await;
    }
    assert_eq!(world.sheet.requests(), ["create c 1"; 12]);
    let seconds = begun.elapsed().as_secs();
    assert!((110..=138).contains(&seconds), "{seconds} s: eleven delays of 10 to 12.5 s");
}

#[tokio::test(start_paused = true)]
async fn an_unanswered_write_blocks_only_its_own_worker() {
    let world = World::start(EventApi::Events);
    world.sheet.silent_for("a");
    world.record("a", "m");
    world.settle().await;
    for number in 0..64 {
        world.record(&format!("b{number}"), "m");
    }
    world.settle().await;
    let written = world.count("written");
    assert!((30..64).contains(&written), "{written}: all but those of one of eight workers");
}
