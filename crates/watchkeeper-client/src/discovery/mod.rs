//! Discovery: which groups, versions and resources a server has, and what they are called.
//!
//! From: a [`RestClient`](crate::RestClient), or the caches of earlier answers.
//! To:   whoever takes names from users, or serves kinds that are not known beforehand.
//!
//! | to | there is |
//! |---|---|
//! | ask the server | [`DiscoveryClient`] |
//! | ask it once in a process | [`MemoryCache`] |
//! | use what earlier processes, or kubectl, have asked | [`DiskCache`], [`HttpCache`] |
//! | know what a name stands for | [`RestMapper`] |
//!
//! - D1: two requests are enough for a server that has aggregated discovery; any other is asked for each
//!   group version, for a few at a time.
//! - D2: what could not be found out is said ([`Discovered::failures`]), and the rest is there all the same.
//! - D3: failures are never cached as success: those that may pass are asked for again, the others are said
//!   again, until [`invalidate`](Discovery::invalidate).
//! - D4: however many ask a cache at once, the server is asked once.

mod aggregated;
mod client;
mod directories;
mod disk;
mod error;
mod files;
mod found;
mod http_cache;
mod legacy;
mod mapper;
mod memory;
mod written;

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
pub use mapper::{MISS_INTERVAL, MapError, Mapping, PartialResource, RestMapper, Table, plural_of};
pub use memory::MemoryCache;

/// What is awaited.
pub type Awaited<'a, T> = Pin<Box<dyn Future<Output = Result<T, DiscoveryError>> + Send + 'a>>;

/// Knows what a server has: the server itself, or a cache.
pub trait Discovery: fmt::Debug + Send + Sync {
    /// All groups, versions and resources. Dropped half-way, nothing of it is kept.
    ///
    /// An error means that nothing is known; what is only partly known is no error (D2).
    fn discover(&self) -> Awaited<'_, Arc<Discovered>>;

    /// The resources of one group version.
    fn resources<'a>(&'a self, of: &'a GroupVersion) -> Awaited<'a, ApiVersion>;

    /// Whether asking again would be of no use: nothing here is from before the last
    /// [`invalidate`](Self::invalidate), or from another process.
    fn fresh(&self) -> bool {
        true
    }

    /// From now on the server is asked for what was known until now.
    fn invalidate(&self) {}
}
