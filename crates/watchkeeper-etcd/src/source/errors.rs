//! Errors of etcd's as the reflector knows them.

use std::time::Duration;

use watchkeeper_core::{ListError, ResourceVersion, Status, WatchError};

use crate::Error;

/// When to ask an etcd again that has too much to do.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Why a list failed.
pub(super) fn of_list(error: Error) -> ListError {
    match sort(error) {
        Sorted::Said(status) => status.into(),
        Sorted::Away(error) => ListError::ConnectionRefused(error.into()),
        Sorted::Broke(error) => ListError::Interrupted(error.into()),
        Sorted::Malformed(error) => ListError::Malformed(error.into()),
    }
}

/// Why a watch could not be opened. An etcd that is away has not forgotten anything.
pub(super) fn of_opening(error: Error) -> WatchError {
    match sort(error) {
        Sorted::Said(status) => status.into(),
        Sorted::Away(error) | Sorted::Broke(error) => WatchError::ConnectionRefused(error.into()),
        Sorted::Malformed(error) => WatchError::Malformed(error.into()),
    }
}

/// Why a watch ended.
pub(super) fn of_watch(error: Error) -> WatchError {
    match sort(error) {
        Sorted::Said(status) => status.into(),
        Sorted::Away(error) | Sorted::Broke(error) => WatchError::Interrupted(error.into()),
        Sorted::Malformed(error) => WatchError::Malformed(error.into()),
    }
}

/// etcd has not got as far as that.
pub(super) fn too_large(asked: &ResourceVersion, current: &ResourceVersion) -> Status {
    Status::too_large_resource_version(asked, current, RETRY_AFTER)
}

enum Sorted {
    Said(Status),
    Away(Error),
    Broke(Error),
    Malformed(Error),
}

fn sort(error: Error) -> Sorted {
    match error {
        Error::Unreachable(_) => Sorted::Away(error),
        Error::Unavailable { .. } => Sorted::Broke(error),
        Error::Malformed(_) | Error::TooLong { .. } | Error::NotEtcd(_) => Sorted::Malformed(error),
        Error::Compacted { first } => Sorted::Said(Status::expired(match first {
            Some(first) => format!("the revision has been compacted: etcd knows those from {first} on"),
            None => error.to_string(),
        })),
        Error::FutureRevision => Sorted::Said(too_large(&"".into(), &"".into())),
        Error::Busy { message } => Sorted::Said(Status::too_many_requests(message, RETRY_AFTER)),
        Error::Unauthenticated { message } => Sorted::Said(Status::unauthorized(message)),
        Error::Denied { message } => Sorted::Said(Status::forbidden(None, "", message)),
        Error::LeaseNotFound | Error::Refused { .. } => Sorted::Said(Status::internal_error(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_error_is_one_that_the_reflector_answers_rightly() {
        let compacted = || Error::Compacted { first: Some(7) };
        assert!(matches!(of_list(compacted()), ListError::Expired(_)));
        assert!(matches!(of_opening(compacted()), WatchError::Expired(_)));
        assert!(matches!(of_watch(compacted()), WatchError::Expired(_)));
        assert!(matches!(of_list(Error::FutureRevision), ListError::TooLarge(_)));
        let broke = || Error::unavailable("it broke");
        assert!(matches!(of_list(broke()), ListError::Interrupted(_)));
        assert!(matches!(of_opening(broke()), WatchError::ConnectionRefused(_)));
        assert!(matches!(of_watch(broke()), WatchError::Interrupted(_)));
        assert!(matches!(of_list(Error::Unreachable("nobody".into())), ListError::ConnectionRefused(_)));
        let busy = Error::Busy { message: "busy".into() };
        assert!(matches!(of_list(busy), ListError::TooManyRequests(_)));
        let denied = || Error::Denied { message: "no".into() };
        assert!(matches!(of_list(denied()), ListError::Rejected(status) if status.is_forbidden()));
        assert!(matches!(of_opening(denied()), WatchError::Rejected(_)));
        assert!(matches!(of_list(Error::TooLong { length: 2, limit: 1 }), ListError::Malformed(_)));
    }
}
