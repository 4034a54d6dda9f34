//! Legacy discovery: one document for the groups, and one per group version. Also the format of disk caches.

use watchkeeper_core::discovery::{ApiGroupList, ApiResource as Resource, ApiResourceList, ApiVersions};
use watchkeeper_core::{GroupVersion, GroupVersionKind};

use super::aggregated::strings;
use super::{ApiGroup, ApiResource, ApiSubresource, ApiVersion};

/// Returns the core group, if it has a version.
pub(super) fn core_group(versions: ApiVersions<'_>) -> Option<ApiGroup> {
    let versions = strings(versions.versions);
    let preferred = versions.first()?.clone();
    Some(ApiGroup { name: String::new(), versions: versions.into_iter().map(empty).collect(), preferred })
}

/// Returns the groups, with versions that have no resources yet.
pub(super) fn groups(list: ApiGroupList<'_>) -> Vec<ApiGroup> {
    let groups = list.groups.into_iter().map(|group| {
        let versions =
            group.versions.into_iter().map(|version| empty(version.version.into_owned())).collect();
        let preferred = group.preferred_version.unwrap_or_default().version.into_owned();
        ApiGroup { name: group.name.into_owned(), versions, preferred }
    });
    groups.collect()
}

fn empty(version: String) -> ApiVersion {
    ApiVersion { version, resources: Vec::new() }
}

/// Returns the resources, each with its subresources.
pub(super) fn resources(list: ApiResourceList<'_>, of: &GroupVersion) -> Vec<ApiResource> {
    let mut found: Vec<ApiResource> = Vec::new();
    let mut subresources = Vec::new();
    for resource in list.resources {
        match resource.name.split_once('/') {
            Some((parent, name)) => subresources.push((parent.to_owned(), name.to_owned(), resource)),
            None => found.push(ApiResource {
                kind: kind(&resource, of),
                name: resource.name.into_owned(),
                singular: resource.singular_name.into_owned(),
                namespaced: resource.namespaced,
                verbs: strings(resource.verbs),
                short_names: strings(resource.short_names),
                categories: strings(resource.categories),
                storage_version_hash: resource.storage_version_hash.into_owned(),
                subresources: Vec::new(),
            }),
        }
    }
    for (parent, name, resource) in subresources {
        let kind = kind(&resource, of);
        let subresource = ApiSubresource { name, kind, verbs: strings(resource.verbs) };
        match found.iter_mut().find(|resource| resource.name == parent) {
            Some(parent) => parent.subresources.push(subresource),
            None => found.push(ApiResource {
                name: parent,
                singular: resource.singular_name.into_owned(),
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

/// Returns the kind of a resource; group and version default to those of the list.
fn kind(resource: &Resource<'_>, of: &GroupVersion) -> GroupVersionKind {
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
        let resources = resources(serde_json::from_str(text).unwrap(), &of);
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
        let versions = serde_json::from_str(r#"{"kind":"APIVersions","versions":null}"#).unwrap();
        assert!(core_group(versions).is_none());
    }
}
