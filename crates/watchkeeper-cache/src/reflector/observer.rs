//! Observer: who hears what a reflector goes through.

use std::io;
use std::time::Duration;

use watchkeeper_core::{BoxError, ListError, Object, ObjectMeta, ResourceVersion, Status, WatchError};

use super::Relist;

/// Hears what a reflector goes through: its failures, to act on or to log, and its figures, to count.
///
/// Every method has a default: failures are logged, figures are not kept. `()` is an observer with all
/// defaults. Methods are called between two steps of the reflector and hold it up as long as they take.
pub trait Observer: Send {
    /// A list failed, or a watch could not be opened. This then happens next, `after` so long.
    ///
    /// Not called where a watch that was open ends, in whatever way: that is an everyday thing. By default it
    /// is [logged](Failure::log).
    fn failed(&mut self, reflector: &str, failure: &Failure, next: Next, after: Duration) {
        failure.log(reflector, next, after);
    }

    /// The collection is not there any more: it had been listed before, and the server now knows of no such
    /// resource. Called once, until it is there again. By default it is logged as a warning.
    fn gone(&mut self, reflector: &str, status: &Status) {
        tracing::warn!(reflector, error = %status, "the collection is gone");
    }

    /// An object was not accepted, and is left out. By default it is logged as an error.
    fn skipped(&mut self, reflector: &str, object: &Object, why: &BoxError) {
        let (key, version) = (object.metadata.key(), object.metadata.resource_version());
        tracing::error!(reflector, %key, %version, error = %why, "an object is not accepted");
    }

    /// An object cannot be [transformed](super::Reflector::transform): what the copy has of it stays, unless it
    /// is gone. By default it is logged as an error.
    fn transform_failed(&mut self, reflector: &str, object: &ObjectMeta, why: &BoxError) {
        let (key, version) = (object.key(), object.resource_version());
        tracing::error!(reflector, %key, %version, error = %why, "an object cannot be transformed");
    }

    /// Initial events do not come to their end: it is so long since they were asked for, and so long since the
    /// last one came, if any. Called every 10 s in which none came. By default it is logged as a warning.
    fn stalled(&mut self, reflector: &str, asked: Duration, last: Option<Duration>) {
        match last {
            None => tracing::warn!(reflector, ?asked, "no initial event has come"),
            Some(last) => {
                tracing::warn!(reflector, ?asked, ?last, "the end of the initial events is not coming");
            }
        }
    }

    /// The whole state is to be asked for again, for this reason.
    fn relists(&mut self, _why: Relist) {}

    /// The whole state is asked for, by a list or as initial events.
    fn list_begins(&mut self) {}

    /// The whole state has come, and has replaced what was there.
    fn list_ends(&mut self, _took: Duration, _items: u64) {}

    /// A watch has been opened, for initial events or without.
    fn watch_begins(&mut self) {}

    /// A watch has ended. It was short if it was over within a second and brought nothing.
    fn watch_ends(&mut self, _took: Duration, _events: u64, _short: bool) {}

    /// This version has been reached.
    fn version(&mut self, _version: &ResourceVersion) {}
}

impl Observer for () {}

/// What a reflector could not do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// List the collection.
    #[error("list failed")]
    List(#[source] ListError),
    /// Open a watch.
    #[error("watch failed")]
    Watch(#[source] WatchError),
}

/// What a reflector does after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Next {
    /// Opens the same watch again. Nothing is listed.
    Rewatch,
    /// Lists: initial events are not to be had this time.
    List,
    /// Begins anew, with the whole state.
    Relist,
}

impl Failure {
    /// What the server said, where it said something.
    pub fn status(&self) -> Option<&Status> {
        match self {
            Self::List(error) => error.status(),
            Self::Watch(error) => error.status(),
        }
    }

    /// Describes the failure in one line: the error, its causes, and the status code if the server answered.
    pub fn describe(&self) -> String {
        let mut text = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            text = format!("{text}: {error}");
            cause = error.source();
        }
        match self.status().map(|status| status.code) {
            Some(code) if code != 0 => format!("{text} ({code})"),
            _ => text,
        }
    }

    /// Logs by sort. What has expired, what is asked for again because the server is busy or away, and initial
    /// events that are not to be had are for debugging; so is an answer that broke off. The rest are errors.
    pub fn log(&self, reflector: &str, next: Next, after: Duration) {
        let error: &dyn std::error::Error = match self {
            Self::List(error) => error,
            Self::Watch(error) => error,
        };
        let cause = error.source().map(tracing::field::display);
        match self.is_everyday(next) {
            true => tracing::debug!(reflector, %error, cause, ?next, ?after, "{self}"),
            false => tracing::error!(reflector, %error, cause, ?next, ?after, "{self}"),
        }
    }

    fn is_everyday(&self, next: Next) -> bool {
        match self {
            Self::List(ListError::Expired(_)) | Self::Watch(WatchError::Expired(_)) => true,
            Self::Watch(WatchError::TooManyRequests(_) | WatchError::ConnectionRefused(_)) => true,
            _ if next == Next::List => true,
            Self::List(ListError::Interrupted(cause)) | Self::Watch(WatchError::Interrupted(cause)) => {
                broke_off(&**cause)
            }
            _ => false,
        }
    }
}

/// Whether the cause of it all is that the other side has closed the connection.
fn broke_off(cause: &(dyn std::error::Error + 'static)) -> bool {
    let is_end = |error: &io::Error| error.kind() == io::ErrorKind::UnexpectedEof;
    let mut causes = std::iter::successors(Some(cause), |error| (*error).source());
    causes.any(|error| error.downcast_ref::<io::Error>().is_some_and(is_end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_needs_somebody_is_an_error_in_the_log() {
        let eof = || Box::new(io::Error::from(io::ErrorKind::UnexpectedEof)) as BoxError;
        let expired = || Status::expired("too old");
        let busy = || Status::too_many_requests("busy", Duration::from_secs(1));
        let forbidden = || Status::forbidden(None, "", "no");
        let everyday = [
            (Failure::List(expired().into()), Next::Relist),
            (Failure::Watch(expired().into()), Next::Relist),
            (Failure::Watch(busy().into()), Next::Rewatch),
            (Failure::Watch(WatchError::ConnectionRefused("nobody".into())), Next::Rewatch),
            (Failure::Watch(forbidden().into()), Next::List),
            (Failure::List(ListError::Interrupted(eof())), Next::Relist),
        ];
        for (failure, next) in everyday {
            assert!(failure.is_everyday(next), "{failure:?}");
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
            assert!(!failure.is_everyday(Next::Relist), "{failure:?}");
        }
    }
}
