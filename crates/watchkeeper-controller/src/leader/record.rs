//! Records: what is written on a lease.

use std::future::Future;
use std::time::Duration;

use watchkeeper_core::{ResourceVersion, Timestamp};

use crate::events::Reference;

/// Who leads, as the lease has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Who; empty if nobody does.
    pub holder: String,
    /// For how long after its last change nobody else may take it.
    pub lasts: Duration,
    /// Since when, by the clock of the holder.
    pub acquired: Option<Timestamp>,
    /// When it was renewed last, by the clock of the holder.
    pub renewed: Option<Timestamp>,
    /// How often it has changed hands: the token.
    pub transitions: u32,
}

/// A record, and which version of it this is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// What it says.
    pub record: Record,
    /// What has to be said to replace it.
    pub version: ResourceVersion,
}

/// Why a lease could not be read or written. In any case it is tried again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LeaseError {
    /// Somebody else was faster.
    #[error("the lease has changed meanwhile")]
    Conflict,
    /// There was no answer, or a bad one: it may have been written or not.
    #[error("the lease cannot be reached")]
    Failed(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// A lease that all who want to lead can read and write.
///
/// `create` and `replace` are atomic: of two with the same version, one is a [conflict](LeaseError::Conflict).
pub trait LeaseStore: Send + Sync + 'static {
    /// Which object it is, if it is one.
    fn reference(&self) -> Option<Reference> {
        None
    }

    /// What it says now; `None` if there is none.
    fn read(&self) -> impl Future<Output = Result<Option<Held>, LeaseError>> + Send;

    /// Makes it.
    fn create(&self, record: &Record) -> impl Future<Output = Result<Held, LeaseError>> + Send;

    /// Replaces this version of it.
    fn replace(
        &self,
        version: &ResourceVersion,
        record: &Record,
    ) -> impl Future<Output = Result<Held, LeaseError>> + Send;
}
