//! Found: the groups, versions and resources of a server.

use std::collections::BTreeMap;

use tokio::time::Instant;
use watchkeeper_core::{GroupVersion, GroupVersionKind, GroupVersionResource};

use super::{DiscoveryError, PartialDiscovery};

/// What a server serves, as far as it could be found out.
#[derive(Debug, Clone, Default)]
pub struct Discovered {
    /// The groups in the server's order; the core group, whose name is empty, comes first.
    pub groups: Vec<ApiGroup>,
    /// The group versions that could not be asked for, and why. Stale ones are not among the
    /// versions of their group.
    pub failures: BTreeMap<GroupVersion, DiscoveryError>,
    /// When the server said so, where it was this process that asked.
    pub read_at: Option<Instant>,
}

/// A group and its versions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApiGroup {
    /// `apps`; empty for the core group.
    pub name: String,
    /// Its versions in the server's order.
    pub versions: Vec<ApiVersion>,
    /// The version that the server prefers; empty if it has none.
    pub preferred: String,
}

/// A version of a group, and its resources.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApiVersion {
    /// `v1`.
    pub version: String,
    /// Its resources in the server's order.
    pub resources: Vec<ApiResource>,
}

/// A resource and its subresources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiResource {
    /// The name in paths: `deployments`.
    pub name: String,
    /// `deployment`; empty where an old server does not say.
    pub singular: String,
    /// Whether its objects are in namespaces.
    pub namespaced: bool,
    /// What is read and written, which may be of another group version than the resource. A resource that
    /// is only there for its subresources has an empty kind.
    pub kind: GroupVersionKind,
    /// What can be done: `get`, `list`, ...
    pub verbs: Vec<String>,
    /// `deploy`.
    pub short_names: Vec<String>,
    /// `all`.
    pub categories: Vec<String>,
    /// Changes when objects are stored in another way. Aggregated discovery does not say: it is empty then.
    pub storage_version_hash: String,
    /// `status`, `scale`, ...
    pub subresources: Vec<ApiSubresource>,
}

/// A subresource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiSubresource {
    /// `scale`, without the resource.
    pub name: String,
    /// What is read and written: `autoscaling/v1, Kind=Scale`.
    pub kind: GroupVersionKind,
    /// What can be done.
    pub verbs: Vec<String>,
}

impl Discovered {
    /// Says what is missing, if anything is.
    pub fn partial(&self) -> Option<PartialDiscovery> {
        (!self.failures.is_empty()).then(|| PartialDiscovery { failures: self.failures.clone() })
    }

    /// The group of this name.
    pub fn group(&self, name: &str) -> Option<&ApiGroup> {
        self.groups.iter().find(|group| group.name == name)
    }

    /// The resources of one version, or why they are not known.
    pub(super) fn known_resources(&self, of: &GroupVersion) -> Result<ApiVersion, DiscoveryError> {
        match self.failures.get(of) {
            Some(error) => Err(error.clone()),
            None => self.version(of).cloned().ok_or_else(|| DiscoveryError::Unknown(of.clone())),
        }
    }

    /// The resources of one group version.
    pub fn version(&self, of: &GroupVersion) -> Option<&ApiVersion> {
        self.group(&of.group)?.versions.iter().find(|version| version.version == of.version)
    }

    /// All group versions in the server's order.
    pub fn versions(&self) -> impl Iterator<Item = (GroupVersion, &ApiVersion)> {
        self.groups.iter().flat_map(|group| {
            let of = |version: &ApiVersion| GroupVersion::new(&*group.name, &*version.version);
            group.versions.iter().map(move |version| (of(version), version))
        })
    }

    /// All resources in all versions, in the server's order.
    pub fn resources(&self) -> impl Iterator<Item = (GroupVersion, &ApiResource)> {
        self.versions().flat_map(|(of, version)| {
            version
                .resources
                .iter()
                .filter(|resource| resource.is_served())
                .map(move |resource| (of.clone(), resource))
        })
    }

    /// Every resource once: in the version that its group prefers, or else in the first that has it.
    pub fn preferred_resources(&self) -> Vec<(GroupVersion, &ApiResource)> {
        let mut found: Vec<(GroupVersion, &ApiResource)> = Vec::new();
        let mut places: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for group in &self.groups {
            for version in &group.versions {
                for resource in version.resources.iter().filter(|resource| resource.is_served()) {
                    let of = GroupVersion::new(&*group.name, &*version.version);
                    match places.get(&(&*group.name, &*resource.name)) {
                        None => {
                            places.insert((&group.name, &resource.name), found.len());
                            found.push((of, resource));
                        }
                        Some(place) if version.version == group.preferred => found[*place] = (of, resource),
                        Some(_) => {}
                    }
                }
            }
        }
        found
    }

    /// The resource as a path names it.
    pub fn resource(&self, which: &GroupVersionResource) -> Option<&ApiResource> {
        let version = self.version(&which.group_version())?;
        version.resources.iter().find(|resource| resource.name == which.resource && resource.is_served())
    }
}

impl ApiResource {
    /// Whether the resource itself is served, and not only what is below it.
    pub fn is_served(&self) -> bool {
        !self.kind.kind.is_empty()
    }

    /// Whether this can be done.
    pub fn can(&self, verb: &str) -> bool {
        self.verbs.iter().any(|one| one == verb)
    }

    /// The subresource of this name.
    pub fn subresource(&self, name: &str) -> Option<&ApiSubresource> {
        self.subresources.iter().find(|subresource| subresource.name == name)
    }
}
