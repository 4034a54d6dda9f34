//! Not synced: which informers have no first list, and why.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use watchkeeper_core::Collection;

use super::Informer;
use crate::reflector::{Failure, Why};

/// Why [`InformerFactory::synced`](super::InformerFactory::synced) gave up.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum NotSynced {
    /// The factory has no informers: request a lister, a handler, a subscription or an informer before `start`.
    NoInformers,
    /// Some informers have no first list yet.
    Pending {
        /// These informers, and why.
        informers: Vec<Unsynced>,
        /// How long the caller waited.
        after: Duration,
    },
}

/// An informer without its first list.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Unsynced {
    /// The collection that it lists and watches.
    pub collection: Collection,
    /// Why it has no list yet.
    pub cause: UnsyncedCause,
}

/// Why an informer has no first list.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum UnsyncedCause {
    /// It was requested after the last `start` of the factory: call `start` again.
    NotStarted,
    /// Its last request failed, and is tried again.
    Failed(Arc<Failure>),
    /// The server has not answered yet, or not completely.
    NoAnswer,
    /// It has ended.
    Ended(Why),
}

impl NotSynced {
    /// The collections without a first list.
    pub fn collections(&self) -> Vec<&Collection> {
        match self {
            Self::NoInformers => Vec::new(),
            Self::Pending { informers, .. } => informers.iter().map(|it| &it.collection).collect(),
        }
    }
}

impl Unsynced {
    /// `None` if the informer is synced.
    pub(super) fn of((collection, informer): (Collection, Informer)) -> Option<Self> {
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
                write!(f, "not synced after {after:?}: ")?;
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
            Self::NoAnswer => f.write_str("the server has not answered completely"),
            Self::Ended(why) => write!(f, "the informer has ended: {why}"),
        }
    }
}

impl Error for NotSynced {
    /// The first failure of a request.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        let Self::Pending { informers, .. } = self else { return None };
        informers.iter().find_map(|it| match &it.cause {
            UnsyncedCause::Failed(failure) => Some(&**failure as &(dyn Error + 'static)),
            _ => None,
        })
    }
}
