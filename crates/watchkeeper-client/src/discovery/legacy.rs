//! Legacy discovery: one document for the groups, and one per group version. Also the format of disk caches.

use serde::{Deserialize, Serialize};
use watchkeeper_core::{GroupVersion, GroupVersionKind};

use super::{ApiGroup, ApiResource, ApiSubresource, ApiVersion};

/// `/api`.
#[derive(Debug, Deserialize)]
pub(super) struct Versions {
    #[serde(default)]
    pub(super) versions: Option<Vec<String>>,
}

/// `/apis`.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GroupList {
    #[serde(default)]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) api_version: String,
    #[serde(default)]
    pub(super) groups: Option<Vec<Group>>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Group {
    #[serde(default)]
    pub(super) name: String,
    #[serde(default)]
    pub(super) versions: Option<Vec<Version>>,
    #[serde(default)]
    pub(super) preferred_version: Option<Version>,
}

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Version {
    #[serde(default)]
    pub(super) group_version: String,
    #[serde(default)]
    pub(super) version: String,
}

/// `/api/v1`, `/apis/apps/v1`.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResourceList {
    #[serde(default)]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) api_version: String,
    #[serde(default)]
    pub(super) group_version: String,
    #[serde(default)]
    pub(super) resources: Option<Vec<Resource>>,
}

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Resource {
    #[serde(default)]
    pub(super) name: String,
    #[serde(default)]
    pub(super) singular_name: String,
    #[serde(default)]
    pub(super) namespaced: bool,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) group: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) version: String,
    #[serde(default)]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) verbs: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "is_empty")]
    pub(super) short_names: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "is_empty")]
    pub(super) categories: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) storage_version_hash: String,
}

fn is_empty(list: &Option<Vec<String>>) -> bool {
    list.as_ref().is_none_or(Vec::is_empty)
}

impl Versions {
    /// Returns the core group, if it has a version.
    pub(super) fn group(self) -> Option<ApiGroup> {
        let versions = self.versions.unwrap_or_default();
        let preferred = versions.first()?.clone();
        Some(ApiGroup { name: String::new(), versions: versions.into_iter().map(empty).collect(), preferred })
    }
}

impl GroupList {
    /// Returns the groups, with versions that have no resources yet.
    pub(super) fn groups(self) -> Vec<ApiGroup> {
        let groups = self.groups.unwrap_or_default().into_iter().map(|group| {
            let versions = group.versions.unwrap_or_default();
            let versions = versions.into_iter().map(|version| empty(version.version)).collect();
            let preferred = group.preferred_version.unwrap_or_default().version;
            ApiGroup { name: group.name, versions, preferred }
        });
        groups.collect()
    }
}

fn empty(version: String) -> ApiVersion {
    ApiVersion { version, resources: Vec::new() }
}

impl ResourceList {
    /// Returns the resources, each with its subresources.
    pub(super) fn resources(self, of: &GroupVersion) -> Vec<ApiResource> {
        let mut found: Vec<ApiResource> = Vec::new();
        let mut subresources = Vec::new();
        for resource in self.resources.unwrap_or_default() {
            match resource.name.split_once('/') {
                Some((parent, name)) => subresources.push((parent.to_owned(), name.to_owned(), resource)),
                None => found.push(ApiResource {
                    kind: kind(&resource, of),
                    name: resource.name,
                    singular: resource.singular_name,
                    namespaced: resource.namespaced,
                    verbs: resource.verbs.unwrap_or_default(),
                    short_names: resource.short_names.unwrap_or_default(),
                    categories: resource.categories.unwrap_or_default(),
                    storage_version_hash: resource.storage_version_hash,
                    subresources: Vec::new(),
                }),
            }
        }
        for (parent, name, resource) in subresources {
            let subresource =
                ApiSubresource { name, kind: kind(&resource, of), verbs: resource.verbs.unwrap_or_default() };
            match found.iter_mut().find(|resource| resource.name == parent) {
                Some(parent) => parent.subresources.push(subresource),
                None => found.push(ApiResource {
                    name: parent,
                    singular: resource.singular_name,
                    namespaced: resource.namespaced,
                    kind: GroupVersionKind::new("", "", ""),
                    verbs: Vec::new(),
                    short_names: Vec::new(),
                    categories: Vec::new(),
                    storage_version_hash: String::new(),
                    subresources: vec![subresource],
                }),
            }
        }
        found
    }
}

/// Returns the kind of a resource; group and version default to those of the list.
fn kind(resource: &Resource, of: &GroupVersion) -> GroupVersionKind {
    let or = |own: &str, default: &str| if own.is_empty() { default.to_owned() } else { own.to_owned() };
    GroupVersionKind::new(or(&resource.group, &of.group), or(&resource.version, &of.version), &*resource.kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subresources_are_attached_to_their_resource() {
        let of = GroupVersion::new("apps", "v1");
        let text = r#"{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"apps/v1","resources":[
            {"name":"orphans/scale","singularName":"","namespaced":true,"kind":"Scale","verbs":["get"],
             "group":"autoscaling","version":"v1"},
            {"name":"deployments","singularName":"deployment","namespaced":true,"kind":"Deployment",
             "verbs":["get","list"],"shortNames":["deploy"],"categories":["all"],
             "storageVersionHash":"8aSe+NMegvE="},
            {"name":"deployments/status","singularName":"","namespaced":true,"kind":"Deployment",
             "verbs":null}]}"#;
        let list: ResourceList = serde_json::from_str(text).unwrap();
        let resources = list.resources(&of);
        let deployments = &resources[0];
        assert_eq!(deployments.kind, GroupVersionKind::new("apps", "v1", "Deployment"));
        assert_eq!(deployments.storage_version_hash, "8aSe+NMegvE=");
        assert_eq!(deployments.subresource("status").unwrap().kind.kind, "Deployment");
        assert!(deployments.can("list") && !deployments.can("watch"));
        assert!(!resources[1].is_served());
        assert_eq!(resources[1].subresources[0].kind, GroupVersionKind::new("autoscaling", "v1", "Scale"));
    }

    #[test]
    fn a_server_without_core_versions_has_no_core_group() {
        let versions: Versions = serde_json::from_str(r#"{"kind":"APIVersions","versions":null}"#).unwrap();
        assert!(versions.group().is_none());
    }
}
