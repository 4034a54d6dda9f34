//! Readiness errors: the informers that have not stored their first list, and why.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use watchkeeper_core::Collection;

use super::Informer;
use crate::reflector::{ExitReason, Failure};

/// The error of [`InformerFactory::synced`](super::InformerFactory::synced).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum NotSynced {
    /// The factory has no informers: request a lister, a handler, a subscription or an informer before `start`.
    NoInformers,
    /// Some informers were not ready within the timeout. They keep trying.
    Pending {
        /// These informers, and why.
        informers: Vec<Unsynced>,
        /// The timeout.
        after: Duration,
    },
}

/// An informer that has not stored its first list.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Unsynced {
    /// The collection that it lists and watches.
    pub collection: Collection,
    /// Why it is not ready.
    pub cause: UnsyncedCause,
}

/// Why an informer is not ready.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum UnsyncedCause {
    /// It was requested after the factory's last `start`: call `start` again.
    NotStarted,
    /// Its last request failed, and is being retried.
    Failed(Arc<Failure>),
    /// The server has not completed its response yet.
    NoAnswer,
    /// It has exited.
    Exited(ExitReason),
}

impl NotSynced {
    /// Returns the collections that are not ready.
    pub fn collections(&self) -> Vec<&Collection> {
        match self {
            Self::NoInformers => Vec::new(),
            Self::Pending { informers, .. } => informers.iter().map(|it| &it.collection).collect(),
        }
    }
}

impl Unsynced {
    /// Returns `None` if the informer is ready.
    pub(super) fn from_informer((collection, informer): (Collection, Informer)) -> Option<Self> {
        Some(Self { collection, cause: informer.unsynced()? })
    }
}

impl fmt::Display for NotSynced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoInformers => f.write_str(
                "the factory has no informers: request a lister, a handler or an informer before start",
            ),
            Self::Pending { informers, after } => {
                write!(f, "informers not ready after {after:?}: ")?;
                for (position, informer) in informers.iter().enumerate() {
                    write!(f, "{}{informer}", if position > 0 { "; " } else { "" })?;
                }
                Ok(())
            }
        }
    }
}

impl fmt::Display for Unsynced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.collection, self.cause)
    }
}

impl fmt::Display for UnsyncedCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotStarted => f.write_str("not started; call start again after requesting it"),
            Self::Failed(failure) => f.write_str(&failure.describe()),
            Self::NoAnswer => f.write_str("waiting for the server's response"),
            Self::Exited(reason) => write!(f, "informer exited: {reason}"),
        }
    }
}

impl Error for NotSynced {
    /// Returns the first failure of a request.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        let Self::Pending { informers, .. } = self else { return None };
        informers.iter().find_map(|it| match &it.cause {
            UnsyncedCause::Failed(failure) => Some(&**failure as &(dyn Error + 'static)),
            _ => None,
        })
    }
}
