//! Legacy discovery: separate documents for groups, versions and resources.

use serde::Serialize;

use super::aggregated::words;
use super::{Document, JSON};
use crate::registry::{Registry, Resource, Subresource, Text};

/// Returns the `APIVersions` of `/api`. `address` is the address of the server for clients: `host:port`.
pub fn api_versions(registry: &Registry, address: &str) -> Document {
    let list = ApiVersions {
        kind: "APIVersions",
        versions: registry.versions(""),
        server_address_by_client_cidrs: [ServerAddress { client_cidr: "0.0.0.0/0", server_address: address }],
    };
    Document::new(&list, JSON)
}

/// Returns the `APIGroupList` of `/apis`.
pub fn api_group_list(registry: &Registry) -> Document {
    let groups = registry.groups().filter(|group| !group.is_empty());
    let groups = groups.map(|group| Group::of(registry, group)).collect();
    Document::new(&Typed { kind: "APIGroupList", api_version: "v1", content: GroupList { groups } }, JSON)
}

/// Returns the `APIGroup` of `/apis/G`, or `None` if there is no such group; the core group has none.
pub fn api_group(registry: &Registry, group: &str) -> Option<Document> {
    let group = registry.groups().find(|known| *known == group && !known.is_empty())?;
    let content = Group::of(registry, group);
    Some(Document::new(&Typed { kind: "APIGroup", api_version: "v1", content }, JSON))
}

/// Returns the `APIResourceList` of `/api/v1` or `/apis/G/V`, or `None` if it is not served.
pub fn api_resource_list(registry: &Registry, group: &str, version: &str) -> Option<Document> {
    let mut resources = Vec::new();
    for row in registry.resources(group, version) {
        resources.push(Entry::of(row));
        resources.extend(row.subresources.iter().map(|sub| Entry::of_sub(row, sub)));
    }
    let first = registry.resources(group, version).next()?;
    let content = ResourceList { group_version: first.group_version().to_string(), resources };
    // kube-apiserver omits the version in its oldest document.
    let api_version = if group.is_empty() { "" } else { "v1" };
    Some(Document::new(&Typed { kind: "APIResourceList", api_version, content }, JSON))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Typed<T> {
    kind: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    api_version: &'static str,
    #[serde(flatten)]
    content: T,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ApiVersions<'a> {
    kind: &'static str,
    versions: Vec<&'a str>,
    #[serde(rename = "serverAddressByClientCIDRs")]
    server_address_by_client_cidrs: [ServerAddress<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ServerAddress<'a> {
    #[serde(rename = "clientCIDR")]
    client_cidr: &'static str,
    server_address: &'a str,
}

#[derive(Serialize)]
struct GroupList<'a> {
    groups: Vec<Group<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Group<'a> {
    name: &'a str,
    versions: Vec<Version<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    preferred_version: Option<Version<'a>>,
}

#[derive(Serialize, Clone)]
#[serde(rename_all = "camelCase")]
struct Version<'a> {
    group_version: String,
    version: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResourceList<'a> {
    group_version: String,
    resources: Vec<Entry<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'a> {
    name: String,
    singular_name: &'a str,
    namespaced: bool,
    #[serde(skip_serializing_if = "str::is_empty")]
    group: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    version: &'a str,
    kind: &'a str,
    verbs: Vec<&'static str>,
    #[serde(skip_serializing_if = "<[Text]>::is_empty")]
    short_names: &'a [Text],
    #[serde(skip_serializing_if = "<[Text]>::is_empty")]
    categories: &'a [Text],
}

impl<'a> Group<'a> {
    fn of(registry: &'a Registry, name: &'a str) -> Self {
        let version = |version: &'a str| Version { group_version: format!("{name}/{version}"), version };
        let versions: Vec<_> = registry.versions(name).into_iter().map(version).collect();
        Self { name, preferred_version: versions.first().cloned(), versions }
    }
}

impl<'a> Entry<'a> {
    fn of(row: &'a Resource) -> Self {
        Self {
            name: row.name.to_string(),
            singular_name: &row.singular,
            namespaced: row.is_namespaced(),
            group: "",
            version: "",
            kind: &row.kind,
            verbs: words(row.verbs),
            short_names: &row.short_names,
            categories: &row.categories,
        }
    }

    fn of_sub(row: &'a Resource, sub: &'a Subresource) -> Self {
        let (group, version) =
            sub.group_version.as_ref().map_or(("", ""), |(group, version)| (group, version));
        Self {
            name: format!("{}/{}", row.name, sub.name),
            singular_name: "",
            namespaced: row.is_namespaced(),
            group,
            version,
            kind: &sub.kind,
            verbs: words(sub.verbs),
            short_names: &[],
            categories: &[],
        }
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
