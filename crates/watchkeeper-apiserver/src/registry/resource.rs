//! Resource: one row of the registry.

use std::borrow::Cow;
use std::sync::Arc;

use watchkeeper_core::{GroupKind, GroupResource, GroupVersion, GroupVersionKind};

use super::{Fields, Verbs};
use crate::custom::CustomKind;

/// A name: borrowed from the committed tables, or owned where it came with a custom resource.
pub type Text = Cow<'static, str>;

/// A resource: a collection of objects of one kind at one version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// `apps`; empty for the core group.
    pub group: Text,
    /// `v1`.
    pub version: Text,
    /// Its plural name, as it stands in a URL: `deployments`.
    pub name: Text,
    /// `deployment`; empty for most that cannot be listed.
    pub singular: Text,
    /// `Deployment`.
    pub kind: Text,
    /// Whether its objects live in namespaces.
    pub scope: Scope,
    /// What may be done with it.
    pub verbs: Verbs,
    /// `deploy`.
    pub short_names: Vec<Text>,
    /// Names for several resources at once, such as `all`.
    pub categories: Vec<Text>,
    /// What hangs below an object: `status`, `scale`.
    pub subresources: Vec<Subresource>,
    /// Which collection of the store holds its objects: `pods`, `apps/deployments`. Versions of a
    /// resource share one, and so do both groups' events. None where nothing is kept, as of reviews.
    pub storage: Option<Text>,
    /// Whether its objects have a `metadata.generation` that counts changes of what is wanted.
    pub counts_generation: bool,
    /// What a field selector may name.
    pub fields: Fields,
    /// What its definition says, where it came with one.
    pub custom: Option<Arc<CustomKind>>,
}

/// Whether objects live in namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scope {
    /// In one each.
    Namespaced,
    /// In none.
    Cluster,
}

/// What hangs below an object of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subresource {
    /// `scale`.
    pub name: Text,
    /// What it answers with, where that is of another group or version than its resource.
    pub group_version: Option<(Text, Text)>,
    /// `Scale`.
    pub kind: Text,
    /// What may be done with it.
    pub verbs: Verbs,
}

impl Resource {
    /// A namespaced resource that allows every verb, stored under its own name; the rest is empty.
    pub fn new(group: impl Into<Text>, version: impl Into<Text>, name: impl Into<Text>) -> Self {
        let (group, version, name) = (group.into(), version.into(), name.into());
        let storage = match &*group {
            "" => name.clone(),
            group => Cow::Owned(format!("{group}/{name}")),
        };
        Self {
            group,
            version,
            name,
            singular: Text::default(),
            kind: Text::default(),
            scope: Scope::Namespaced,
            verbs: Verbs::ALL,
            short_names: Vec::new(),
            categories: Vec::new(),
            subresources: Vec::new(),
            storage: Some(storage),
            counts_generation: false,
            fields: Fields::default(),
            custom: None,
        }
    }

    /// `apps/v1`.
    pub fn group_version(&self) -> GroupVersion {
        GroupVersion::new(&*self.group, &*self.version)
    }

    /// `deployments.apps`: what a status says it is about.
    pub fn group_resource(&self) -> GroupResource {
        self.group_version().resource(&*self.name).group_resource()
    }

    /// The kind of its objects.
    pub fn group_version_kind(&self) -> GroupVersionKind {
        self.group_version().kind(&*self.kind)
    }

    /// The kind of its objects in any version.
    pub fn group_kind(&self) -> GroupKind {
        self.group_version_kind().group_kind()
    }

    /// Whether its objects live in namespaces.
    pub fn is_namespaced(&self) -> bool {
        self.scope == Scope::Namespaced
    }

    /// The subresource of that name.
    pub fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|subresource| subresource.name == name)
    }
}

impl Subresource {
    /// The kind that it answers with, below this resource.
    pub fn group_version_kind(&self, resource: &Resource) -> GroupVersionKind {
        match &self.group_version {
            Some((group, version)) => GroupVersionKind::new(&**group, &**version, &*self.kind),
            None => resource.group_version().kind(&*self.kind),
        }
    }
}
