//! The groups, versions and resources of a server.

use std::collections::BTreeMap;

use tokio::time::Instant;
use watchkeeper_core::{GroupVersion, GroupVersionKind, GroupVersionResource};

use super::{DiscoveryError, PartialDiscovery};

/// The groups, versions and resources that a server serves, as far as discovery succeeded.
#[derive(Debug, Clone, Default)]
pub struct Discovered {
    /// The groups in the server's order; the core group, whose name is empty, is first.
    pub groups: Vec<ApiGroup>,
    /// The group versions that failed, with their errors. Stale ones are not among the versions of their group.
    pub failures: BTreeMap<GroupVersion, DiscoveryError>,
    /// The time of the response, if this process requested it.
    pub read_at: Option<Instant>,
}

/// A group and its versions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApiGroup {
    /// `apps`; empty for the core group.
    pub name: String,
    /// The versions in the server's order.
    pub versions: Vec<ApiVersion>,
    /// The version that the server prefers; empty if none.
    pub preferred: String,
}

/// A version of a group, and its resources.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApiVersion {
    /// `v1`.
    pub version: String,
    /// The resources in the server's order.
    pub resources: Vec<ApiResource>,
}

/// A resource and its subresources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiResource {
    /// The name in paths: `deployments`.
    pub name: String,
    /// `deployment`; empty if an old server omits it.
    pub singular: String,
    /// Whether the objects are namespaced.
    pub namespaced: bool,
    /// The kind of the objects, which may be of another group version than the resource. Empty for a resource that
    /// exists only through its subresources.
    pub kind: GroupVersionKind,
    /// The supported verbs: `get`, `list`, ...
    pub verbs: Vec<String>,
    /// `deploy`.
    pub short_names: Vec<String>,
    /// `all`.
    pub categories: Vec<String>,
    /// Changes with the storage version of the objects. Empty with aggregated discovery, which omits it.
    pub storage_version_hash: String,
    /// `status`, `scale`, ...
    pub subresources: Vec<ApiSubresource>,
}

/// A subresource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiSubresource {
    /// The name without the resource: `scale`.
    pub name: String,
    /// The kind of the objects: `autoscaling/v1, Kind=Scale`.
    pub kind: GroupVersionKind,
    /// The supported verbs.
    pub verbs: Vec<String>,
}

impl Discovered {
    /// Returns the failures as an error, if there are any.
    pub fn partial(&self) -> Option<PartialDiscovery> {
        (!self.failures.is_empty()).then(|| PartialDiscovery { failures: self.failures.clone() })
    }

    /// Returns the group of this name.
    pub fn group(&self, name: &str) -> Option<&ApiGroup> {
        self.groups.iter().find(|group| group.name == name)
    }

    /// Returns the resources of a group version, or why they are not known.
    pub(super) fn known_resources(&self, of: &GroupVersion) -> Result<ApiVersion, DiscoveryError> {
        match self.failures.get(of) {
            Some(error) => Err(error.clone()),
            None => self.version(of).cloned().ok_or_else(|| DiscoveryError::Unknown(of.clone())),
        }
    }

    /// Returns a group version.
    pub fn version(&self, of: &GroupVersion) -> Option<&ApiVersion> {
        self.group(&of.group)?.versions.iter().find(|version| version.version == of.version)
    }

    /// Returns all group versions in the server's order.
    pub fn versions(&self) -> impl Iterator<Item = (GroupVersion, &ApiVersion)> {
        self.groups.iter().flat_map(|group| {
            let of = |version: &ApiVersion| GroupVersion::new(&*group.name, &*version.version);
            group.versions.iter().map(move |version| (of(version), version))
        })
    }

    /// Returns the resources of all group versions, in the server's order.
    pub fn resources(&self) -> impl Iterator<Item = (GroupVersion, &ApiResource)> {
        self.versions().flat_map(|(of, version)| {
            version
                .resources
                .iter()
                .filter(|resource| resource.is_served())
                .map(move |resource| (of.clone(), resource))
        })
    }

    /// Returns each resource once: in its group's preferred version, or else in the first version that has it.
    pub fn preferred_resources(&self) -> Vec<(GroupVersion, &ApiResource)> {
        let mut found: Vec<(GroupVersion, &ApiResource)> = Vec::new();
        let mut positions: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for group in &self.groups {
            for version in &group.versions {
                for resource in version.resources.iter().filter(|resource| resource.is_served()) {
                    let of = GroupVersion::new(&*group.name, &*version.version);
                    match positions.get(&(&*group.name, &*resource.name)) {
                        None => {
                            positions.insert((&group.name, &resource.name), found.len());
                            found.push((of, resource));
                        }
                        Some(position) if version.version == group.preferred => {
                            found[*position] = (of, resource);
                        }
                        Some(_) => {}
                    }
                }
            }
        }
        found
    }

    /// Returns a resource by its plural name.
    pub fn resource(&self, which: &GroupVersionResource) -> Option<&ApiResource> {
        let version = self.version(&which.group_version())?;
        version.resources.iter().find(|resource| resource.name == which.resource && resource.is_served())
    }
}

impl ApiResource {
    /// Returns whether the resource itself is served, not only its subresources.
    pub fn is_served(&self) -> bool {
        !self.kind.kind.is_empty()
    }

    /// Returns whether the resource supports this verb.
    pub fn can(&self, verb: &str) -> bool {
        self.verbs.iter().any(|one| one == verb)
    }

    /// Returns the subresource of this name.
    pub fn subresource(&self, name: &str) -> Option<&ApiSubresource> {
        self.subresources.iter().find(|subresource| subresource.name == name)
    }
}
