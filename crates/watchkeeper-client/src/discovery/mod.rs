//! Discovery: the groups, versions and resources of a server, and their names.
//!
//! Input: a [`RestClient`](crate::RestClient), or caches of earlier responses.
//! Output: callers that accept resource names from users, or serve kinds unknown at compile time.
//!
//! | to | use |
//! |---|---|
//! | request discovery from the server | [`DiscoveryClient`] |
//! | request it once per process | [`MemoryCache`] |
//! | share results with earlier processes and kubectl | [`DiskCache`], [`HttpCache`] |
//! | resolve names to resources | [`RestMapper`] |
//!
//! Invariants:
//! - `discovery.D1`: a server with aggregated discovery receives two requests; any other one request per group
//!   version, a few at a time.
//! - `discovery.D2`: a failing group version is reported in [`Discovered::failures`] and does not hide the others.
//! - `discovery.D3`: failures are never cached as successes: transient ones are retried, others are returned again
//!   until [`invalidate`](Discovery::invalidate).
//! - `discovery.D4`: concurrent callers of a cache share one round of requests.

mod aggregated;
mod client;
mod directories;
mod disk;
mod error;
mod files;
mod format;
mod found;
mod http_cache;
mod legacy;
mod mapper;
mod memory;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use watchkeeper_core::GroupVersion;

pub use client::{DiscoveryClient, ServerVersion, TIMEOUT};
pub use directories::{CacheDirectories, host_directory};
pub use disk::{DiskCache, KUBECTL_TTL};
pub use error::{DiscoveryError, PartialDiscovery};
pub use found::{ApiGroup, ApiResource, ApiSubresource, ApiVersion, Discovered};
pub use http_cache::HttpCache;
pub use mapper::{MISS_INTERVAL, MapError, Mapping, PartialResource, RestMapper, Table, guess_plural};
pub use memory::MemoryCache;

/// The future returned by the methods of [`Discovery`].
pub type DiscoveryFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, DiscoveryError>> + Send + 'a>>;

/// A source of discovery: the server, or a cache.
pub trait Discovery: fmt::Debug + Send + Sync {
    /// Returns all groups, versions and resources. A dropped future leaves no partial result behind.
    ///
    /// Fails only if nothing is known; a partial result is not an error (`discovery.D2`).
    fn discover(&self) -> DiscoveryFuture<'_, Arc<Discovered>>;

    /// Returns the resources of one group version.
    fn resources<'a>(&'a self, of: &'a GroupVersion) -> DiscoveryFuture<'a, ApiVersion>;

    /// Returns whether retrying would be useless: nothing here predates the last
    /// [`invalidate`](Self::invalidate) or comes from another process.
    fn fresh(&self) -> bool {
        true
    }

    /// Discards cached results, so that the server is asked again.
    fn invalidate(&self) {}
}
