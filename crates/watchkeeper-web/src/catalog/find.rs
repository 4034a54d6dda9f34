//! Lookup of resources by name.

use std::sync::Arc;

use tokio::time::Instant;
use watchkeeper_client::discovery::{MISS_INTERVAL, Mapping, PartialResource, Table};

use super::watched::Entry;
use super::{Catalog, CatalogError, Inner};

/// Maximum number of suggestions.
const NEAR: usize = 4;

impl Catalog {
    /// Finds a resource by its exact names; the group is empty for core. Cached resources are found without a request.
    ///
    /// # Errors
    /// If the server does not have the resource, it cannot be listed and watched, or discovery fails.
    pub async fn find(
        &self,
        group: &str,
        version: &str,
        resource: &str,
    ) -> Result<Arc<Mapping>, CatalogError> {
        if let Some(known) = self.inner.known(group, version, resource) {
            return Ok(known);
        }
        if self.inner.remove_ended(group, version, resource) {
            self.inner.mapper.reset(); // the discovery result is out of date
        }
        self.look_up(group, version, resource).await
    }

    /// Finds a resource through discovery, cached or not.
    pub(super) async fn look_up(
        &self,
        group: &str,
        version: &str,
        resource: &str,
    ) -> Result<Arc<Mapping>, CatalogError> {
        let asked = PartialResource {
            group: group.to_owned(),
            version: version.to_owned(),
            resource: resource.to_owned(),
        };
        let mut table = self.inner.mapper.table().await?;
        let mut found = exact(&table, &asked);
        if found.is_none() && self.inner.may_rediscover() {
            self.inner.mapper.reset();
            table = self.inner.mapper.table().await?;
            found = exact(&table, &asked);
        }
        let Some(found) = found else {
            let asked_path = path(&asked.resource, &asked.group, &asked.version);
            return Err(CatalogError::Unknown { asked: asked_path, near: near(&table, &asked) });
        };
        let served = self.inner.discovery.known();
        let can = |verb: &str| {
            let of = served.as_ref().and_then(|served| served.resource(&found.resource));
            of.is_none_or(|resource| resource.can(verb))
        };
        if can("list") && can("watch") {
            Ok(Arc::new(found))
        } else {
            Err(CatalogError::Unlistable { resource: path_of(&found) })
        }
    }
}

impl Inner {
    fn known(&self, group: &str, version: &str, resource: &str) -> Option<Arc<Mapping>> {
        let entries = self.entries.read();
        let found = entries.iter().find(|entry| entry.is_of(group, version, resource));
        found.filter(|entry| !entry.informer.has_exited()).map(|entry| entry.mapping.clone())
    }

    /// Removes the on-demand informer of a resource if it has ended by itself. Returns whether it did.
    fn remove_ended(&self, group: &str, version: &str, resource: &str) -> bool {
        let is_gone = |entry: &Entry| {
            !entry.is_permanent && entry.is_of(group, version, resource) && entry.informer.has_exited()
        };
        let mut entries = self.entries.write();
        let before = entries.len();
        entries.retain(|entry| !is_gone(entry));
        entries.len() < before
    }

    /// Returns whether discovery may be repeated now; at most once per interval.
    pub(super) fn may_rediscover(&self) -> bool {
        let mut last = self.rediscovered.lock();
        let is_due = last.is_none_or(|last| last.elapsed() >= MISS_INTERVAL);
        if is_due {
            *last = Some(Instant::now());
        }
        is_due
    }
}

fn exact(table: &Table, asked: &PartialResource) -> Option<Mapping> {
    let is_it = |found: &Mapping| {
        let of = &found.resource;
        of.resource == asked.resource && of.group == asked.group && of.version == asked.version
    };
    table.candidates(asked).into_iter().find(is_it)
}

/// Returns the same name in other groups and versions, and similar names.
fn near(table: &Table, asked: &PartialResource) -> Vec<String> {
    let named = |name: &str| table.candidates(&PartialResource::named(name));
    let mut near: Vec<String> = named(&asked.resource).iter().map(path_of).collect();
    for name in table.suggest(&asked.resource) {
        near.extend(named(&name).first().map(path_of));
    }
    let mut seen = std::collections::HashSet::new();
    near.retain(|path| seen.insert(path.clone()));
    near.truncate(NEAR);
    near
}

/// Formats a resource as in request paths: `pods/core/v1`.
pub(crate) fn path_of(mapping: &Mapping) -> String {
    let of = &mapping.resource;
    path(&of.resource, &of.group, &of.version)
}

fn path(resource: &str, group: &str, version: &str) -> String {
    format!("{resource}/{}/{version}", if group.is_empty() { "core" } else { group })
}
