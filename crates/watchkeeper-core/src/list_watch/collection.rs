//! Collections: the objects that one list or watch covers.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use crate::{FieldSelector, GroupVersion, GroupVersionKind, LabelSelector};

/// The objects of one resource that one list or watch covers: all, or those in some namespaces or
/// matching selectors.
///
/// ```
/// use watchkeeper_core::Collection;
///
/// let shop = Collection::DEPLOYMENTS.namespace("shop");
/// assert_eq!(shop, Collection::new("apps", "v1", "deployments", "Deployment").namespace("shop"));
/// assert_eq!(shop.to_string(), "deployments.v1.apps in shop");
/// let both = shop.namespaces(["shop", "bank"]);
/// assert_eq!(both.to_string(), "deployments.v1.apps in bank, shop");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Collection {
    group: Cow<'static, str>,
    version: Cow<'static, str>,
    resource: Cow<'static, str>,
    kind: Cow<'static, str>,
    /// Sorted and unique; empty for all namespaces.
    namespaces: Vec<String>,
    labels: LabelSelector,
    fields: FieldSelector,
    is_metadata: bool,
    scope: ScopeHint,
}

/// Whether the resource is cluster-scoped. It does not identify a collection, so all values are equal.
#[derive(Debug, Clone, Copy)]
struct ScopeHint {
    is_cluster_scoped: bool,
}

impl PartialEq for ScopeHint {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for ScopeHint {}

impl PartialOrd for ScopeHint {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ScopeHint {
    fn cmp(&self, _: &Self) -> Ordering {
        Ordering::Equal
    }
}

impl Hash for ScopeHint {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl Collection {
    /// Creates the collection of all objects of a resource.
    pub fn new(group: &str, version: &str, resource: &str, kind: &str) -> Self {
        let owned = |text: &str| Cow::Owned(text.to_owned());
        Self::of_names(owned(group), owned(version), owned(resource), owned(kind), false)
    }

    const fn of_names(
        group: Cow<'static, str>,
        version: Cow<'static, str>,
        resource: Cow<'static, str>,
        kind: Cow<'static, str>,
        is_cluster_scoped: bool,
    ) -> Self {
        Self {
            group,
            version,
            resource,
            kind,
            namespaces: Vec::new(),
            labels: LabelSelector::EVERYTHING,
            fields: FieldSelector::EVERYTHING,
            is_metadata: false,
            scope: ScopeHint { is_cluster_scoped },
        }
    }

    /// Limits the collection to a namespace; an empty one stands for all namespaces.
    #[must_use]
    pub fn namespace(self, namespace: &str) -> Self {
        self.namespaces([namespace])
    }

    /// Limits the collection to some namespaces. An empty list, or an empty name in it, stands for all namespaces.
    #[must_use]
    pub fn namespaces(mut self, namespaces: impl IntoIterator<Item: Into<String>>) -> Self {
        self.namespaces = namespaces.into_iter().map(Into::into).collect();
        if self.namespaces.iter().any(String::is_empty) {
            self.namespaces.clear();
        }
        self.namespaces.sort();
        self.namespaces.dedup();
        self
    }

    /// Limits the collection by labels.
    #[must_use]
    pub fn labels(mut self, selector: &LabelSelector) -> Self {
        self.labels = selector.clone();
        self
    }

    /// Limits the collection by fields.
    #[must_use]
    pub fn fields(mut self, selector: &FieldSelector) -> Self {
        self.fields = selector.clone();
        self
    }

    /// Requests only the objects' metadata.
    #[must_use]
    pub fn metadata_only(mut self) -> Self {
        self.is_metadata = true;
        self
    }

    /// Marks the resource as cluster-scoped, so that a factory's default namespaces do not apply to it. Sources ignore
    /// this, and it does not affect equality.
    #[must_use]
    pub fn cluster_scoped(mut self, is_cluster_scoped: bool) -> Self {
        self.scope.is_cluster_scoped = is_cluster_scoped;
        self
    }

    /// Returns the kind of the received objects: `PartialObjectMetadata` if only metadata is requested.
    pub fn kind(&self) -> GroupVersionKind {
        if self.is_metadata {
            GroupVersionKind::new("meta.k8s.io", "v1", "PartialObjectMetadata")
        } else {
            GroupVersionKind::new(&*self.group, &*self.version, &*self.kind)
        }
    }

    /// Returns the group and version of the resource.
    pub fn group_version(&self) -> GroupVersion {
        GroupVersion::new(&*self.group, &*self.version)
    }

    /// Returns the resource's name: `pods`.
    pub fn resource(&self) -> &str {
        &self.resource
    }

    /// Returns the namespace if there is exactly one; `None` for several and for all.
    pub fn in_namespace(&self) -> Option<&str> {
        match &self.namespaces[..] {
            [one] => Some(one),
            _ => None,
        }
    }

    /// Returns the namespaces in order; empty for all namespaces.
    pub fn in_namespaces(&self) -> &[String] {
        &self.namespaces
    }

    /// Splits the collection into one per namespace. A collection of one or all namespaces is not split.
    pub fn split(&self) -> Vec<Self> {
        match &self.namespaces[..] {
            [] | [_] => vec![self.clone()],
            several => several.iter().map(|namespace| self.clone().namespace(namespace)).collect(),
        }
    }

    /// Returns the label selector.
    pub fn label_selector(&self) -> &LabelSelector {
        &self.labels
    }

    /// Returns the field selector.
    pub fn field_selector(&self) -> &FieldSelector {
        &self.fields
    }

    /// Returns whether the resource was marked as cluster-scoped.
    pub fn is_cluster_scoped(&self) -> bool {
        self.scope.is_cluster_scoped
    }

    /// Returns whether only metadata is requested.
    pub fn is_metadata_only(&self) -> bool {
        self.is_metadata
    }
}

macro_rules! builtin_collections {
    ($($name:ident: ($group:literal, $version:literal, $resource:literal, $kind:literal), namespaced: $namespaced:literal;)+) => {
        /// Common built-in resources.
        impl Collection {
            $(
                #[doc = concat!("All `", $resource, "` of `", $group, "/", $version, "`.")]
                pub const $name: Self = Self::of_names(
                    Cow::Borrowed($group),
                    Cow::Borrowed($version),
                    Cow::Borrowed($resource),
                    Cow::Borrowed($kind),
                    !$namespaced,
                );
            )+
        }
    };
}

builtin_collections! {
    PODS: ("", "v1", "pods", "Pod"), namespaced: true;
    SERVICES: ("", "v1", "services", "Service"), namespaced: true;
    CONFIG_MAPS: ("", "v1", "configmaps", "ConfigMap"), namespaced: true;
    SECRETS: ("", "v1", "secrets", "Secret"), namespaced: true;
    SERVICE_ACCOUNTS: ("", "v1", "serviceaccounts", "ServiceAccount"), namespaced: true;
    PERSISTENT_VOLUME_CLAIMS: ("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim"), namespaced: true;
    PERSISTENT_VOLUMES: ("", "v1", "persistentvolumes", "PersistentVolume"), namespaced: false;
    NODES: ("", "v1", "nodes", "Node"), namespaced: false;
    NAMESPACES: ("", "v1", "namespaces", "Namespace"), namespaced: false;
    DEPLOYMENTS: ("apps", "v1", "deployments", "Deployment"), namespaced: true;
    REPLICA_SETS: ("apps", "v1", "replicasets", "ReplicaSet"), namespaced: true;
    STATEFUL_SETS: ("apps", "v1", "statefulsets", "StatefulSet"), namespaced: true;
    DAEMON_SETS: ("apps", "v1", "daemonsets", "DaemonSet"), namespaced: true;
    JOBS: ("batch", "v1", "jobs", "Job"), namespaced: true;
    CRON_JOBS: ("batch", "v1", "cronjobs", "CronJob"), namespaced: true;
    LEASES: ("coordination.k8s.io", "v1", "leases", "Lease"), namespaced: true;
    EVENTS: ("events.k8s.io", "v1", "events", "Event"), namespaced: true;
    INGRESSES: ("networking.k8s.io", "v1", "ingresses", "Ingress"), namespaced: true;
    ENDPOINT_SLICES: ("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice"), namespaced: true;
}

impl fmt::Display for Collection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.resource, self.version)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        if !self.namespaces.is_empty() {
            write!(f, " in {}", self.namespaces.join(", "))?;
        }
        if !self.labels.is_everything() {
            write!(f, " with {}", self.labels)?;
        }
        if !self.fields.is_everything() {
            write!(f, " with {}", self.fields)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_repetition_of_namespaces_do_not_matter() {
        let pods = Collection::PODS;
        let both = pods.clone().namespaces(["b", "a", "b"]);
        assert_eq!(both, pods.clone().namespaces(["a", "b"]));
        assert_eq!(both.in_namespaces(), ["a", "b"]);
        assert_eq!((both.in_namespace(), pods.in_namespace()), (None, None));
        assert_eq!(both.split(), [pods.clone().namespace("a"), pods.clone().namespace("b")]);
        assert_eq!(pods.clone().namespaces(["a"]), pods.clone().namespace("a"));
        for all in [pods.clone().namespaces(["a", ""]), pods.clone().namespaces([""; 0])] {
            assert_eq!((all.split(), all.to_string()), (vec![pods.clone()], "pods.v1".to_owned()));
        }
    }
}
