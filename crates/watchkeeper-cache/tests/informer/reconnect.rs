//! Connection state of an informer, and immediate reconnects.

use std::time::Duration;

use tokio::time::{Instant, advance};
use watchkeeper_cache::Informer;
use watchkeeper_cache::reflector::{Phase, Progress};
use watchkeeper_core::{ListError, WatchError};
use watchkeeper_testkit::script::{List, Request, Script, Watch, object};
use watchkeeper_wire::Kind;

/// Starts an informer, and waits until its progress satisfies a condition.
async fn started(script: &Script, mut is_it: impl FnMut(&Progress) -> bool) -> (Informer, Progress) {
    let maps = Informer::new(Kind::new("", "v1", "ConfigMap"), script.clone());
    maps.start();
    let progress = wait(&maps, &mut is_it).await;
    (maps, progress)
}

async fn wait(maps: &Informer, is_it: impl FnMut(&Progress) -> bool) -> Progress {
    maps.progress().wait_for(is_it).await.unwrap().clone()
}

fn listed() -> Script {
    Script::new().without_initial_events().then(List::at(10).item(object("a", 7)))
}

fn refused() -> WatchError {
    WatchError::ConnectionRefused("nobody listens".into())
}

fn watches(script: &Script) -> usize {
    script.requests().iter().filter(|request| matches!(request, Request::Watch(_))).count()
}

#[tokio::test(start_paused = true)]
async fn progress_reports_the_last_contact_and_the_last_error() {
    let script = listed()
        .then(Watch::new().wait(Duration::from_secs(5)).bookmark(11))
        .watch_fails(refused())
        .then(Watch::new().stalls());
    let begun = Instant::now();

    let (maps, failed) = started(&script, |progress| progress.failure.is_some()).await;
    let failure = failed.failure.unwrap().describe();
    assert_eq!(failure, "watch failed: connection refused: nobody listens");
    assert_eq!(failed.last_contact, Some(begun + Duration::from_secs(5)), "the bookmark");

    let again = wait(&maps, |progress| progress.failure.is_none()).await;
    assert_eq!(again.last_contact, Some(Instant::now()));
    maps.stop().await;
}

#[tokio::test(start_paused = true)]
async fn reconnect_ends_a_delay_and_resets_the_backoff() {
    let script = (0..7).fold(listed(), |script, _| script.watch_fails(refused()));
    let script = script.then(Watch::new().modified(object("a", 12)).stalls());
    let (maps, _) = started(&script, |progress| progress.failure.is_some()).await;
    for failures in 1..7 {
        wait(&maps, |progress| progress.phase == Phase::Waiting).await;
        assert_eq!(watches(&script), failures);
        let before = Instant::now();
        maps.reconnect();
        while watches(&script) == failures {
            tokio::task::yield_now().await;
        }
        assert_eq!(before.elapsed(), Duration::ZERO);
    }
    let before = Instant::now();
    wait(&maps, |progress| progress.version == 12.into()).await;
    assert!(before.elapsed() < Duration::from_secs(2), "the first delay again: {:?}", before.elapsed());
    assert_eq!(script.requests().len(), 1 + 8, "nothing is listed again");
    maps.stop().await;
}

#[tokio::test(start_paused = true)]
async fn reconnect_replaces_a_hanging_request() {
    let listing = Script::new()
        .without_initial_events()
        .then(List::at(5).item(object("b", 5)).stalls())
        .then(List::at(10).item(object("a", 7)))
        .then(Watch::new().modified(object("a", 11)).stalls())
        .then(Watch::new().modified(object("a", 12)).stalls());
    let (maps, _) = started(&listing, |progress| progress.phase == Phase::Listing).await;
    advance(Duration::from_secs(1)).await;
    maps.reconnect();
    wait(&maps, |progress| progress.version == 11.into()).await;
    assert_eq!(maps.store().snapshot().len(), 1, "half a list is not kept");

    maps.reconnect();
    wait(&maps, |progress| progress.version == 12.into()).await;
    let Some(Request::Watch(last)) = listing.requests().pop() else { panic!("the last request is a watch") };
    assert_eq!(last.from, watchkeeper_core::WatchFrom::After(11.into()));
    assert_eq!(listing.open(), 1, "the request before it is dropped");
    maps.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_failed_list_is_reported_until_one_succeeds() {
    let script = Script::new()
        .without_initial_events()
        .list_fails(ListError::ConnectionRefused("nobody listens".into()))
        .then(List::at(10))
        .then(Watch::new().stalls());
    let (maps, failed) = started(&script, |progress| progress.failure.is_some()).await;
    assert_eq!(failed.last_contact, None);
    maps.reconnect();
    let listed = wait(&maps, |progress| progress.version == 10.into()).await;
    assert!(listed.failure.is_none());
    maps.stop().await;
}
