//! Mapper: which resource is meant by a name, and which resource holds a kind.
//!
//! From: [`Discovered`](super::Discovered), by whatever [`Discovery`] there is.
//! To:   whoever takes names from users, or objects whose kind is not known beforehand.
//!
//! - M1: a name that is not known is looked for again in what the server says now, unless the server has
//!   said so within [`MISS_INTERVAL`]: so a kind that was defined meanwhile is found, and a name that nobody
//!   has does not make a request each time.

mod argument;
mod error;
mod near;
mod table;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use watchkeeper_core::{GroupKind, GroupResource, GroupVersionKind, GroupVersionResource};

use super::{Discovery, DiscoveryError};
use crate::rest::{WarnOnce, Warning, Warnings};

pub use argument::PartialResource;
pub use error::MapError;
pub use table::{Table, plural_of};

/// How old discovery must be for a name that is not known to be worth asking again (M1).
pub const MISS_INTERVAL: Duration = Duration::from_secs(10);

/// A resource, and what it holds.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Mapping {
    /// The resource: `apps/v1, Resource=deployments`.
    pub resource: GroupVersionResource,
    /// The kind of its objects: `apps/v1, Kind=Deployment`.
    pub kind: GroupVersionKind,
    /// What one of them is called: `deployment`.
    pub singular: String,
    /// Whether they are in namespaces.
    pub namespaced: bool,
}

/// Looks up names in what a server has. Nothing is asked for before the first lookup.
#[derive(Debug)]
pub struct RestMapper {
    source: Arc<dyn Discovery>,
    warnings: Arc<dyn Warnings>,
    state: Mutex<Option<Built>>,
    /// Held by the one who asks (D4). Taken before `state`.
    flight: tokio::sync::Mutex<()>,
}

#[derive(Debug, Clone)]
struct Built {
    table: Arc<Table>,
    read_at: Option<Instant>,
}

impl Built {
    /// Whether the server has said so just now.
    fn is_young(&self) -> bool {
        self.read_at.is_some_and(|read_at| read_at.elapsed() < MISS_INTERVAL)
    }
}

impl RestMapper {
    /// A mapper of what this source says, which is mostly a [cache](super::DiskCache).
    pub fn new(source: Arc<dyn Discovery>) -> Self {
        Self {
            source,
            warnings: Arc::new(WarnOnce::default()),
            state: Mutex::default(),
            flight: tokio::sync::Mutex::default(),
        }
    }

    /// Who hears of short names that several resources have. By default each text is logged once.
    #[must_use]
    pub fn warnings(mut self, warnings: Arc<dyn Warnings>) -> Self {
        self.warnings = warnings;
        self
    }

    /// What an argument of kubectl stands for: `po`, `Deployment`, `deployments.apps`, `deploy.v1.apps`.
    ///
    /// # Errors
    /// If it stands for nothing, or for several, or nothing could be found out.
    pub async fn argument(&self, argument: &str) -> Result<Mapping, MapError> {
        let found = self.look_up(|table| table.argument(argument)).await?;
        for reading in PartialResource::readings(argument) {
            self.warn_of(&reading, &found).await?;
        }
        Ok(found)
    }

    /// The resource that is called so, by its plural, singular or short name.
    ///
    /// # Errors
    /// As [`argument`](Self::argument).
    pub async fn resource(&self, partial: &PartialResource) -> Result<Mapping, MapError> {
        let found = self.look_up(|table| table.resource(partial)).await?;
        self.warn_of(partial, &found).await?;
        Ok(found)
    }

    /// The resource for a kind, in the first of these versions that has it; in any if there are none.
    ///
    /// # Errors
    /// As [`argument`](Self::argument).
    pub async fn kind(&self, kind: &GroupKind, versions: &[&str]) -> Result<Mapping, MapError> {
        self.look_up(|table| table.kind(kind, versions)).await
    }

    /// The resources of a category: `all`. There are none of a category that nobody has.
    ///
    /// # Errors
    /// If nothing could be found out.
    pub async fn category(&self, category: &str) -> Result<Vec<GroupResource>, MapError> {
        Ok(self.table().await?.category(category))
    }

    /// All names at once, as they are known now.
    ///
    /// # Errors
    /// If nothing could be found out.
    pub async fn table(&self) -> Result<Arc<Table>, MapError> {
        Ok(self.built().await?.table)
    }

    /// Forgets everything, and makes the source do so.
    pub fn reset(&self) {
        let dropped = self.state.lock().take();
        drop(dropped);
        self.source.invalidate();
    }

    async fn look_up(&self, find: impl Fn(&Table) -> Result<Mapping, MapError>) -> Result<Mapping, MapError> {
        let built = self.built().await?;
        match find(&built.table) {
            Err(error) if error.is_no_match() => {
                let now = self.again(&built).await?;
                if Arc::ptr_eq(&now.table, &built.table) { Err(error) } else { find(&now.table) }
            }
            answer => answer,
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

    /// Asks anew after a miss, if that is of use (M1).
    async fn again(&self, missed: &Built) -> Result<Built, DiscoveryError> {
        let _flight = self.flight.lock().await;
        let known = self.state.lock().clone();
        match known {
            Some(known) if !Arc::ptr_eq(&known.table, &missed.table) => return Ok(known), // asked meanwhile
            Some(known) if self.source.fresh() && known.is_young() => return Ok(known),
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

    /// Warns where a short name could have meant another resource.
    async fn warn_of(&self, partial: &PartialResource, found: &Mapping) -> Result<(), MapError> {
        let others = self.table().await?.expand(partial).others;
        for other in others.into_iter().filter(|other| *other != found.resource.group_resource()) {
            let name = &partial.resource;
            let text = format!("short name {name:?} could also match lower priority resource {other}");
            self.warnings.warn(&Warning { code: 299, agent: "-".to_owned(), text });
        }
        Ok(())
    }
}
