//! Unions: several collections as one source.

use std::time::Duration;

use futures_util::future::join_all;
use watchkeeper_cache::reflector::{ExitReason, OnGone};
use watchkeeper_cache::{Informer, Reflector};
use watchkeeper_core::{GroupResource, ListWatch, Status, Union};
use watchkeeper_testkit::script::{List, Script, Watch, object};
use watchkeeper_wire::Kind;

use crate::story::{Observations, Recorder, RecordingObserver, asked};

/// The outcome of two scripts.
struct Both {
    a: Vec<String>,
    b: Vec<String>,
    writes: Vec<String>,
    observed: Observations,
    reason: ExitReason,
}

fn union(a: &Script, b: &Script) -> Union {
    Union::of([a, b].map(|part| Box::new(part.clone()) as Box<dyn ListWatch>))
}

/// Runs a reflector against the union of two scripts until both end.
async fn both(a: Script, b: Script) -> Both {
    let (copy, observed) = (Recorder::default(), RecordingObserver::default());
    let reflector = Reflector::new(union(&a, &b), copy.clone()).observer(observed.clone()).seed(1);
    let played = join_all([a.played(), b.played()]);
    let ended = reflector.on_gone(OnGone::Exit).run(async { drop(played.await) });
    let ended = tokio::time::timeout(Duration::from_secs(600), ended).await.expect("both are played");
    assert_eq!((a.open(), b.open()), (0, 0), "what was asked for is not left behind");
    let asked = |script: &Script| script.requests().iter().map(asked).collect();
    Both { a: asked(&a), b: asked(&b), writes: copy.notes(), observed: observed.now(), reason: ended.reason }
}

#[tokio::test(start_paused = true)]
async fn the_initial_events_of_a_union_end_with_those_of_all_parts() {
    let wait = Duration::from_secs(2);
    let a = Script::new().then(
        Watch::new().added(object("a/x", 8)).initial_events_end(20).modified(object("a/x", 30)).stalls(),
    );
    let b = Script::new().then(
        Watch::new()
            .added(object("b/x", 5))
            .wait(wait)
            .initial_events_end(10)
            .wait(wait)
            .added(object("b/y", 12))
            .wait(wait)
            .bookmark(50)
            .wait(wait),
    );
    let a = a.then(Watch::new().stalls());
    let b = b.then(Watch::new().stalls());
    let both = both(a, b).await;
    assert_eq!(
        both.writes,
        ["commit @10: a/x@30 b/x@5", "put b/y@12", "bookmark @12", "bookmark @30"],
        "what changed meanwhile is staged, and the version is the lowest of both"
    );
    assert_eq!(both.a, ["stream", "watch rv=30"]);
    assert_eq!(both.b, ["stream", "watch rv=50"], "not from that of the other");
    assert_eq!(both.observed.versions, ["10", "12", "30"]);
}

#[tokio::test(start_paused = true)]
async fn an_expired_part_relists_the_whole_union() {
    let first = |key: &str, version| Watch::new().added(object(key, version)).initial_events_end(version + 1);
    let a = Script::new()
        .then(first("a/x", 20).wait(Duration::from_secs(5)).fails(Status::expired("too old")))
        .then(first("a/y", 60).stalls());
    let b = Script::new().then(first("b/x", 40).stalls()).then(first("b/x", 40).stalls());
    let both = both(a, b).await;
    assert_eq!(both.writes, ["commit @21: a/x@20 b/x@40", "commit @41: a/y@60 b/x@40"]);
    assert_eq!(both.a, ["stream", "stream rv=21"]);
    assert_eq!(both.b, ["stream", "stream rv=41"]);
}

#[tokio::test(start_paused = true)]
async fn a_union_is_listed_part_by_part_at_the_lowest_version() {
    let a = Script::new()
        .without_initial_events()
        .then(List::at(30).item(object("a/x", 8)).continues("more"))
        .then(List::at(30).item(object("a/y", 9)))
        .then(Watch::new().stalls());
    let b = Script::new()
        .without_initial_events()
        .then(List::at(20).item(object("b/x", 5)))
        .then(Watch::new().stalls());
    let both = both(a, b).await;
    assert_eq!(both.writes, ["commit @20: a/x@8 a/y@9 b/x@5"]);
    assert_eq!(both.a, ["list rv=0 limit=500", "list continue=more limit=500", "watch rv=30"]);
    assert_eq!(both.b, ["list rv=0 limit=500", "watch rv=20"]);
}

#[tokio::test(start_paused = true)]
async fn an_expired_page_relists_the_whole_union_without_paging() {
    let a = Script::new()
        .without_initial_events()
        .then(List::at(30).item(object("a/gone", 8)).continues("more"))
        .list_fails(Status::expired("the page is too old"))
        .then(List::at(40).item(object("a/y", 9)))
        .then(Watch::new().stalls());
    let b = Script::new()
        .without_initial_events()
        .then(List::at(41).item(object("b/x", 5)))
        .then(Watch::new().stalls());
    let both = both(a, b).await;
    assert_eq!(both.writes, ["commit @40: a/y@9 b/x@5"], "nothing of the first attempt is left");
    assert_eq!(both.a, ["list rv=0 limit=500", "list continue=more limit=500", "list", "watch rv=40"]);
    assert_eq!(both.b, ["list", "watch rv=41"]);
}

#[tokio::test(start_paused = true)]
async fn a_forbidden_part_blocks_the_union_until_it_is_allowed() {
    let pods = GroupResource { group: String::new(), resource: "pods".into() };
    let no = || Status::forbidden(Some(&pods), "", "not in b");
    let there = |key: &str, version| Watch::new().added(object(key, version)).initial_events_end(version);
    let a = Script::new()
        .then(there("a/x", 8).stalls()) // dropped when the other part is refused
        .then(List::at(9).item(object("a/x", 8)))
        .then(there("a/x", 8).stalls());
    let b = Script::new().watch_fails(no()).list_fails(no()).then(there("b/x", 12).stalls());
    let both = both(a, b).await;
    assert_eq!(both.writes, ["commit @8: a/x@8 b/x@12"], "nothing before");
    let refused = ["watch: watch rejected by the server: List", "list: list rejected by the server: Relist"];
    assert_eq!(both.observed.failures, refused);
    assert_eq!(both.reason, ExitReason::Stopped);
}

#[tokio::test(start_paused = true)]
async fn a_removed_part_is_removed_for_the_whole_union() {
    let widgets = GroupResource { group: "example.com".into(), resource: "widgets".into() };
    let gone = || Status::not_found(&widgets, "");
    let there = || Watch::new().initial_events_end(8).wait(Duration::from_secs(2));
    let a = Script::new().then(there()).watch_fails(gone()).watch_fails(gone()).list_fails(gone());
    let b = Script::new().then(there().stalls()).then(there().stalls()).then(there().stalls());
    let both = both(a, b).await;
    assert_eq!(both.reason, ExitReason::Gone(Box::new(gone())));
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_version_waits_for_all_parts() {
    let wait = Duration::from_secs(60);
    let a = Script::new().then(Watch::new().initial_events_end(8).added(object("a/x", 30)).stalls());
    let b = Script::new().then(Watch::new().initial_events_end(9).wait(wait).bookmark(31).stalls());
    let informer = Informer::new(Kind::new("", "v1", "ConfigMap"), union(&a, &b));
    informer.start();
    assert!(informer.wait_until_ready().await);
    let begun = tokio::time::Instant::now();
    informer.store().wait_for(&30.into()).await;
    assert_eq!(begun.elapsed(), wait, "until then b may have had something of before");
    let now = informer.store().snapshot();
    assert_eq!((now.len(), now.version()), (1, &30.into()));
    informer.stop().await;
    assert_eq!((a.open(), b.open()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn an_event_that_fails_to_transform_does_not_advance_the_union() {
    let a = Script::new()
        .without_initial_events()
        .then(List::at(20).item(object("a/x", 8)))
        .then(Watch::new().modified(object("a/x", 30)).deleted(object("a/x", 31)).stalls());
    let b = Script::new().without_initial_events().then(List::at(10)).then(Watch::new().stalls());
    let maps = Informer::builder(Kind::new("", "v1", "ConfigMap"), union(&a, &b))
        .configure(|reflector| {
            reflector.transform(|object| match object.metadata.resource_version().as_u64() {
                Some(30..) => Err("it is bad".into()),
                _ => Ok(()),
            })
        })
        .build();
    maps.start();
    join_all([a.played(), b.played()]).await;
    assert_eq!((maps.store().snapshot().len(), maps.store().snapshot().version()), (0, &10.into()));
    maps.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_endless_part_fails_the_list_of_the_union() {
    let page = || List::at(30).item(object("a/x", 8)).continues("more");
    let a = Script::new()
        .without_initial_events()
        .then(page())
        .then(page())
        .then(List::at(40).item(object("a/y", 9)))
        .then(Watch::new().stalls());
    let b = Script::new().without_initial_events().then(List::at(41)).then(Watch::new().stalls());
    let both = both(a, b).await;
    assert_eq!(both.writes, ["commit @40: a/y@9"]);
    assert_eq!(both.a[..3], ["list rv=0 limit=500", "list continue=more limit=500", "list rv=0 limit=500"]);
    assert_eq!(both.observed.failures, ["list: invalid list response: Relist"]);
}
