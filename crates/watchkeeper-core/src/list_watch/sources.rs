//! Sources: whoever has many collections.

use std::fmt;

use super::{ListWatch, Union};
use crate::{FieldSelector, GroupVersion, GroupVersionKind, LabelSelector};

/// Objects of one resource that can be listed and watched together.
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
    /// Sorted, each once; none for all of them.
    namespaces: Vec<String>,
    labels: String,
    fields: String,
    is_metadata: bool,
    is_cluster_scoped: bool,
}

impl Collection {
    /// All objects of a resource.
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

    /// Only those of a namespace; an empty one stands for all of them.
    #[must_use]
    pub fn namespace(self, namespace: &str) -> Self {
        self.namespaces([namespace])
    }

    /// Only those of some namespaces; an empty one among them, or none at all, stands for all of them.
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

    /// Only those with such labels.
    #[must_use]
    pub fn labels(mut self, selector: &LabelSelector) -> Self {
        self.labels = selector.to_string();
        self
    }

    /// Only those with such fields.
    #[must_use]
    pub fn fields(mut self, selector: &FieldSelector) -> Self {
        self.fields = selector.to_string();
        self
    }

    /// Only their metadata.
    #[must_use]
    pub fn metadata_only(mut self) -> Self {
        self.is_metadata = true;
        self
    }

    /// Its objects are in no namespace. For whoever would otherwise make it one of the namespaces that are his by
    /// default; to a source it says nothing.
    #[must_use]
    pub fn cluster_scoped(mut self, is_cluster_scoped: bool) -> Self {
        self.is_cluster_scoped = is_cluster_scoped;
        self
    }

    /// What kind the objects are of as they come: where only their metadata is wanted, a
    /// `PartialObjectMetadata`.
    pub fn kind(&self) -> GroupVersionKind {
        match self.is_metadata {
            true => GroupVersionKind::new("meta.k8s.io", "v1", "PartialObjectMetadata"),
            false => GroupVersionKind::new(&self.group, &self.version, &self.kind),
        }
    }

    /// The group and version of the resource.
    pub fn group_version(&self) -> GroupVersion {
        GroupVersion { group: self.group.clone(), version: self.version.clone() }
    }

    /// The resource: `pods`.
    pub fn resource(&self) -> &str {
        &self.resource
    }

    /// The namespace, where it is one; `None` for all of them, and for several.
    pub fn in_namespace(&self) -> Option<&str> {
        match &self.namespaces[..] {
            [one] => Some(one),
            _ => None,
        }
    }

    /// The namespaces, in order; none for all of them.
    pub fn in_namespaces(&self) -> &[String] {
        &self.namespaces
    }

    /// The same of each of its namespaces; itself where it is of one or of all.
    pub fn split(&self) -> Vec<Self> {
        match &self.namespaces[..] {
            [] | [_] => vec![self.clone()],
            several => several.iter().map(|namespace| self.clone().namespace(namespace)).collect(),
        }
    }

    /// The label selector, as text; empty for everything.
    pub fn label_selector(&self) -> &str {
        &self.labels
    }

    /// The field selector, as text; empty for everything.
    pub fn field_selector(&self) -> &str {
        &self.fields
    }

    /// Whether its objects are known to be in no namespace.
    pub fn is_cluster_scoped(&self) -> bool {
        self.is_cluster_scoped
    }

    /// Whether only metadata is wanted.
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

/// Whoever can list and watch any collection: a client of an API server, the embedded server in process.
pub trait Sources: Send + Sync {
    /// A collection, to list and to watch. Nothing is asked for yet.
    ///
    /// One of several namespaces is a [`Union`]: see [`Union::of_namespaces`].
    fn source(&self, collection: &Collection) -> Box<dyn ListWatch>;
}

/// A function that gives the sources. It is never asked for several namespaces at once.
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
    fn a_collection_is_the_same_however_its_namespaces_are_named() {
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
