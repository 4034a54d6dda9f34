//! Collections, and factories of their sources.

use std::fmt;

use super::{ListWatch, Union};
use crate::{FieldSelector, GroupVersion, GroupVersionKind, LabelSelector};

/// The objects of one resource that one list or watch covers: all, or those in some namespaces or
/// matching selectors.
///
/// ```
/// use watchkeeper_core::Collection;
///
/// let shop = Collection::new("apps", "v1", "deployments", "Deployment").namespace("shop");
/// assert_eq!(shop.to_string(), "deployments.v1.apps in shop");
/// let both = shop.namespaces(["shop", "bank"]);
/// assert_eq!(both.to_string(), "deployments.v1.apps in bank, shop");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Collection {
    group: String,
    version: String,
    resource: String,
    kind: String,
    /// Sorted and unique; empty for all namespaces.
    namespaces: Vec<String>,
    labels: String,
    fields: String,
    is_metadata: bool,
    is_cluster_scoped: bool,
}

impl Collection {
    /// Creates the collection of all objects of a resource.
    pub fn new(group: &str, version: &str, resource: &str, kind: &str) -> Self {
        Self {
            group: group.to_owned(),
            version: version.to_owned(),
            resource: resource.to_owned(),
            kind: kind.to_owned(),
            namespaces: Vec::new(),
            labels: String::new(),
            fields: String::new(),
            is_metadata: false,
            is_cluster_scoped: false,
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
        self.labels = selector.to_string();
        self
    }

    /// Limits the collection by fields.
    #[must_use]
    pub fn fields(mut self, selector: &FieldSelector) -> Self {
        self.fields = selector.to_string();
        self
    }

    /// Requests only the objects' metadata.
    #[must_use]
    pub fn metadata_only(mut self) -> Self {
        self.is_metadata = true;
        self
    }

    /// Marks the resource as cluster-scoped, so that a factory's default namespaces do not apply to it. Sources ignore
    /// this.
    #[must_use]
    pub fn cluster_scoped(mut self, is_cluster_scoped: bool) -> Self {
        self.is_cluster_scoped = is_cluster_scoped;
        self
    }

    /// Returns the kind of the received objects: `PartialObjectMetadata` if only metadata is requested.
    pub fn kind(&self) -> GroupVersionKind {
        if self.is_metadata {
            GroupVersionKind::new("meta.k8s.io", "v1", "PartialObjectMetadata")
        } else {
            GroupVersionKind::new(&self.group, &self.version, &self.kind)
        }
    }

    /// Returns the group and version of the resource.
    pub fn group_version(&self) -> GroupVersion {
        GroupVersion { group: self.group.clone(), version: self.version.clone() }
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

    /// Returns the label selector as text; empty for everything.
    pub fn label_selector(&self) -> &str {
        &self.labels
    }

    /// Returns the field selector as text; empty for everything.
    pub fn field_selector(&self) -> &str {
        &self.fields
    }

    /// Returns whether the resource was marked as cluster-scoped.
    pub fn is_cluster_scoped(&self) -> bool {
        self.is_cluster_scoped
    }

    /// Returns whether only metadata is requested.
    pub fn is_metadata_only(&self) -> bool {
        self.is_metadata
    }
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
        for selector in [&self.labels, &self.fields].into_iter().filter(|selector| !selector.is_empty()) {
            write!(f, " with {selector}")?;
        }
        Ok(())
    }
}

/// A factory of [`ListWatch`] sources for any collection: a client of an API server, or the embedded server.
pub trait Sources: Send + Sync {
    /// Creates the source of a collection, without sending a request.
    ///
    /// The source of several namespaces is a [`Union`]: see [`Union::of_namespaces`].
    fn source(&self, collection: &Collection) -> Box<dyn ListWatch>;
}

/// A function that creates sources. It is never called with several namespaces.
impl<F: Fn(&Collection) -> Box<dyn ListWatch> + Send + Sync> Sources for F {
    fn source(&self, collection: &Collection) -> Box<dyn ListWatch> {
        match Union::of_namespaces(collection, self) {
            Some(union) => Box::new(union),
            None => self(collection),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_repetition_of_namespaces_do_not_matter() {
        let pods = Collection::new("", "v1", "pods", "Pod");
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
