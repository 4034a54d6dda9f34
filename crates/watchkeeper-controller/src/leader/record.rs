//! Record: the content of a lease.

use std::future::Future;
use std::time::Duration;

use watchkeeper_core::{ResourceVersion, Timestamp};

use crate::events::Reference;

/// The election record, client-go's `LeaderElectionRecord`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Identity of the leader; empty if the lease was released.
    pub holder: String,
    /// Time after its last change during which no other process may take the lease.
    pub lasts: Duration,
    /// When the leader acquired the lease, by its own clock.
    pub acquired: Option<Timestamp>,
    /// When the leader last renewed the lease, by its own clock.
    pub renewed: Option<Timestamp>,
    /// Number of times the lease has changed hands, which is the fencing token.
    pub transitions: u32,
}

/// A record together with its version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The record.
    pub record: Record,
    /// The version to pass to [`LeaseStore::replace`].
    pub version: ResourceVersion,
}

/// Why a lease could not be read or written. The elector always retries.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LeaseError {
    /// Another process wrote first.
    #[error("lease was modified concurrently")]
    Conflict,
    /// No response, or an error response: the write may or may not have happened.
    #[error("failed to read or write the lease")]
    Failed(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// A lease that all candidates can read and write.
///
/// `create` and `replace` are atomic: of two calls with the same version, one fails with
/// [`LeaseError::Conflict`].
pub trait LeaseStore: Send + Sync + 'static {
    /// Returns a reference to the underlying object, if there is one.
    fn reference(&self) -> Option<Reference> {
        None
    }

    /// Returns the current record, or `None` if the lease does not exist.
    fn read(&self) -> impl Future<Output = Result<Option<Held>, LeaseError>> + Send;

    /// Creates the lease.
    fn create(&self, record: &Record) -> impl Future<Output = Result<Held, LeaseError>> + Send;

    /// Replaces the record if `version` is still current.
    fn replace(
        &self,
        version: &ResourceVersion,
        record: &Record,
    ) -> impl Future<Output = Result<Held, LeaseError>> + Send;
}
