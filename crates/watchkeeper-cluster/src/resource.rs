//! The built-in resources that the controllers use.

use watchkeeper_core::{Collection, GroupVersion};

/// A built-in resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Resource {
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) plural: &'static str,
    pub(crate) kind: &'static str,
    is_namespaced: bool,
}

impl Resource {
    const fn namespaced(
        group: &'static str,
        version: &'static str,
        plural: &'static str,
        kind: &'static str,
    ) -> Self {
        Self { group, version, plural, kind, is_namespaced: true }
    }

    const fn cluster(
        group: &'static str,
        version: &'static str,
        plural: &'static str,
        kind: &'static str,
    ) -> Self {
        Self { group, version, plural, kind, is_namespaced: false }
    }

    pub(crate) fn group_version(self) -> GroupVersion {
        GroupVersion { group: self.group.to_owned(), version: self.version.to_owned() }
    }

    /// Returns the `apiVersion` of its objects, such as `v1` or `apps/v1`.
    pub(crate) fn api_version(self) -> String {
        self.group_version().to_string()
    }

    /// Returns the collection of all its objects.
    pub(crate) fn collection(self) -> Collection {
        Collection::new(self.group, self.version, self.plural, self.kind).cluster_scoped(!self.is_namespaced)
    }
}

pub(crate) const NAMESPACES: Resource = Resource::cluster("", "v1", "namespaces", "Namespace");
pub(crate) const NODES: Resource = Resource::cluster("", "v1", "nodes", "Node");
pub(crate) const PODS: Resource = Resource::namespaced("", "v1", "pods", "Pod");
pub(crate) const SERVICE_ACCOUNTS: Resource =
    Resource::namespaced("", "v1", "serviceaccounts", "ServiceAccount");
pub(crate) const CONFIG_MAPS: Resource = Resource::namespaced("", "v1", "configmaps", "ConfigMap");
pub(crate) const SERVICES: Resource = Resource::namespaced("", "v1", "services", "Service");
pub(crate) const ENDPOINTS: Resource = Resource::namespaced("", "v1", "endpoints", "Endpoints");
pub(crate) const ENDPOINT_SLICES: Resource =
    Resource::namespaced("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice");
pub(crate) const DEPLOYMENTS: Resource = Resource::namespaced("apps", "v1", "deployments", "Deployment");
pub(crate) const REPLICA_SETS: Resource = Resource::namespaced("apps", "v1", "replicasets", "ReplicaSet");
pub(crate) const LEASES: Resource = Resource::namespaced("coordination.k8s.io", "v1", "leases", "Lease");
pub(crate) const PERSISTENT_VOLUMES: Resource =
    Resource::cluster("", "v1", "persistentvolumes", "PersistentVolume");
pub(crate) const PERSISTENT_VOLUME_CLAIMS: Resource =
    Resource::namespaced("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim");
pub(crate) const VOLUME_ATTRIBUTES_CLASSES: Resource =
    Resource::cluster("storage.k8s.io", "v1", "volumeattributesclasses", "VolumeAttributesClass");
