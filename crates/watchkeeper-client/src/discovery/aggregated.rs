//! Aggregated discovery: all groups, versions and resources in one document.

use http::HeaderValue;
use serde::Deserialize;
use watchkeeper_core::{GroupVersion, GroupVersionKind};

use super::{ApiGroup, ApiResource, ApiSubresource, ApiVersion, Discovered, DiscoveryError};

/// The `Accept` header that kubectl sends.
pub(super) const ACCEPT_OF_KUBECTL: &str =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

/// The `Accept` header that we send: servers before 1.30 support only `v2beta1`, servers before 1.26 neither.
pub(super) const ACCEPT: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
     application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";

/// Returns the version of the aggregated document with this content type; `None` for any other document.
pub(super) fn version_of(content_type: &str) -> Option<&'static str> {
    let mut parts = content_type.split(';').map(str::trim);
    if !parts.next()?.eq_ignore_ascii_case("application/json") {
        return None;
    }
    let (mut group, mut version, mut kind) = ("", "", "");
    for part in parts.filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=')?;
        let value = value.trim().trim_matches('"');
        match name.trim().to_ascii_lowercase().as_str() {
            "g" => group = value,
            "v" => version = value,
            "as" => kind = value,
            _ => {}
        }
    }
    match (group, version, kind) {
        ("apidiscovery.k8s.io", "v2", "APIGroupDiscoveryList") => Some("v2"),
        ("apidiscovery.k8s.io", "v2beta1", "APIGroupDiscoveryList") => Some("v2beta1"),
        _ => None,
    }
}

/// Returns a header as text; empty if it is missing or not text.
pub(super) fn text(header: Option<&HeaderValue>) -> &str {
    header.and_then(|header| header.to_str().ok()).unwrap_or_default()
}

/// The document; `v2` and `v2beta1` have the same fields.
#[derive(Debug, Deserialize)]
pub(super) struct GroupList {
    #[serde(default)]
    items: Vec<Group>,
}

#[derive(Debug, Deserialize)]
struct Group {
    #[serde(default)]
    metadata: Metadata,
    #[serde(default)]
    versions: Vec<Version>,
}

#[derive(Debug, Default, Deserialize)]
struct Metadata {
    #[serde(default)]
    name: String,
}

#[derive(Debug, Deserialize)]
struct Version {
    version: String,
    #[serde(default)]
    resources: Vec<Resource>,
    #[serde(default)]
    freshness: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Resource {
    resource: String,
    #[serde(default)]
    response_kind: Option<Kind>,
    #[serde(default)]
    scope: String,
    #[serde(default)]
    singular_resource: String,
    #[serde(default)]
    verbs: Option<Vec<String>>,
    #[serde(default)]
    short_names: Option<Vec<String>>,
    #[serde(default)]
    categories: Option<Vec<String>>,
    #[serde(default)]
    subresources: Option<Vec<Subresource>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Subresource {
    subresource: String,
    #[serde(default)]
    response_kind: Option<Kind>,
    #[serde(default)]
    verbs: Option<Vec<String>>,
}

#[derive(Debug, Default, Deserialize)]
struct Kind {
    #[serde(default)]
    group: String,
    #[serde(default)]
    version: String,
    #[serde(default)]
    kind: String,
}

impl Kind {
    /// Returns the full kind. Servers omit group and version if they are those of the resource.
    fn within(self, group_version: &GroupVersion) -> GroupVersionKind {
        if self.version.is_empty() && self.group.is_empty() {
            group_version.kind(self.kind)
        } else {
            GroupVersionKind::new(self.group, self.version, self.kind)
        }
    }
}

/// Adds the content of a document. Stale versions become failures; the first version that is not stale is preferred.
pub(super) fn add(list: GroupList, found: &mut Discovered) {
    for group in list.items {
        let name = group.metadata.name;
        let mut versions = Vec::new();
        for version in group.versions {
            let of = GroupVersion::new(&*name, &*version.version);
            if version.freshness == "Stale" {
                found.failures.insert(of.clone(), DiscoveryError::Stale(of));
                continue;
            }
            let resources = version.resources.into_iter().filter_map(|one| resource(one, &of)).collect();
            versions.push(ApiVersion { version: version.version, resources });
        }
        let preferred = versions.first().map(|version| version.version.clone()).unwrap_or_default();
        found.groups.push(ApiGroup { name, versions, preferred });
    }
}

/// Converts a resource; `None` if neither it nor any of its subresources has a kind.
fn resource(resource: Resource, of: &GroupVersion) -> Option<ApiResource> {
    let subresources: Vec<ApiSubresource> = resource
        .subresources
        .unwrap_or_default()
        .into_iter()
        .filter_map(|one| {
            let kind = one.response_kind.unwrap_or_default().within(of);
            let verbs = one.verbs.unwrap_or_default();
            (!kind.kind.is_empty()).then_some(ApiSubresource { name: one.subresource, kind, verbs })
        })
        .collect();
    let kind = resource.response_kind.unwrap_or_default().within(of);
    let is_served = !kind.kind.is_empty() || !subresources.is_empty();
    is_served.then(|| ApiResource {
        name: resource.resource,
        singular: resource.singular_resource,
        namespaced: resource.scope == "Namespaced",
        kind,
        verbs: resource.verbs.unwrap_or_default(),
        short_names: resource.short_names.unwrap_or_default(),
        categories: resource.categories.unwrap_or_default(),
        storage_version_hash: String::new(),
        subresources,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_type_identifies_the_document() {
        for (content_type, expected) in [
            ("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", Some("v2")),
            ("application/json; as=APIGroupDiscoveryList; v=v2; g=apidiscovery.k8s.io", Some("v2")),
            ("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList;profile=x", Some("v2")),
            ("application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList", Some("v2beta1")),
            ("application/json;g=apidiscovery.k8s.io;v=v3;as=APIGroupDiscoveryList", None),
            ("application/json;g=other;v=v2;as=APIGroupDiscoveryList", None),
            ("application/yaml;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", None),
            ("application/json;g=apidiscovery.k8s.io;v=v2", None),
            ("application/json;nonsense", None),
            ("application/json", None),
            ("", None),
        ] {
            assert_eq!(version_of(content_type), expected, "{content_type}");
        }
    }

    #[test]
    fn a_resource_without_a_kind_keeps_its_subresources() {
        let list = serde_json::json!({"items": [{"metadata": {"name": "g"}, "versions": [
            {"version": "v2", "freshness": "Stale", "resources": []},
            {"version": "v1", "resources": [
                {"resource": "gone", "scope": "Namespaced", "verbs": ["get"]},
                {"resource": "half", "scope": "Namespaced", "responseKind": {},
                 "subresources": [{"subresource": "log", "verbs": ["get"],
                                   "responseKind": {"group": "g", "version": "v1", "kind": "Log"}},
                                  {"subresource": "odd", "verbs": ["get"]}]}]}]}]});
        let mut found = Discovered::default();
        add(serde_json::from_value(list).unwrap(), &mut found);
        assert_eq!(found.groups[0].preferred, "v1");
        let stale = GroupVersion::new("g", "v2");
        assert_eq!(found.failures[&stale].to_string(), "stale GroupVersion discovery: g/v2");
        let resources = &found.groups[0].versions[0].resources;
        assert_eq!(resources.len(), 1);
        assert!(!resources[0].is_served() && resources[0].subresources.len() == 1);
        assert_eq!(found.resources().count(), 0);
    }
}
