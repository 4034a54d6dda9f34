//! Observer: callbacks for a reflector's failures and requests.

use std::io;
use std::time::Duration;

use watchkeeper_core::{
    BoxError, ErrorChain, ListError, Object, ObjectMeta, ResourceVersion, Status, WatchError,
};

use super::Relist;

/// Callbacks for a reflector's failures, to log or act on, and for its requests, to count; a generalisation of client-go's
/// `WatchErrorHandler`.
///
/// Every method has a default: failures are logged, the rest is ignored. `()` is an observer with all defaults. Methods
/// run on the reflector's task and delay it for as long as they take.
pub trait Observer: Send {
    /// Called when a list fails or a watch cannot be opened. The reflector does `next` after `after`.
    ///
    /// Not called when an open watch ends, which is normal. By default the failure is [logged](Failure::log).
    fn failed(&mut self, reflector: &str, failure: &Failure, next: Next, after: Duration) {
        failure.log(reflector, next, after);
    }

    /// Called once when the collection has been removed: it was listed before, and the server now returns 404. Called
    /// again only after it was back. By default logged as a warning.
    fn gone(&mut self, reflector: &str, status: &Status) {
        tracing::warn!(reflector, error = %status, "collection removed from the server");
    }

    /// Called when an object fails the reflector's [filter](super::Reflector::filter), and is ignored. By default logged as an error.
    fn skipped(&mut self, reflector: &str, object: &Object, reason: &BoxError) {
        let (key, version) = (object.metadata.key(), object.metadata.resource_version());
        tracing::error!(reflector, %key, %version, error = %reason, "object rejected; ignoring it");
    }

    /// Called when a [transform](super::Reflector::transform) fails. The copy keeps the object's previous state, unless
    /// the object was deleted. By default logged as an error.
    fn transform_failed(&mut self, reflector: &str, object: &ObjectMeta, reason: &BoxError) {
        let (key, version) = (object.key(), object.resource_version());
        tracing::error!(reflector, %key, %version, error = %reason, "transform failed; keeping the previous state");
    }

    /// Called every 10 s while initial events are awaited and none arrives. `asked` is the time since the request,
    /// `last` the time since the last event, if any. By default logged as a warning.
    fn stalled(&mut self, reflector: &str, asked: Duration, last: Option<Duration>) {
        match last {
            None => tracing::warn!(reflector, ?asked, "still waiting for the first initial event"),
            Some(last) => {
                tracing::warn!(reflector, ?asked, ?last, "still waiting for the end of the initial events");
            }
        }
    }

    /// Called before a relist, with its reason.
    fn relists(&mut self, _why: Relist) {}

    /// Called when the whole state is requested, as a list or as initial events.
    fn list_begins(&mut self) {}

    /// Called when the whole state has been received and committed.
    fn list_ends(&mut self, _took: Duration, _items: u64) {}

    /// Called when a watch has been opened, with or without initial events.
    fn watch_begins(&mut self) {}

    /// Called when a watch has ended. It is short if it ended within a second without an event.
    fn watch_ends(&mut self, _took: Duration, _events: u64, _short: bool) {}

    /// Called when a resource version has been reached.
    fn version(&mut self, _version: &ResourceVersion) {}
}

impl Observer for () {}

/// A failed request of a reflector. The request is retried.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// A list failed.
    #[error("list failed")]
    List(#[source] ListError),
    /// A watch failed.
    #[error("watch failed")]
    Watch(#[source] WatchError),
}

/// The step that a reflector takes after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Next {
    /// Reopens the watch, without a list.
    Rewatch,
    /// Falls back from initial events to a list.
    List,
    /// Starts over with the whole state.
    Relist,
}

impl Failure {
    /// Returns the server's status, if it returned one.
    pub fn status(&self) -> Option<&Status> {
        match self {
            Self::List(error) => error.status(),
            Self::Watch(error) => error.status(),
        }
    }

    /// Returns the error, its causes, and the server's status code if there is one, in one line.
    pub fn describe(&self) -> String {
        let text = ErrorChain(self).to_string();
        match self.status().map(|status| status.code) {
            Some(code) if code != 0 => format!("{text} ({code})"),
            _ => text,
        }
    }

    /// Logs the failure. Failures that are part of normal operation are logged at debug level: an expired version, a
    /// watch of a busy or unreachable server, missing support for initial events, and a connection closed by the peer.
    /// Others are logged as errors.
    pub fn log(&self, reflector: &str, next: Next, after: Duration) {
        let error: &(dyn std::error::Error + 'static) = match self {
            Self::List(error) => error,
            Self::Watch(error) => error,
        };
        let error = ErrorChain(error);
        if self.is_routine(next) {
            tracing::debug!(reflector, %error, ?next, ?after, "{self}");
        } else {
            tracing::error!(reflector, %error, ?next, ?after, "{self}");
        }
    }

    fn is_routine(&self, next: Next) -> bool {
        match self {
            Self::List(ListError::Expired(_)) | Self::Watch(WatchError::Expired(_)) => true,
            Self::Watch(WatchError::TooManyRequests(_) | WatchError::ConnectionRefused(_)) => true,
            _ if next == Next::List => true,
            Self::List(ListError::Interrupted(cause)) | Self::Watch(WatchError::Interrupted(cause)) => {
                is_closed_by_peer(&**cause)
            }
            _ => false,
        }
    }
}

/// Returns whether the root cause is a connection closed by the peer.
fn is_closed_by_peer(cause: &(dyn std::error::Error + 'static)) -> bool {
    let is_end = |error: &io::Error| error.kind() == io::ErrorKind::UnexpectedEof;
    let mut causes = std::iter::successors(Some(cause), |error| (*error).source());
    causes.any(|error| error.downcast_ref::<io::Error>().is_some_and(is_end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_failures_that_need_attention_are_logged_as_errors() {
        let eof = || Box::new(io::Error::from(io::ErrorKind::UnexpectedEof)) as BoxError;
        let expired = || Status::expired("too old");
        let busy = || Status::too_many_requests("busy", Duration::from_secs(1));
        let forbidden = || Status::forbidden(None, "", "no");
        let routine = [
            (Failure::List(expired().into()), Next::Relist),
            (Failure::Watch(expired().into()), Next::Relist),
            (Failure::Watch(busy().into()), Next::Rewatch),
            (Failure::Watch(WatchError::ConnectionRefused("nobody".into())), Next::Rewatch),
            (Failure::Watch(forbidden().into()), Next::List),
            (Failure::List(ListError::Interrupted(eof())), Next::Relist),
        ];
        for (failure, next) in routine {
            assert!(failure.is_routine(next), "{failure:?}");
        }
        let errors = [
            Failure::List(forbidden().into()),
            Failure::List(busy().into()),
            Failure::Watch(forbidden().into()),
            Failure::List(ListError::ConnectionRefused("nobody".into())),
            Failure::List(ListError::Interrupted("no such host".into())),
            Failure::List(ListError::Malformed("a table".into())),
        ];
        for failure in errors {
            assert!(!failure.is_routine(Next::Relist), "{failure:?}");
        }
    }
}
