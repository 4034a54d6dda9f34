//! Exit: why a reflector ends, and its behaviour when the collection is removed.

use watchkeeper_core::Status;

/// The behaviour when a collection is removed from the server, as with a deleted custom resource definition: it was
/// listed before, and a list now returns 404.
///
/// In both cases [`Observer::gone`](super::Observer::gone) is called and [`Progress`](super::Progress) reports
/// [`Phase::Gone`](super::Phase::Gone). The copy is kept: only its owner knows whether the objects are obsolete or the
/// server is being replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum OnGone {
    /// Retries with backoff, and without further reports until the collection is back.
    #[default]
    Retry,
    /// Exits with [`ExitReason::Gone`].
    Exit,
}

/// The result of [`Reflector::run`](super::Reflector::run).
#[derive(Debug)]
#[non_exhaustive]
pub struct Exited<S> {
    /// The sink, for use by another reflector.
    pub sink: S,
    /// The reason.
    pub reason: ExitReason,
}

/// Why a reflector or informer exited.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExitReason {
    /// It was stopped.
    Stopped,
    /// The collection was removed from the server, which returned this status: see [`OnGone`].
    Gone(Box<Status>),
    /// User code, such as its observer, panicked.
    Panicked,
}

impl std::fmt::Display for ExitReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Stopped => f.write_str("stopped"),
            Self::Gone(status) => write!(f, "collection removed: {status}"),
            Self::Panicked => f.write_str("panicked"),
        }
    }
}
