//! Readiness errors: the informers that have not stored their first list, and why.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use watchkeeper_core::Collection;

use super::Informer;
use crate::reflector::{ExitReason, Failure};

/// The error of [`InformerFactory::wait_until_ready`](super::InformerFactory::wait_until_ready).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum NotReady {
    /// The factory has no informers: request a lister, a handler, a subscription or an informer before `start`.
    NoInformers,
    /// Some informers were not ready within the timeout. They keep trying.
    Pending {
        /// These informers, and why.
        informers: Vec<UnreadyInformer>,
        /// The timeout.
        after: Duration,
    },
}

/// An informer that has not stored its first list.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct UnreadyInformer {
    /// The collection that it lists and watches.
    pub collection: Collection,
    /// Why it is not ready.
    pub cause: UnreadyCause,
}

/// Why an informer is not ready.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum UnreadyCause {
    /// It was requested after the factory's last `start`: call `start` again.
    NotStarted,
    /// Its last request failed, and is being retried.
    Failed(Arc<Failure>),
    /// The server has not completed its response yet.
    NoAnswer,
    /// It has exited.
    Exited(ExitReason),
}

impl NotReady {
    /// Returns the collections that are not ready.
    pub fn collections(&self) -> Vec<&Collection> {
        match self {
            Self::NoInformers => Vec::new(),
            Self::Pending { informers, .. } => informers.iter().map(|it| &it.collection).collect(),
        }
    }
}

impl UnreadyInformer {
    /// Returns `None` if the informer is ready.
    pub(super) fn from_informer((collection, informer): (Collection, Informer)) -> Option<Self> {
        Some(Self { collection, cause: informer.unready()? })
    }
}

impl fmt::Display for NotReady {
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

impl fmt::Display for UnreadyInformer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.collection, self.cause)
    }
}

impl fmt::Display for UnreadyCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotStarted => f.write_str("not started; call start again after requesting it"),
            Self::Failed(failure) => f.write_str(&failure.describe()),
            Self::NoAnswer => f.write_str("waiting for the server's response"),
            Self::Exited(reason) => write!(f, "informer exited: {reason}"),
        }
    }
}

impl Error for NotReady {
    /// Returns the first failure of a request.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        let Self::Pending { informers, .. } = self else { return None };
        informers.iter().find_map(|it| match &it.cause {
            UnreadyCause::Failed(failure) => Some(&**failure as &(dyn Error + 'static)),
            _ => None,
        })
    }
}
