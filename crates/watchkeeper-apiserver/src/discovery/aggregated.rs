//! Aggregated discovery: all groups, versions and resources in one document.

use serde::Serialize;

use super::Document;
use crate::registry::{Registry, Resource, Scope, Subresource, Text, Verbs};

/// The root of a discovery document. There are two because the core group predates groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Root {
    /// `/api`: the core group.
    Api,
    /// `/apis`: all other groups.
    Apis,
}

/// The version of the document. They differ only in name; kube-apiserver has dropped the older one, but kubectl 1.26
/// supports no other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Aggregated {
    /// `apidiscovery.k8s.io/v2`.
    V2,
    /// `apidiscovery.k8s.io/v2beta1`.
    V2Beta1,
}

impl Aggregated {
    /// Returns the exact content type that clients accept and servers return.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::V2 => "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
            Self::V2Beta1 => "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
        }
    }

    fn api_version(self) -> &'static str {
        match self {
            Self::V2 => "apidiscovery.k8s.io/v2",
            Self::V2Beta1 => "apidiscovery.k8s.io/v2beta1",
        }
    }
}

/// Returns the `APIGroupDiscoveryList` of `/api` or `/apis`.
pub fn aggregated(registry: &Registry, root: Root, form: Aggregated) -> Document {
    let wanted = |group: &&str| group.is_empty() == (root == Root::Api);
    let list = GroupList {
        kind: "APIGroupDiscoveryList",
        api_version: form.api_version(),
        metadata: Metadata { name: "" },
        items: registry.groups().filter(wanted).map(|group| Group::of(registry, group)).collect(),
    };
    Document::new(&list, form.content_type())
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GroupList<'a> {
    kind: &'static str,
    api_version: &'static str,
    metadata: Metadata<'a>,
    items: Vec<Group<'a>>,
}

#[derive(Serialize)]
struct Metadata<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    name: &'a str,
}

#[derive(Serialize)]
struct Group<'a> {
    metadata: Metadata<'a>,
    versions: Vec<Version<'a>>,
}

#[derive(Serialize)]
struct Version<'a> {
    version: &'a str,
    resources: Vec<Entry<'a>>,
    freshness: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'a> {
    resource: &'a str,
    response_kind: Kind<'a>,
    scope: &'static str,
    singular_resource: &'a str,
    verbs: Vec<&'static str>,
    #[serde(skip_serializing_if = "<[Text]>::is_empty")]
    short_names: &'a [Text],
    #[serde(skip_serializing_if = "<[Text]>::is_empty")]
    categories: &'a [Text],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    subresources: Vec<SubEntry<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SubEntry<'a> {
    subresource: &'a str,
    response_kind: Kind<'a>,
    verbs: Vec<&'static str>,
}

/// Group and version are empty if they are those of the document, except for custom resources.
#[derive(Serialize)]
struct Kind<'a> {
    group: &'a str,
    version: &'a str,
    kind: &'a str,
}

impl<'a> Group<'a> {
    fn of(registry: &'a Registry, group: &'a str) -> Self {
        let version = |version: &'a str| Version {
            version,
            resources: registry.resources(group, version).map(|row| Entry::of(row)).collect(),
            freshness: "Current",
        };
        Self {
            metadata: Metadata { name: group },
            versions: registry.versions(group).into_iter().map(version).collect(),
        }
    }
}

impl<'a> Entry<'a> {
    fn of(row: &'a Resource) -> Self {
        Self {
            resource: &row.name,
            response_kind: Kind::own(row),
            scope: match row.scope {
                Scope::Namespaced => "Namespaced",
                Scope::Cluster => "Cluster",
            },
            singular_resource: &row.singular,
            verbs: words(row.verbs),
            short_names: &row.short_names,
            categories: &row.categories,
            subresources: row.subresources.iter().map(|sub| SubEntry::of(row, sub)).collect(),
        }
    }
}

impl<'a> SubEntry<'a> {
    fn of(row: &'a Resource, sub: &'a Subresource) -> Self {
        let response_kind = match &sub.group_version {
            Some((group, version)) => Kind { group, version, kind: &sub.kind },
            None => Kind { kind: &sub.kind, ..Kind::own(row) },
        };
        Self { subresource: &sub.name, response_kind, verbs: words(sub.verbs) }
    }
}

impl<'a> Kind<'a> {
    fn own(row: &'a Resource) -> Self {
        match row.custom {
            Some(_) => Self { group: &row.group, version: &row.version, kind: &row.kind },
            None => Self { group: "", version: "", kind: &row.kind },
        }
    }
}

pub(super) fn words(verbs: Verbs) -> Vec<&'static str> {
    verbs.iter().map(|verb| verb.as_str()).collect()
}
