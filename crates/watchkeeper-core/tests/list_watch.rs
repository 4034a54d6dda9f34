//! `ListWatch`: classification of statuses, and use as a trait object.

use std::error::Error;

use futures_util::{FutureExt, StreamExt, future, stream};
use watchkeeper_core::{
    Bookmark, ListError, ListMeta, ListPart, ListRequest, ListStream, ListWatch, Status, StatusReason,
    WatchError, WatchEvent, WatchFrom, WatchFuture, WatchRequest,
};

fn status(reason: &str, code: i32) -> Status {
    Status { reason: reason.into(), code, message: "message of the server".into(), ..Status::default() }
}

fn too_large() -> Status {
    Status::too_large_resource_version(&20.into(), &10.into(), std::time::Duration::from_secs(1))
}

#[test]
fn a_list_error_is_classified_by_the_next_step() {
    let classify = |status: Status| match ListError::from(status) {
        ListError::Expired(_) => "most recent",
        ListError::TooLarge(_) => "most recent, too large",
        ListError::TooManyRequests(_) => "wait",
        ListError::Rejected(_) => "refused",
        other => panic!("{other:?} does not come from a status"),
    };
    assert_eq!(classify(status("Expired", 410)), "most recent");
    assert_eq!(classify(status("Gone", 410)), "most recent");
    assert_eq!(classify(status("", 410)), "most recent");
    assert_eq!(classify(too_large()), "most recent, too large");
    assert_eq!(classify(status("Timeout", 504)), "refused");
    assert_eq!(classify(status("", 429)), "wait");
    assert_eq!(classify(status("InternalError", 500)), "refused");
    assert_eq!(classify(status("Forbidden", 403)), "refused");
    assert_eq!(classify(Status::default()), "refused");
}

#[test]
fn a_watch_error_is_classified_by_the_next_step() {
    let classify = |status: Status| match WatchError::from(status) {
        WatchError::Expired(_) => "list",
        WatchError::TooLarge(_) => "most recent",
        WatchError::TooManyRequests(_) => "wait",
        WatchError::Internal(_) => "retry for a limited time",
        WatchError::Rejected(_) => "refused",
        other => panic!("{other:?} does not come from a status"),
    };
    assert_eq!(classify(status("Expired", 410)), "list");
    assert_eq!(classify(status("", 410)), "list");
    assert_eq!(classify(too_large()), "most recent");
    assert_eq!(classify(status("TooManyRequests", 429)), "wait");
    assert_eq!(classify(status("InternalError", 500)), "retry for a limited time");
    assert_eq!(classify(status("", 500)), "retry for a limited time");
    assert_eq!(classify(status("StorageReadError", 500)), "refused");
    assert_eq!(classify(status("Invalid", 422)), "refused");
}

#[test]
fn the_server_message_is_the_source_of_an_error() {
    let error = WatchError::from(status("Expired", 410));
    assert_eq!(error.to_string(), "resource version expired");
    assert_eq!(error.source().unwrap().to_string(), "message of the server");
    assert_eq!(error.status().unwrap().reason, StatusReason::Expired);

    let error = ListError::Interrupted("connection reset".into());
    assert_eq!(error.source().unwrap().to_string(), "connection reset");
    assert_eq!(error.status(), None);
}

/// Rejects lists, and accepts a watch that then fails.
struct FailingSource;

impl ListWatch for FailingSource {
    fn list(&self, _: ListRequest) -> ListStream {
        Box::pin(stream::iter([Err(status("Forbidden", 403).into())]))
    }

    fn watch(&self, request: WatchRequest) -> WatchFuture {
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
fn a_rejected_watch_differs_from_one_that_fails_later() {
    let source: &dyn ListWatch = &FailingSource;
    assert!(!source.sends_initial_events());

    let refused = source.watch(WatchRequest::new(WatchFrom::InitialEvents { not_older_than: None }));
    assert!(matches!(refused.now_or_never().unwrap(), Err(WatchError::Rejected(_))));

    let accepted = source.watch(WatchRequest::new(WatchFrom::After(7.into())));
    let events: Vec<_> = accepted.now_or_never().unwrap().unwrap().collect().now_or_never().unwrap();
    assert!(matches!(&events[..], [Ok(event), Err(WatchError::Expired(_))] if *event.version() == 7.into()));
}

#[test]
fn sources_support_initial_events_by_default() {
    struct Empty;
    impl ListWatch for Empty {
        fn list(&self, _: ListRequest) -> ListStream {
            let end = ListMeta::new(1.into());
            Box::pin(stream::iter([Ok(ListPart::End(end))]))
        }
        fn watch(&self, _: WatchRequest) -> WatchFuture {
            Box::pin(future::ok(stream::empty().boxed()))
        }
    }
    assert!(Empty.sends_initial_events());
}
