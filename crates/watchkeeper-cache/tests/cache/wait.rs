//! `until` and the retry watcher.

use std::convert::Infallible;
use std::time::Duration;

use tokio::time::Instant;
use watchkeeper_cache::Informer;
use watchkeeper_cache::delta::Delta;
use watchkeeper_cache::wait::{NoVersion, RetryWatcher, Seen, WaitError, until};
use watchkeeper_core::{ListWatch, ObjectKey, ResourceVersion, Status, Union, WatchError};
use watchkeeper_testkit::script::{List, Script, Watch, object};
use watchkeeper_wire::Kind;

const SECOND: Duration = Duration::from_secs(1);

fn informer(script: &Script) -> Informer {
    Informer::new(Kind::new("", "v1", "ConfigMap"), script.clone())
}

fn three_changes() -> Script {
    let changes = Watch::new().wait(SECOND).modified(object("a", 3)).added(object("c", 4));
    Script::new()
        .without_initial_events()
        .then(List::at(2).items([object("a", 1), object("b", 2)]))
        .then(changes.wait(SECOND).deleted(object("b", 5)).stalls())
}

#[tokio::test(start_paused = true)]
async fn a_condition_that_already_holds_is_met_by_the_snapshot() {
    let script = three_changes();
    let maps = informer(&script);
    let count = until(&maps, None, |seen| match seen {
        Seen::State(all) => Ok::<_, Infallible>(Some(all.len())),
        Seen::Change(_) => panic!("the snapshot already meets the condition"),
    });
    assert_eq!(count.await.unwrap(), 2);
    maps.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_condition_receives_the_snapshot_once_and_then_every_change() {
    let script = three_changes();
    let maps = informer(&script);
    maps.start();
    assert!(maps.wait_until_ready().await);
    let mut seen_so_far = Vec::new();
    let gone = until(&maps, Some(10 * SECOND), |seen| {
        Ok::<_, Infallible>(match seen {
            Seen::State(all) => {
                seen_so_far.push(format!("{} objects", all.len()));
                None
            }
            Seen::Change(Delta::Deleted { old, .. }) => Some(old.metadata.key().to_string()),
            Seen::Change(change) => {
                seen_so_far.push(change.newest().metadata.key().to_string());
                None
            }
        })
    });
    assert_eq!(gone.await.unwrap(), "b");
    assert_eq!(seen_so_far, ["2 objects", "a", "c"]);
    assert_eq!(maps.store().handlers().len(), 0, "the subscription is dropped");
    maps.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deletion_while_the_snapshot_is_checked_is_delivered() {
    let going = Watch::new().wait(SECOND / 10).deleted(object("b", 5)).stalls();
    let list = List::at(2).items([object("a", 1), object("b", 2)]);
    let maps = informer(&Script::new().without_initial_events().then(list).then(going));
    let gone = until(&maps, Some(10 * SECOND), |seen| {
        Ok::<_, Infallible>(match seen {
            Seen::State(all) if all.len() == 1 => Some("b".to_owned()), // deleted before the snapshot
            Seen::State(_) => {
                while maps.store().snapshot().len() == 2 {
                    std::thread::yield_now();
                }
                None
            }
            Seen::Change(Delta::Deleted { old, .. }) => Some(old.metadata.key().to_string()),
            Seen::Change(_) => None,
        })
    });
    assert_eq!(gone.await.unwrap(), "b");
    maps.stop().await;
}

#[tokio::test(start_paused = true)]
async fn until_fails_on_timeout_on_exit_and_when_the_condition_does() {
    let maps = informer(&three_changes());
    let begun = Instant::now();
    let never = until(&maps, Some(7 * SECOND), |_| Ok::<Option<()>, Infallible>(None)).await;
    assert!(matches!(never, Err(WaitError::Timeout { after }) if after == 7 * SECOND));
    assert_eq!(begun.elapsed(), 7 * SECOND);

    let b = ObjectKey::cluster("b");
    let vain = until(&maps, None, |seen| match seen {
        Seen::State(all) if all.get(&b).is_none() => Err("b is gone"),
        _ => Ok(None::<()>),
    });
    assert!(matches!(vain.await, Err(WaitError::Condition("b is gone"))));

    maps.stop().await;
    let ended = until(&maps, None, |_| Ok::<Option<()>, Infallible>(None)).await;
    assert!(matches!(ended, Err(WaitError::InformerExited)));
    let never_ready = informer(&Script::new().then(Watch::new().stalls()));
    never_ready.stop().await;
    let ended = until(&never_ready, None, |_| Ok::<Option<()>, Infallible>(None)).await;
    assert!(matches!(ended, Err(WaitError::InformerExited)));
}

/// Returns all events of a watcher, and the error that ends it.
async fn watched(script: &Script, after: u64) -> Vec<String> {
    let mut watcher = RetryWatcher::new(script.clone(), after.into()).unwrap();
    let mut events = Vec::new();
    while let Some(event) = watcher.next().await {
        events.push(match event {
            Ok(event) => format!("{} {}", event.kind(), event.version()),
            Err(error) => error.to_string(),
        });
    }
    assert!(watcher.next().await.is_none());
    events
}

fn starts(script: &Script) -> Vec<String> {
    let requests = script.requests();
    requests.iter().map(|request| from(&request.to_string())).collect()
}

/// `watch ?watch=true&resourceVersion=10&allowWatchBookmarks=true` is `10`.
fn from(request: &str) -> String {
    assert!(
        request.contains("allowWatchBookmarks=true") && !request.contains("sendInitialEvents"),
        "{request}"
    );
    let (_, version) = request.split_once("resourceVersion=").unwrap();
    version.chars().take_while(char::is_ascii_digit).collect()
}

#[tokio::test(start_paused = true)]
async fn a_retry_watcher_resumes_from_the_last_version_until_it_expires() {
    let script = Script::new()
        .then(Watch::new().added(object("a", 12)).modified(object("a", 17))) // closed
        .watch_fails(WatchError::ConnectionRefused("nobody".into()))
        .then(Watch::new().bookmark(30).fails(WatchError::Interrupted("cut".into())))
        .then(Watch::new().deleted(object("a", 42)).fails(Status::internal_error("oh")))
        .watch_fails(Status::too_many_requests("busy", 5 * SECOND))
        .then(Watch::new().fails(Status::expired("too old")));
    let begun = Instant::now();
    assert_eq!(
        watched(&script, 10).await,
        ["ADDED 12", "MODIFIED 17", "DELETED 42", "resource version expired"]
    );
    assert_eq!(starts(&script), ["10", "17", "17", "30", "42", "42"]);
    // One second between watches, and five as requested by the server.
    assert_eq!(begun.elapsed(), 9 * SECOND);
    assert_eq!(script.open(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_retry_watcher_ends_with_errors_that_a_retry_cannot_fix() {
    let table: [(WatchError, &str); 4] = [
        (Status::forbidden(None, "", "no").into(), "watch rejected by the server"),
        (Status::unauthorized("who?").into(), "watch rejected by the server"),
        (Status::expired("too old").into(), "resource version expired"),
        (WatchError::Malformed("no JSON".into()), "invalid watch stream"),
    ];
    for (error, text) in table {
        assert_eq!(watched(&Script::new().watch_fails(error), 10).await, [text]);
    }
    let nameless = watchkeeper_core::Object {
        metadata: watchkeeper_core::ObjectMetaBuilder::default().name("a").finish(),
        encoded: watchkeeper_core::Encoded::json(*b"{}"),
    };
    let script = Script::new().then(Watch::new().added(nameless).stalls());
    assert_eq!(watched(&script, 10).await, ["invalid watch stream"]);
}

#[tokio::test(start_paused = true)]
async fn a_retry_watcher_is_cancel_safe() {
    let script = Script::new().then(
        Watch::new().wait(3 * SECOND).added(object("a", 12)).wait(3 * SECOND).added(object("b", 13)).stalls(),
    );
    let mut watcher = RetryWatcher::new(script.clone(), 10.into()).unwrap();
    let mut versions = Vec::new();
    for _ in 0..8 {
        if let Ok(Some(Ok(event))) = tokio::time::timeout(SECOND, watcher.next()).await {
            versions.push(event.version().to_string());
        }
    }
    assert_eq!((versions, watcher.version().clone()), (vec!["12".to_owned(), "13".to_owned()], 13.into()));
    drop(watcher);
    assert_eq!((script.requests().len(), script.open()), (1, 0));
    for version in ["", "0"] {
        let version = ResourceVersion::from(version);
        assert_eq!(RetryWatcher::new(script.clone(), version.clone()).unwrap_err(), NoVersion { version });
    }
}

#[tokio::test(start_paused = true)]
async fn a_retry_watcher_of_a_union_resumes_each_part_from_its_own_version() {
    let a =
        Script::new().then(Watch::new().added(object("a/x", 30)).wait(SECOND)).then(Watch::new().stalls());
    let b = Script::new()
        .then(Watch::new().wait(2 * SECOND).added(object("b/x", 12)).stalls())
        .then(Watch::new().added(object("b/x", 12)).stalls());
    let parts = [&a, &b].map(|part| Box::new(part.clone()) as Box<dyn ListWatch>);
    let mut watcher = RetryWatcher::new(Union::of(parts), 10.into()).unwrap();
    let mut names = Vec::new();
    for _ in 0..2 {
        names.push(watcher.next().await.unwrap().unwrap().version().to_string());
    }
    assert_eq!(names, ["30", "12"]);
    assert_eq!((starts(&a), starts(&b)), (vec!["10".to_owned(), "30".to_owned()], vec!["10".to_owned(); 2]));
}

#[tokio::test(start_paused = true)]
async fn a_retry_watcher_caps_retry_after_at_half_a_minute() {
    let forever = Duration::from_secs(99_999_999_999);
    let script = Script::new()
        .watch_fails(Status::too_many_requests("busy", forever))
        .then(Watch::new().fails(Status::expired("too old")));
    let begun = Instant::now();
    watched(&script, 10).await;
    assert_eq!((begun.elapsed(), script.requests().len()), (30 * SECOND, 2));
}
