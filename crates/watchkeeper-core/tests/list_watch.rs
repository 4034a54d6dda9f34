//! The seam: how statuses are sorted, and that it can be used as a trait object.

use std::error::Error;

use futures_util::{FutureExt, StreamExt, future, stream};
use watchkeeper_core::{
    Bookmark, ListEnd, ListError, ListPart, ListRequest, ListStream, ListWatch, Status, StatusReason,
    WatchError, WatchEvent, WatchFrom, WatchOpening, WatchRequest,
};

fn status(reason: &str, code: i32) -> Status {
    Status { reason: reason.into(), code, message: "said the server".into(), ..Status::default() }
}

fn too_large() -> Status {
    Status::too_large_resource_version(&20.into(), &10.into(), std::time::Duration::from_secs(1))
}

#[test]
fn a_status_is_sorted_by_what_a_lister_does_next() {
    let sorted = |status: Status| match ListError::from(status) {
        ListError::Expired(_) => "most recent",
        ListError::TooLarge(_) => "most recent, too large",
        ListError::TooManyRequests(_) => "wait",
        ListError::Refused(_) => "refused",
        other => panic!("{other:?} is not made of a status"),
    };
    assert_eq!(sorted(status("Expired", 410)), "most recent");
    assert_eq!(sorted(status("Gone", 410)), "most recent");
    assert_eq!(sorted(status("", 410)), "most recent");
    assert_eq!(sorted(too_large()), "most recent, too large");
    assert_eq!(sorted(status("Timeout", 504)), "refused");
    assert_eq!(sorted(status("", 429)), "wait");
    assert_eq!(sorted(status("InternalError", 500)), "refused");
    assert_eq!(sorted(status("Forbidden", 403)), "refused");
    assert_eq!(sorted(Status::default()), "refused");
}

#[test]
fn a_status_is_sorted_by_what_a_watcher_does_next() {
    let sorted = |status: Status| match WatchError::from(status) {
        WatchError::Expired(_) => "list",
        WatchError::TooLarge(_) => "most recent",
        WatchError::TooManyRequests(_) => "wait",
        WatchError::Internal(_) => "retry while patience lasts",
        WatchError::Refused(_) => "refused",
        other => panic!("{other:?} is not made of a status"),
    };
    assert_eq!(sorted(status("Expired", 410)), "list");
    assert_eq!(sorted(status("", 410)), "list");
    assert_eq!(sorted(too_large()), "most recent");
    assert_eq!(sorted(status("TooManyRequests", 429)), "wait");
    assert_eq!(sorted(status("InternalError", 500)), "retry while patience lasts");
    assert_eq!(sorted(status("", 500)), "retry while patience lasts");
    assert_eq!(sorted(status("StorageReadError", 500)), "refused");
    assert_eq!(sorted(status("Invalid", 422)), "refused");
}

#[test]
fn an_error_leaves_the_words_of_the_server_to_its_source() {
    let error = WatchError::from(status("Expired", 410));
    assert_eq!(error.to_string(), "the version has left the server's history");
    assert_eq!(error.source().unwrap().to_string(), "said the server");
    assert_eq!(error.status().unwrap().reason, StatusReason::Expired);

    let error = ListError::Interrupted("connection reset".into());
    assert_eq!(error.source().unwrap().to_string(), "connection reset");
    assert_eq!(error.status(), None);
}

/// Refuses to list, and accepts a watch that then fails.
struct Sulking;

impl ListWatch for Sulking {
    fn list(&self, _: ListRequest) -> ListStream {
        Box::pin(stream::iter([Err(status("Forbidden", 403).into())]))
    }

    fn watch(&self, request: WatchRequest) -> WatchOpening {
        let WatchFrom::After(version) = request.from else {
            return Box::pin(future::err(status("Invalid", 422).into()));
        };
        let bookmark = WatchEvent::Bookmark(Bookmark { version, initial_events_end: false });
        let events = [Ok(bookmark), Err(status("Expired", 410).into())];
        Box::pin(future::ok(stream::iter(events).boxed()))
    }

    fn sends_initial_events(&self) -> bool {
        false
    }
}

#[test]
fn a_watch_that_is_refused_differs_from_one_that_fails_later() {
    let source: &dyn ListWatch = &Sulking;
    assert!(!source.sends_initial_events());

    let refused = source.watch(WatchRequest::new(WatchFrom::InitialEvents { not_older_than: None }));
    assert!(matches!(refused.now_or_never().unwrap(), Err(WatchError::Refused(_))));

    let accepted = source.watch(WatchRequest::new(WatchFrom::After(7.into())));
    let events: Vec<_> = accepted.now_or_never().unwrap().unwrap().collect().now_or_never().unwrap();
    assert!(matches!(&events[..], [Ok(event), Err(WatchError::Expired(_))] if *event.version() == 7.into()));
}

#[test]
fn a_producer_understands_initial_events_unless_it_says_otherwise() {
    struct Empty;
    impl ListWatch for Empty {
        fn list(&self, _: ListRequest) -> ListStream {
            let end = ListEnd { version: 1.into(), continue_token: None, remaining: None };
            Box::pin(stream::iter([Ok(ListPart::End(end))]))
        }
        fn watch(&self, _: WatchRequest) -> WatchOpening {
            Box::pin(future::ok(stream::empty().boxed()))
        }
    }
    assert!(Empty.sends_initial_events());
}
