//! Resource: one row of the registry.

use std::borrow::Cow;
use std::sync::Arc;

use watchkeeper_core::{GroupKind, GroupResource, GroupVersion, GroupVersionKind};

use super::{Fields, Verbs};
use crate::custom::CustomKind;
use crate::rules::{KindRules, Rules};

/// A name: borrowed from the tables, or owned by a custom resource.
pub type Text = Cow<'static, str>;

/// A resource: a collection of objects of one kind at one version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// The API group, such as `apps`; empty for the core group.
    pub group: Text,
    /// The version, such as `v1`.
    pub version: Text,
    /// The plural name, as in URLs: `deployments`.
    pub name: Text,
    /// The singular name, such as `deployment`; empty for most resources that cannot be listed.
    pub singular: Text,
    /// The kind of its objects, such as `Deployment`.
    pub kind: Text,
    /// Whether its objects are namespaced.
    pub scope: Scope,
    /// The supported verbs.
    pub verbs: Verbs,
    /// Short names for kubectl, such as `deploy`.
    pub short_names: Vec<Text>,
    /// Names of groups of resources, such as `all`.
    pub categories: Vec<Text>,
    /// Subresources: `status`, `scale`, ...
    pub subresources: Vec<Subresource>,
    /// The collection of its objects in the store: `pods`, `apps/deployments`. Versions of a resource share one, and so
    /// do the events of both groups. `None` if nothing is stored, as for reviews.
    pub storage: Option<Text>,
    /// Whether its objects have a `metadata.generation`.
    pub counts_generation: bool,
    /// The selectable fields.
    pub fields: Fields,
    /// The custom kind, if the resource has a definition.
    pub custom: Option<Arc<CustomKind>>,
    /// The server's rules for its kind: defaults, validation and so on.
    pub rules: Rules,
}

/// The scope of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Objects belong to a namespace.
    Namespaced,
    /// Objects belong to the cluster.
    Cluster,
}

/// A subresource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subresource {
    /// The name, such as `scale`.
    pub name: Text,
    /// The group and version of its kind, if they differ from those of the resource.
    pub group_version: Option<(Text, Text)>,
    /// The kind of its objects, such as `Scale`.
    pub kind: Text,
    /// The supported verbs.
    pub verbs: Verbs,
}

impl Resource {
    /// Creates a namespaced resource with all verbs, stored under its own name; the rest is empty.
    pub fn new(group: impl Into<Text>, version: impl Into<Text>, name: impl Into<Text>) -> Self {
        let (group, version, name) = (group.into(), version.into(), name.into());
        let storage = match &*group {
            "" => name.clone(),
            group => Cow::Owned(format!("{group}/{name}")),
        };
        Self {
            rules: Rules::of(&group, &version, &name),
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

    /// Returns the group and version, such as `apps/v1`.
    pub fn group_version(&self) -> GroupVersion {
        GroupVersion::new(&*self.group, &*self.version)
    }

    /// Returns the group and resource, such as `deployments.apps`.
    pub fn group_resource(&self) -> GroupResource {
        self.group_version().resource(&*self.name).group_resource()
    }

    /// Returns the kind of its objects.
    pub fn group_version_kind(&self) -> GroupVersionKind {
        self.group_version().kind(&*self.kind)
    }

    /// Returns the kind of its objects in any version.
    pub fn group_kind(&self) -> GroupKind {
        self.group_version_kind().group_kind()
    }

    /// Returns whether its objects are namespaced.
    pub fn is_namespaced(&self) -> bool {
        self.scope == Scope::Namespaced
    }

    /// Returns whether the status is a subresource: it is written there, and ignored elsewhere.
    pub(crate) fn has_status(&self) -> bool {
        self.subresource("status").is_some()
    }

    /// Returns the server's rules for its kind.
    pub(crate) fn rules(&self) -> &'static dyn KindRules {
        self.rules.get()
    }

    /// Returns the subresource with a name.
    pub fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|subresource| subresource.name == name)
    }
}

impl Subresource {
    /// Returns whether a request to it opens a connection (verb `connect`), as for `exec` and `proxy`. Its kind is then
    /// a set of options.
    pub fn connects(&self) -> bool {
        self.kind.ends_with("Options")
    }

    /// Returns its kind as a subresource of `resource`.
    pub fn group_version_kind(&self, resource: &Resource) -> GroupVersionKind {
        match &self.group_version {
            Some((group, version)) => GroupVersionKind::new(&**group, &**version, &*self.kind),
            None => resource.group_version().kind(&*self.kind),
        }
    }
}
