//! Mapper: resolves names and kinds to resources. (client-go: `meta.RESTMapper`.)
//!
//! Input: [`Discovered`](super::Discovered), from any [`Discovery`].
//! Output: callers that accept names from users, or objects of kinds unknown at compile time.
//!
//! Invariants:
//! - `mapper.M1`: a miss causes a new discovery unless the last one is younger than [`MISS_INTERVAL`]: a kind defined
//!   since is found, and an unknown name does not cause a request each time.

mod argument;
mod error;
mod suggest;
mod table;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use watchkeeper_core::{GroupKind, GroupResource, GroupVersionKind, GroupVersionResource};

use super::{Discovery, DiscoveryError};
use crate::rest::{WarnOnce, Warning, WarningHandler};

pub use argument::PartialResource;
pub use error::MapError;
pub use table::{Table, guess_plural};

/// Minimum age of the last discovery for a miss to cause another one (`mapper.M1`).
pub const MISS_INTERVAL: Duration = Duration::from_secs(10);

/// A resource and the kind of its objects. (client-go: `meta.RESTMapping`.)
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Mapping {
    /// The resource: `apps/v1, Resource=deployments`.
    pub resource: GroupVersionResource,
    /// The kind of its objects: `apps/v1, Kind=Deployment`.
    pub kind: GroupVersionKind,
    /// The singular name: `deployment`.
    pub singular: String,
    /// Whether the objects are namespaced.
    pub namespaced: bool,
}

/// A mapper of names and kinds to resources. Nothing is requested before the first lookup.
#[derive(Debug)]
pub struct RestMapper {
    source: Arc<dyn Discovery>,
    warnings: Arc<dyn WarningHandler>,
    state: Mutex<Option<Built>>,
    /// Held while discovering (`discovery.D4`). Taken before `state`.
    flight: tokio::sync::Mutex<()>,
}

#[derive(Debug, Clone)]
struct Built {
    table: Arc<Table>,
    read_at: Option<Instant>,
}

impl Built {
    /// Returns whether the discovery is younger than [`MISS_INTERVAL`].
    fn is_recent(&self) -> bool {
        self.read_at.is_some_and(|read_at| read_at.elapsed() < MISS_INTERVAL)
    }
}

impl RestMapper {
    /// Creates a mapper over a source, usually a [cache](super::DiskCache).
    pub fn new(source: Arc<dyn Discovery>) -> Self {
        Self {
            source,
            warnings: Arc::new(WarnOnce::default()),
            state: Mutex::default(),
            flight: tokio::sync::Mutex::default(),
        }
    }

    /// Sets the handler for warnings about ambiguous short names. By default each text is logged once.
    #[must_use]
    pub fn warnings(mut self, warnings: Arc<dyn WarningHandler>) -> Self {
        self.warnings = warnings;
        self
    }

    /// Resolves a kubectl argument: `po`, `Deployment`, `deployments.apps`, `deploy.v1.apps`.
    ///
    /// # Errors
    /// If nothing or more than one resource matches, or discovery fails.
    pub async fn argument(&self, argument: &str) -> Result<Mapping, MapError> {
        let found = self.look_up(|table| table.argument(argument)).await?;
        for reading in PartialResource::readings(argument) {
            self.warn_ambiguous(&reading, &found).await?;
        }
        Ok(found)
    }

    /// Resolves a plural, singular or short name.
    ///
    /// # Errors
    /// As [`argument`](Self::argument).
    pub async fn resource(&self, partial: &PartialResource) -> Result<Mapping, MapError> {
        let found = self.look_up(|table| table.resource(partial)).await?;
        self.warn_ambiguous(partial, &found).await?;
        Ok(found)
    }

    /// Returns the resource of a kind, in the first of these versions that has it, or in any if `versions` is empty.
    ///
    /// # Errors
    /// As [`argument`](Self::argument).
    pub async fn kind(&self, kind: &GroupKind, versions: &[&str]) -> Result<Mapping, MapError> {
        self.look_up(|table| table.kind(kind, versions)).await
    }

    /// Returns the resources of a category such as `all`; empty for an unknown category.
    ///
    /// # Errors
    /// If discovery fails.
    pub async fn category(&self, category: &str) -> Result<Vec<GroupResource>, MapError> {
        Ok(self.table().await?.category(category))
    }

    /// Returns the current lookup table.
    ///
    /// # Errors
    /// If discovery fails.
    pub async fn table(&self) -> Result<Arc<Table>, MapError> {
        Ok(self.built().await?.table)
    }

    /// Discards the lookup table and invalidates the source.
    pub fn reset(&self) {
        let dropped = self.state.lock().take();
        drop(dropped);
        self.source.invalidate();
    }

    async fn look_up(&self, find: impl Fn(&Table) -> Result<Mapping, MapError>) -> Result<Mapping, MapError> {
        let built = self.built().await?;
        match find(&built.table) {
            Err(error) if error.is_no_match() => {
                let now = self.rebuild(&built).await?;
                if Arc::ptr_eq(&now.table, &built.table) { Err(error) } else { find(&now.table) }
            }
            result => result,
        }
    }

    async fn built(&self) -> Result<Built, DiscoveryError> {
        if let Some(built) = self.state.lock().clone() {
            return Ok(built);
        }
        let _flight = self.flight.lock().await;
        if let Some(built) = self.state.lock().clone() {
            return Ok(built);
        }
        self.build().await
    }

    /// Discovers again after a miss, unless the last discovery is recent (`mapper.M1`).
    async fn rebuild(&self, missed: &Built) -> Result<Built, DiscoveryError> {
        let _flight = self.flight.lock().await;
        let known = self.state.lock().clone();
        match known {
            Some(known) if !Arc::ptr_eq(&known.table, &missed.table) => return Ok(known), // rebuilt meanwhile
            Some(known) if self.source.fresh() && known.is_recent() => return Ok(known),
            _ => {}
        }
        self.source.invalidate();
        self.build().await
    }

    async fn build(&self) -> Result<Built, DiscoveryError> {
        let found = self.source.discover().await?;
        let built = Built { table: Arc::new(Table::new(&found)), read_at: found.read_at };
        *self.state.lock() = Some(built.clone());
        Ok(built)
    }

    /// Warns if a short name also matches other resources.
    async fn warn_ambiguous(&self, partial: &PartialResource, found: &Mapping) -> Result<(), MapError> {
        let others = self.table().await?.expand(partial).others;
        for other in others.into_iter().filter(|other| *other != found.resource.group_resource()) {
            let name = &partial.resource;
            let text = format!("short name {name:?} could also match lower priority resource {other}");
            self.warnings.warn(&Warning { code: 299, agent: "-".to_owned(), text });
        }
        Ok(())
    }
}
