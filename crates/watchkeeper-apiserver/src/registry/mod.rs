//! Registry: the resources of a server, as data.
//!
//! Input: `tables/resources.txt`, generated from the discovery of kube-apiserver, and `tables/fields.txt`, written by
//! hand. Custom resources are added by [`Registry::add`]; a running server swaps its registry ([`SharedRegistry`]).
//! Output: routing, [`discovery`](crate::discovery) and [`print`](crate::print), which are generic over these rows; and
//! the code about a kind, which its row holds ([`Rules`]).
//!
//! Invariants:
//! - `registry.R1`: group, version and resource identify a row.
//! - `registry.R2`: rows are in the order of kube-apiserver: the rows of a group version are adjacent, and the preferred
//!   version of a group comes first.

mod fields;
mod resource;
mod shared;
mod table;
mod verb;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use watchkeeper_core::GroupVersion;

pub use crate::rules::Rules;
pub use fields::{FieldFormat, Fields, Refusal, SelectableField, UnsupportedField};
pub use resource::{Resource, Scope, Subresource, Text};
pub use shared::SharedRegistry;
pub use verb::{Verb, Verbs};

/// All resources of a server.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    /// See `registry.R2`.
    rows: Vec<Arc<Resource>>,
    /// `registry.R1`: by group, version and resource.
    index: HashMap<Text, HashMap<Text, HashMap<Text, usize>>>,
}

/// Returns the built-in resources of Kubernetes.
///
/// ```
/// use watchkeeper_apiserver::registry;
///
/// let deployments = registry::builtin().get("apps", "v1", "deployments").unwrap();
/// assert_eq!(deployments.kind, "Deployment");
/// assert_eq!(deployments.short_names, ["deploy"]);
/// ```
pub fn builtin() -> &'static Registry {
    static BUILTIN: LazyLock<Registry> = LazyLock::new(|| {
        let rows = table::read(include_str!("../../tables/resources.txt"))
            .unwrap_or_else(|error| panic!("invalid tables/resources.txt: {error}"));
        let mut fields = fields::read(include_str!("../../tables/fields.txt"))
            .unwrap_or_else(|error| panic!("invalid tables/fields.txt: {error}"));
        let mut registry = Registry::default();
        for mut row in rows {
            let key = (row.group.clone(), row.version.clone(), row.name.clone());
            row.fields = fields.remove(&key).unwrap_or_default();
            registry
                .add(row)
                .unwrap_or_else(|error| panic!("invalid tables/resources.txt: {error} (registry.R1)"));
        }
        assert!(fields.is_empty(), "the committed table of fields names unknown resources: {fields:?}");
        registry
    });
    &BUILTIN
}

/// A resource cannot be added because its name is taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("resource {resource} already exists in {group_version}")]
pub struct AlreadyRegistered {
    /// The group and version.
    pub group_version: GroupVersion,
    /// Its plural name.
    pub resource: String,
}

impl Registry {
    /// Adds a resource, after those of its group version.
    ///
    /// # Errors
    /// If its name is taken (`registry.R1`).
    pub fn add(&mut self, resource: impl Into<Arc<Resource>>) -> Result<(), AlreadyRegistered> {
        let resource = resource.into();
        if self.get(&resource.group, &resource.version, &resource.name).is_some() {
            return Err(AlreadyRegistered {
                group_version: resource.group_version(),
                resource: resource.name.to_string(),
            });
        }
        let last_of = |same: &dyn Fn(&Resource) -> bool| self.rows.iter().rposition(|row| same(row));
        let position = last_of(&|row| row.group == resource.group && row.version == resource.version)
            .or_else(|| last_of(&|row| row.group == resource.group))
            .map_or(self.rows.len(), |last| last + 1);
        self.rows.insert(position, resource);
        self.reindex(position);
        Ok(())
    }

    /// Removes a resource.
    pub fn remove(&mut self, group: &str, version: &str, resource: &str) -> Option<Arc<Resource>> {
        let position = self.position(group, version, resource)?;
        if let Some(versions) = self.index.get_mut(group) {
            if let Some(resources) = versions.get_mut(version) {
                resources.remove(resource);
            }
            versions.retain(|_, resources| !resources.is_empty());
        }
        self.index.retain(|_, versions| !versions.is_empty());
        let row = self.rows.remove(position);
        self.reindex(position);
        Some(row)
    }

    /// Returns the resource with a name, as in a URL.
    pub fn get(&self, group: &str, version: &str, resource: &str) -> Option<&Arc<Resource>> {
        self.rows.get(self.position(group, version, resource)?)
    }

    /// Returns the resource of a kind, as in a body.
    pub fn by_kind(&self, group: &str, version: &str, kind: &str) -> Option<&Arc<Resource>> {
        self.resources(group, version).find(|row| row.kind == kind)
    }

    /// Returns all resources, by group and version (`registry.R2`).
    pub fn iter(&self) -> std::slice::Iter<'_, Arc<Resource>> {
        self.rows.iter()
    }

    /// Returns the resources of a group version; empty if it is not served.
    pub fn resources(&self, group: &str, version: &str) -> impl Iterator<Item = &Arc<Resource>> {
        self.rows.iter().filter(move |row| row.group == group && row.version == version)
    }

    /// Returns whether a group has built-in resources.
    pub fn has_built_in(&self, group: &str) -> bool {
        self.rows.iter().any(|row| row.group == group && row.custom.is_none())
    }

    /// Returns the groups, without duplicates. The core group is `""`.
    pub fn groups(&self) -> impl Iterator<Item = &str> {
        let starts = |at: usize| at == 0 || self.rows[at - 1].group != self.rows[at].group; // registry.R2
        (0..self.rows.len()).filter(move |at| starts(*at)).map(|at| &*self.rows[at].group)
    }

    /// Returns the versions of a group, the preferred one first.
    pub fn versions(&self, group: &str) -> Vec<&str> {
        let mut versions: Vec<&str> =
            self.rows.iter().filter(|row| row.group == group).map(|row| &*row.version).collect();
        versions.dedup(); // registry.R2
        versions
    }

    fn position(&self, group: &str, version: &str, resource: &str) -> Option<usize> {
        self.index.get(group)?.get(version)?.get(resource).copied()
    }

    fn reindex(&mut self, from: usize) {
        for (at, row) in self.rows.iter().enumerate().skip(from) {
            let versions = self.index.entry(row.group.clone()).or_default();
            versions.entry(row.version.clone()).or_default().insert(row.name.clone(), at);
        }
    }
}

impl<'a> IntoIterator for &'a Registry {
    type Item = &'a Arc<Resource>;
    type IntoIter = std::slice::Iter<'a, Arc<Resource>>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn widgets(version: &'static str) -> Resource {
        Resource {
            singular: Text::Borrowed("widget"),
            kind: Text::Borrowed("Widget"),
            ..Resource::new("example.com", version, "widgets")
        }
    }

    #[test]
    fn every_row_is_found_by_its_names() {
        for row in builtin() {
            let found = builtin().get(&row.group, &row.version, &row.name).unwrap();
            assert!(Arc::ptr_eq(row, found), "{row:?}");
            assert!(builtin().by_kind(&row.group, &row.version, &row.kind).is_some());
        }
        assert!(builtin().get("apps", "v2", "deployments").is_none());
        assert!(builtin().get("", "v1", "deployments").is_none());
    }

    #[test]
    fn the_preferred_version_of_a_group_comes_first() {
        assert_eq!(builtin().versions("autoscaling"), ["v2", "v1"]);
        assert_eq!(builtin().versions("nobody"), [""; 0]);
        assert_eq!(builtin().groups().next(), Some(""));
    }

    #[test]
    fn events_of_both_groups_share_a_collection() {
        let core = builtin().get("", "v1", "events").unwrap();
        let new = builtin().get("events.k8s.io", "v1", "events").unwrap();
        assert_eq!((core.storage.as_deref(), new.storage.as_deref()), (Some("events"), Some("events")));
        let deployments = builtin().get("apps", "v1", "deployments").unwrap();
        assert_eq!(deployments.storage.as_deref(), Some("apps/deployments"));
        assert_eq!(builtin().get("", "v1", "bindings").unwrap().storage, None);
    }

    #[test]
    fn a_custom_resource_is_added_and_removed() {
        let mut registry = builtin().clone();
        registry.add(widgets("v1")).unwrap();
        registry.add(widgets("v1beta1")).unwrap();
        registry.add(Resource::new("example.com", "v1", "gadgets")).unwrap();
        let names: Vec<_> = registry.resources("example.com", "v1").map(|row| row.name.clone()).collect();
        assert_eq!(names, ["widgets", "gadgets"]);
        assert_eq!(registry.versions("example.com"), ["v1", "v1beta1"]);
        assert_eq!(registry.groups().last(), Some("example.com"));

        assert!(registry.add(widgets("v1")).is_err());
        assert!(registry.remove("example.com", "v1", "widgets").is_some());
        assert!(registry.remove("example.com", "v1", "widgets").is_none());
        for row in &registry {
            assert!(Arc::ptr_eq(row, registry.get(&row.group, &row.version, &row.name).unwrap()));
        }
        registry.add(widgets("v1")).unwrap();
        assert_eq!(registry.by_kind("example.com", "v1", "Widget").unwrap().singular, "widget");
    }
}
