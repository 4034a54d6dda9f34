//! Sources: whoever has many collections.

use std::fmt;

use super::ListWatch;
use crate::{FieldSelector, GroupVersion, GroupVersionKind, LabelSelector};

/// Objects of one resource that can be listed and watched together.
///
/// ```
/// use watchkeeper_core::Collection;
///
/// let shop = Collection::new("apps", "v1", "deployments", "Deployment").namespace("shop");
/// assert_eq!(shop.to_string(), "deployments.v1.apps in shop");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Collection {
    group: String,
    version: String,
    resource: String,
    kind: String,
    namespace: Option<String>,
    labels: String,
    fields: String,
    is_metadata: bool,
}

impl Collection {
    /// All objects of a resource.
    pub fn new(group: &str, version: &str, resource: &str, kind: &str) -> Self {
        Self {
            group: group.to_owned(),
            version: version.to_owned(),
            resource: resource.to_owned(),
            kind: kind.to_owned(),
            namespace: None,
            labels: String::new(),
            fields: String::new(),
            is_metadata: false,
        }
    }

    /// Only those of a namespace; an empty one stands for all of them.
    #[must_use]
    pub fn namespace(mut self, namespace: &str) -> Self {
        self.namespace = Some(namespace.to_owned()).filter(|namespace| !namespace.is_empty());
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

    /// The namespace; `None` for all of them.
    pub fn in_namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// The label selector, as text; empty for everything.
    pub fn label_selector(&self) -> &str {
        &self.labels
    }

    /// The field selector, as text; empty for everything.
    pub fn field_selector(&self) -> &str {
        &self.fields
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
        if let Some(namespace) = &self.namespace {
            write!(f, " in {namespace}")?;
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
    fn source(&self, collection: &Collection) -> Box<dyn ListWatch>;
}

/// A function that gives the sources.
impl<F: Fn(&Collection) -> Box<dyn ListWatch> + Send + Sync> Sources for F {
    fn source(&self, collection: &Collection) -> Box<dyn ListWatch> {
        self(collection)
    }
}
