//! Aggregated discovery: all groups, versions and resources in one document.

use std::borrow::Cow;

use watchkeeper_core::discovery::{
    ApiGroupDiscovery, ApiGroupDiscoveryList, ApiResourceDiscovery, ApiSubresourceDiscovery,
    ApiVersionDiscovery, DiscoveryMetadata, ResponseKind,
};

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
    let list = ApiGroupDiscoveryList {
        kind: "APIGroupDiscoveryList".into(),
        api_version: form.api_version().into(),
        metadata: DiscoveryMetadata::default(),
        items: registry.groups().filter(wanted).map(|name| group(registry, name)).collect(),
    };
    Document::new(&list, form.content_type())
}

fn group<'a>(registry: &'a Registry, group: &'a str) -> ApiGroupDiscovery<'a> {
    let version = |version: &'a str| ApiVersionDiscovery {
        version: version.into(),
        resources: registry.resources(group, version).map(|row| resource(row)).collect(),
        freshness: "Current".into(),
    };
    ApiGroupDiscovery {
        metadata: DiscoveryMetadata { name: group.into() },
        versions: registry.versions(group).into_iter().map(version).collect(),
    }
}

fn resource(row: &Resource) -> ApiResourceDiscovery<'_> {
    ApiResourceDiscovery {
        resource: row.name.as_ref().into(),
        response_kind: own_kind(row),
        scope: match row.scope {
            Scope::Namespaced => "Namespaced".into(),
            Scope::Cluster => "Cluster".into(),
        },
        singular_resource: row.singular.as_ref().into(),
        verbs: verb_names(row.verbs),
        short_names: texts(&row.short_names),
        categories: texts(&row.categories),
        subresources: row.subresources.iter().map(|sub| subresource(row, sub)).collect(),
    }
}

fn subresource<'a>(row: &'a Resource, sub: &'a Subresource) -> ApiSubresourceDiscovery<'a> {
    let kind = sub.kind.as_ref().into();
    let response_kind = match &sub.group_version {
        Some((group, version)) => {
            ResponseKind { group: group.as_ref().into(), version: version.as_ref().into(), kind }
        }
        None => ResponseKind { kind, ..own_kind(row) },
    };
    ApiSubresourceDiscovery {
        subresource: sub.name.as_ref().into(),
        response_kind,
        verbs: verb_names(sub.verbs),
    }
}

/// Returns the kind of a resource. Only custom resources repeat the group and version of the document.
fn own_kind(row: &Resource) -> ResponseKind<'_> {
    let kind = row.kind.as_ref().into();
    match row.custom {
        Some(_) => {
            ResponseKind { group: row.group.as_ref().into(), version: row.version.as_ref().into(), kind }
        }
        None => ResponseKind { kind, ..ResponseKind::default() },
    }
}

pub(super) fn verb_names(verbs: Verbs) -> Vec<Cow<'static, str>> {
    verbs.iter().map(|verb| verb.as_str().into()).collect()
}

pub(super) fn texts(texts: &[Text]) -> Vec<Cow<'_, str>> {
    texts.iter().map(|text| text.as_ref().into()).collect()
}
