//! Maps etcd's errors to those of the reflector.

use std::time::Duration;

use watchkeeper_core::{ListError, ResourceVersion, Status, WatchError};

use crate::Error;

/// Delay after which an overloaded etcd is asked again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Maps an error of a list.
pub(super) fn list_error(error: Error) -> ListError {
    match classify(error) {
        Class::Status(status) => status.into(),
        Class::Unreachable(error) => ListError::ConnectionRefused(error.into()),
        Class::Interrupted(error) => ListError::Interrupted(error.into()),
        Class::Malformed(error) => ListError::Malformed(error.into()),
    }
}

/// Maps an error of opening a watch: if etcd is unavailable, the watch can be retried from the same version.
pub(super) fn open_error(error: Error) -> WatchError {
    match classify(error) {
        Class::Status(status) => status.into(),
        Class::Unreachable(error) | Class::Interrupted(error) => WatchError::ConnectionRefused(error.into()),
        Class::Malformed(error) => WatchError::Malformed(error.into()),
    }
}

/// Maps an error of a running watch.
pub(super) fn watch_error(error: Error) -> WatchError {
    match classify(error) {
        Class::Status(status) => status.into(),
        Class::Unreachable(error) | Class::Interrupted(error) => WatchError::Interrupted(error.into()),
        Class::Malformed(error) => WatchError::Malformed(error.into()),
    }
}

/// Returns the status for a version that etcd has not reached.
pub(super) fn too_large(asked: &ResourceVersion, current: &ResourceVersion) -> Status {
    Status::too_large_resource_version(asked, current, RETRY_AFTER)
}

enum Class {
    Status(Status),
    Unreachable(Error),
    Interrupted(Error),
    Malformed(Error),
}

fn classify(error: Error) -> Class {
    match error {
        Error::Unreachable(_) => Class::Unreachable(error),
        Error::Unavailable { .. } => Class::Interrupted(error),
        Error::Malformed(_) | Error::TooLong { .. } | Error::NotEtcd(_) => Class::Malformed(error),
        Error::Compacted { first } => Class::Status(Status::expired(match first {
            Some(first) => {
                format!("the revision has been compacted; the first available revision is {first}")
            }
            None => error.to_string(),
        })),
        Error::FutureRevision => Class::Status(too_large(&"".into(), &"".into())),
        Error::Busy { message } => Class::Status(Status::too_many_requests(message, RETRY_AFTER)),
        Error::Unauthenticated { message } => Class::Status(Status::unauthorized(message)),
        Error::PermissionDenied { message } => Class::Status(Status::forbidden(None, "", message)),
        Error::LeaseNotFound | Error::Rpc { .. } => Class::Status(Status::internal_error(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_map_to_those_that_the_reflector_handles() {
        let compacted = || Error::Compacted { first: Some(7) };
        assert!(matches!(list_error(compacted()), ListError::Expired(_)));
        assert!(matches!(open_error(compacted()), WatchError::Expired(_)));
        assert!(matches!(watch_error(compacted()), WatchError::Expired(_)));
        assert!(matches!(list_error(Error::FutureRevision), ListError::TooLarge(_)));
        let broke = || Error::unavailable("connection reset");
        assert!(matches!(list_error(broke()), ListError::Interrupted(_)));
        assert!(matches!(open_error(broke()), WatchError::ConnectionRefused(_)));
        assert!(matches!(watch_error(broke()), WatchError::Interrupted(_)));
        assert!(matches!(list_error(Error::Unreachable("nobody".into())), ListError::ConnectionRefused(_)));
        let busy = Error::Busy { message: "busy".into() };
        assert!(matches!(list_error(busy), ListError::TooManyRequests(_)));
        let denied = || Error::PermissionDenied { message: "no".into() };
        assert!(matches!(list_error(denied()), ListError::Rejected(status) if status.is_forbidden()));
        assert!(matches!(open_error(denied()), WatchError::Rejected(_)));
        assert!(matches!(list_error(Error::TooLong { length: 2, limit: 1 }), ListError::Malformed(_)));
    }
}
