//! Legacy discovery: separate documents for groups, versions and resources. Disk caches hold these too.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::null::null_is_default;

/// `APIVersions`, the document of `/api`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApiVersions<'a> {
    /// `APIVersions`.
    #[serde(default, deserialize_with = "null_is_default")]
    pub kind: Cow<'a, str>,
    /// The versions of the core group, the preferred one first.
    #[serde(default, deserialize_with = "null_is_default")]
    pub versions: Vec<Cow<'a, str>>,
    /// The addresses of the server for clients.
    #[serde(
        rename = "serverAddressByClientCIDRs",
        default,
        deserialize_with = "null_is_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub server_address_by_client_cidrs: Vec<ServerAddressByClientCidr<'a>>,
}

/// The address of a server for clients of a network.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerAddressByClientCidr<'a> {
    /// The network of the clients: `0.0.0.0/0`.
    #[serde(rename = "clientCIDR", default, deserialize_with = "null_is_default")]
    pub client_cidr: Cow<'a, str>,
    /// The address: `host:port`.
    #[serde(default, deserialize_with = "null_is_default")]
    pub server_address: Cow<'a, str>,
}

/// `APIGroupList`, the document of `/apis`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApiGroupList<'a> {
    /// `APIGroupList`.
    #[serde(default, deserialize_with = "null_is_default")]
    pub kind: Cow<'a, str>,
    /// `v1`.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "str::is_empty")]
    pub api_version: Cow<'a, str>,
    /// The groups.
    #[serde(default, deserialize_with = "null_is_default")]
    pub groups: Vec<ApiGroup<'a>>,
}

/// `APIGroup`, the document of `/apis/GROUP`, and an item of [`ApiGroupList`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApiGroup<'a> {
    /// `APIGroup`; empty in a list.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "str::is_empty")]
    pub kind: Cow<'a, str>,
    /// `v1`; empty in a list.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "str::is_empty")]
    pub api_version: Cow<'a, str>,
    /// The name of the group: `apps`.
    #[serde(default, deserialize_with = "null_is_default")]
    pub name: Cow<'a, str>,
    /// The versions.
    #[serde(default, deserialize_with = "null_is_default")]
    pub versions: Vec<GroupVersionForDiscovery<'a>>,
    /// The preferred version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preferred_version: Option<GroupVersionForDiscovery<'a>>,
}

/// A version of a group.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GroupVersionForDiscovery<'a> {
    /// `apps/v1`.
    #[serde(default, deserialize_with = "null_is_default")]
    pub group_version: Cow<'a, str>,
    /// `v1`.
    #[serde(default, deserialize_with = "null_is_default")]
    pub version: Cow<'a, str>,
}

/// `APIResourceList`, the document of `/api/v1` and `/apis/GROUP/VERSION`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApiResourceList<'a> {
    /// `APIResourceList`.
    #[serde(default, deserialize_with = "null_is_default")]
    pub kind: Cow<'a, str>,
    /// `v1`; empty in the document of the core group.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "str::is_empty")]
    pub api_version: Cow<'a, str>,
    /// `apps/v1`.
    #[serde(default, deserialize_with = "null_is_default")]
    pub group_version: Cow<'a, str>,
    /// The resources, each followed by its subresources.
    #[serde(default, deserialize_with = "null_is_default")]
    pub resources: Vec<ApiResource<'a>>,
}

/// A resource or a subresource.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApiResource<'a> {
    /// The plural name: `pods`, `pods/status`.
    #[serde(default, deserialize_with = "null_is_default")]
    pub name: Cow<'a, str>,
    /// The singular name: `pod`.
    #[serde(default, deserialize_with = "null_is_default")]
    pub singular_name: Cow<'a, str>,
    /// Whether objects are in namespaces.
    #[serde(default, deserialize_with = "null_is_default")]
    pub namespaced: bool,
    /// The group of the kind; empty if it is that of the list.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "str::is_empty")]
    pub group: Cow<'a, str>,
    /// The version of the kind; empty if it is that of the list.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "str::is_empty")]
    pub version: Cow<'a, str>,
    /// The kind: `Pod`.
    #[serde(default, deserialize_with = "null_is_default")]
    pub kind: Cow<'a, str>,
    /// The supported verbs.
    #[serde(default, deserialize_with = "null_is_default")]
    pub verbs: Vec<Cow<'a, str>>,
    /// The short names: `po`.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub short_names: Vec<Cow<'a, str>>,
    /// The categories: `all`.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<Cow<'a, str>>,
    /// A hash of the storage version; empty if unknown.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "str::is_empty")]
    pub storage_version_hash: Cow<'a, str>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_round_trip_without_empty_fields() {
        let text = r#"{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"apps/v1","resources":[{"name":"deployments","singularName":"deployment","namespaced":true,"kind":"Deployment","verbs":["get"],"shortNames":["deploy"]}]}"#;
        let list: ApiResourceList<'_> = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&list).unwrap(), text);
        let null: ApiGroupList<'_> = serde_json::from_str(r#"{"kind":null,"groups":null}"#).unwrap();
        assert_eq!(null, ApiGroupList::default());
    }
}
