//! Legacy discovery: separate documents for groups, versions and resources.

use watchkeeper_core::discovery::{
    ApiGroup, ApiGroupList, ApiResource, ApiResourceList, ApiVersions, GroupVersionForDiscovery,
    ServerAddressByClientCidr,
};

use super::aggregated::{texts, verb_names};
use super::{Document, JSON};
use crate::registry::{Registry, Resource, Subresource};

/// Returns the `APIVersions` of `/api`. `address` is the address of the server for clients: `host:port`.
pub fn api_versions(registry: &Registry, address: &str) -> Document {
    let address =
        ServerAddressByClientCidr { client_cidr: "0.0.0.0/0".into(), server_address: address.into() };
    let versions = ApiVersions {
        kind: "APIVersions".into(),
        versions: registry.versions("").into_iter().map(Into::into).collect(),
        server_address_by_client_cidrs: vec![address],
    };
    Document::new(&versions, JSON)
}

/// Returns the `APIGroupList` of `/apis`.
pub fn api_group_list(registry: &Registry) -> Document {
    let groups = registry.groups().filter(|group| !group.is_empty());
    let groups = groups.map(|name| group(registry, name)).collect();
    Document::new(&ApiGroupList { kind: "APIGroupList".into(), api_version: "v1".into(), groups }, JSON)
}

/// Returns the `APIGroup` of `/apis/G`, or `None` if there is no such group; the core group has none.
pub fn api_group(registry: &Registry, name: &str) -> Option<Document> {
    let name = registry.groups().find(|known| *known == name && !known.is_empty())?;
    let group = ApiGroup { kind: "APIGroup".into(), api_version: "v1".into(), ..group(registry, name) };
    Some(Document::new(&group, JSON))
}

/// Returns the `APIResourceList` of `/api/v1` or `/apis/G/V`, or `None` if it is not served.
pub fn api_resource_list(registry: &Registry, group: &str, version: &str) -> Option<Document> {
    let mut resources = Vec::new();
    for row in registry.resources(group, version) {
        resources.push(resource(row));
        resources.extend(row.subresources.iter().map(|sub| subresource(row, sub)));
    }
    let first = registry.resources(group, version).next()?;
    let list = ApiResourceList {
        kind: "APIResourceList".into(),
        // kube-apiserver omits the version in its oldest document.
        api_version: if group.is_empty() { "".into() } else { "v1".into() },
        group_version: first.group_version().to_string().into(),
        resources,
    };
    Some(Document::new(&list, JSON))
}

/// Returns a group as it appears in a list.
fn group<'a>(registry: &'a Registry, name: &'a str) -> ApiGroup<'a> {
    let version = |version: &'a str| GroupVersionForDiscovery {
        group_version: format!("{name}/{version}").into(),
        version: version.into(),
    };
    let versions: Vec<_> = registry.versions(name).into_iter().map(version).collect();
    let preferred_version = versions.first().cloned();
    ApiGroup { name: name.into(), versions, preferred_version, ..ApiGroup::default() }
}

fn resource(row: &Resource) -> ApiResource<'_> {
    ApiResource {
        name: row.name.as_ref().into(),
        singular_name: row.singular.as_ref().into(),
        namespaced: row.is_namespaced(),
        kind: row.kind.as_ref().into(),
        verbs: verb_names(row.verbs),
        short_names: texts(&row.short_names),
        categories: texts(&row.categories),
        ..ApiResource::default()
    }
}

fn subresource<'a>(row: &'a Resource, sub: &'a Subresource) -> ApiResource<'a> {
    let (group, version) = sub.group_version.as_ref().map_or(("", ""), |(group, version)| (group, version));
    ApiResource {
        name: format!("{}/{}", row.name, sub.name).into(),
        namespaced: row.is_namespaced(),
        group: group.into(),
        version: version.into(),
        kind: sub.kind.as_ref().into(),
        verbs: verb_names(sub.verbs),
        ..ApiResource::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::builtin;
    use serde_json::{Value, json};

    fn read(document: &Document) -> Value {
        serde_json::from_slice(&document.body).unwrap()
    }

    #[test]
    fn unknown_groups_and_versions_have_no_document() {
        assert!(api_group(builtin(), "").is_none());
        assert!(api_group(builtin(), "nobody").is_none());
        assert!(api_resource_list(builtin(), "apps", "v2").is_none());
    }

    #[test]
    fn a_group_names_its_preferred_version() {
        let expected = json!({
            "kind": "APIGroup", "apiVersion": "v1", "name": "autoscaling",
            "versions": [{"groupVersion": "autoscaling/v2", "version": "v2"},
                         {"groupVersion": "autoscaling/v1", "version": "v1"}],
            "preferredVersion": {"groupVersion": "autoscaling/v2", "version": "v2"},
        });
        assert_eq!(read(&api_group(builtin(), "autoscaling").unwrap()), expected);
    }

    #[test]
    fn subresources_follow_their_resource() {
        let list = read(&api_resource_list(builtin(), "apps", "v1").unwrap());
        let scale =
            list["resources"].as_array().unwrap().iter().find(|row| row["name"] == "deployments/scale");
        let expected = json!({
            "name": "deployments/scale", "singularName": "", "namespaced": true, "group": "autoscaling",
            "version": "v1", "kind": "Scale", "verbs": ["get", "patch", "update"],
        });
        assert_eq!(scale, Some(&expected));
    }
}
