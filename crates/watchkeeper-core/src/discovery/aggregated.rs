//! Aggregated discovery: all groups, versions and resources in one document.
//!
//! `apidiscovery.k8s.io/v2` and `v2beta1` have the same fields.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::null::null_is_default;

/// `APIGroupDiscoveryList`, the document of `/api` and `/apis`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApiGroupDiscoveryList<'a> {
    /// `APIGroupDiscoveryList`.
    #[serde(default, deserialize_with = "null_is_default")]
    pub kind: Cow<'a, str>,
    /// `apidiscovery.k8s.io/v2`.
    #[serde(default, deserialize_with = "null_is_default")]
    pub api_version: Cow<'a, str>,
    /// Empty.
    #[serde(default, deserialize_with = "null_is_default")]
    pub metadata: DiscoveryMetadata<'a>,
    /// The groups.
    #[serde(default, deserialize_with = "null_is_default")]
    pub items: Vec<ApiGroupDiscovery<'a>>,
}

/// The metadata of a group or of the list.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DiscoveryMetadata<'a> {
    /// The name of the group; empty for the core group.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "str::is_empty")]
    pub name: Cow<'a, str>,
}

/// A group.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ApiGroupDiscovery<'a> {
    /// The name of the group.
    #[serde(default, deserialize_with = "null_is_default")]
    pub metadata: DiscoveryMetadata<'a>,
    /// The versions, the preferred one first.
    #[serde(default, deserialize_with = "null_is_default")]
    pub versions: Vec<ApiVersionDiscovery<'a>>,
}

/// A version of a group.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ApiVersionDiscovery<'a> {
    /// The version: `v1`.
    pub version: Cow<'a, str>,
    /// The resources.
    #[serde(default, deserialize_with = "null_is_default")]
    pub resources: Vec<ApiResourceDiscovery<'a>>,
    /// `Current`, or `Stale` if the resources may be outdated.
    #[serde(default, deserialize_with = "null_is_default")]
    pub freshness: Cow<'a, str>,
}

/// A resource.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApiResourceDiscovery<'a> {
    /// The plural name: `pods`.
    pub resource: Cow<'a, str>,
    /// The kind of its objects.
    #[serde(default, deserialize_with = "null_is_default")]
    pub response_kind: ResponseKind<'a>,
    /// `Namespaced` or `Cluster`.
    #[serde(default, deserialize_with = "null_is_default")]
    pub scope: Cow<'a, str>,
    /// The singular name: `pod`.
    #[serde(default, deserialize_with = "null_is_default")]
    pub singular_resource: Cow<'a, str>,
    /// The supported verbs.
    #[serde(default, deserialize_with = "null_is_default")]
    pub verbs: Vec<Cow<'a, str>>,
    /// The short names: `po`.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub short_names: Vec<Cow<'a, str>>,
    /// The categories: `all`.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<Cow<'a, str>>,
    /// The subresources.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub subresources: Vec<ApiSubresourceDiscovery<'a>>,
}

/// A subresource.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApiSubresourceDiscovery<'a> {
    /// The name: `status`.
    pub subresource: Cow<'a, str>,
    /// The kind of its objects.
    #[serde(default, deserialize_with = "null_is_default")]
    pub response_kind: ResponseKind<'a>,
    /// The supported verbs.
    #[serde(default, deserialize_with = "null_is_default")]
    pub verbs: Vec<Cow<'a, str>>,
}

/// The kind of objects of a resource. Group and version are empty if they are those of the document.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ResponseKind<'a> {
    /// The group.
    #[serde(default, deserialize_with = "null_is_default")]
    pub group: Cow<'a, str>,
    /// The version.
    #[serde(default, deserialize_with = "null_is_default")]
    pub version: Cow<'a, str>,
    /// The kind.
    #[serde(default, deserialize_with = "null_is_default")]
    pub kind: Cow<'a, str>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_and_absent_fields_are_empty() {
        let text = r#"{"items":[{"versions":[{"version":"v1","resources":[
            {"resource":"pods","scope":null,"responseKind":{"kind":null},"verbs":null,"subresources":null}]}]},
            {"metadata":{"name":"apps"},"versions":null}]}"#;
        let list: ApiGroupDiscoveryList<'_> = serde_json::from_str(text).unwrap();
        let pods = &list.items[0].versions[0].resources[0];
        assert_eq!((pods.verbs.len(), pods.response_kind.kind.as_ref()), (0, ""));
        assert_eq!((list.items[1].metadata.name.as_ref(), list.items[1].versions.len()), ("apps", 0));
    }
}
