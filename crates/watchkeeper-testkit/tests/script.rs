//! A script, through its public API.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::time::Duration;

use futures_util::{FutureExt as _, StreamExt as _};
use tokio::time::Instant;
use watchkeeper_core::{
    ListError, ListPart, ListRequest, ListWatch as _, Status, WatchEvent, WatchFrom, WatchRequest,
};
use watchkeeper_testkit::script::{List, Script, Watch, object};

fn watching() -> WatchRequest {
    WatchRequest::new(WatchFrom::After(1.into()))
}

#[tokio::test(start_paused = true)]
async fn a_list_yields_its_items_and_its_end_on_time() {
    let page = List::at(10).wait(Duration::from_secs(3)).item(object("default/a", 7));
    let script = Script::new().then(page.continues("p2").remaining(4)).then(List::at(10).breaks_off());
    let begun = Instant::now();
    let parts: Vec<_> = script.list(ListRequest::default()).map(Result::unwrap).collect().await;
    assert_eq!(begun.elapsed(), Duration::from_secs(3));
    let [ListPart::Item(item), ListPart::End(end)] = &parts[..] else { panic!("{parts:?}") };
    assert_eq!(
        (item.metadata.key().to_string(), item.metadata.resource_version()),
        ("default/a".to_owned(), &7.into())
    );
    assert_eq!(
        (end.resource_version.clone(), end.continue_token.as_deref(), end.remaining_item_count),
        (10.into(), Some("p2"), Some(4))
    );
    assert_eq!(script.list(ListRequest::default()).count().await, 0);
}

#[tokio::test(start_paused = true)]
async fn an_error_ends_a_stream() {
    let broken = List::at(10).fails(Status::expired("too old")).item(object("a", 1));
    let script = Script::new().then(broken).then(Watch::new().fails(Status::expired("x")).bookmark(3));
    let parts: Vec<_> = script.list(ListRequest::default()).collect().await;
    assert!(matches!(&parts[..], [Err(ListError::Expired(_))]), "{parts:?}");
    assert_eq!(script.watch(watching()).await.unwrap().count().await, 1);
}

#[tokio::test(start_paused = true)]
async fn a_request_of_another_kind_than_its_response_is_recorded_and_never_completes() {
    let script = Script::new().then(List::at(10));
    assert!(script.watch(watching()).now_or_never().is_none());
    assert_eq!(script.requests().len(), 1);
    script.played().await;
}

#[tokio::test(start_paused = true)]
async fn a_script_is_played_when_its_last_response_stalls_or_a_request_has_none() {
    let script = Script::new().then(Watch::new().bookmark(2).stalls());
    assert!(script.played().now_or_never().is_none());
    let mut watch = script.watch(watching()).await.unwrap();
    assert!(matches!(watch.next().await, Some(Ok(WatchEvent::Bookmark(_)))));
    assert!(script.played().now_or_never().is_none());
    assert!(watch.next().now_or_never().is_none());
    script.played().await;

    let empty = Script::new();
    let _list = empty.list(ListRequest::default());
    empty.played().await;
}

#[tokio::test(start_paused = true)]
async fn requests_are_open_until_they_end_or_are_dropped() {
    let script = Script::new().then(List::at(10)).then(Watch::new().stalls());
    let mut list = script.list(ListRequest::default());
    let watch = script.watch(watching());
    assert_eq!(script.open(), 2);
    while list.next().await.is_some() {}
    drop(watch);
    assert_eq!(script.open(), 0);
    let beyond = script.watch(watching());
    assert_eq!(script.open(), 1);
    drop(beyond);
    assert_eq!(script.open(), 0);
}
