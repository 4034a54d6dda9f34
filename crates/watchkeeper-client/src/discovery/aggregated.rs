//! Aggregated discovery: all groups, versions and resources in one document.

use std::borrow::Cow;

use http::HeaderValue;
use watchkeeper_core::discovery::{ApiGroupDiscoveryList, ApiResourceDiscovery, ResponseKind};
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

/// Returns the full kind. Servers omit group and version if they are those of the resource.
fn full_kind(kind: ResponseKind<'_>, group_version: &GroupVersion) -> GroupVersionKind {
    if kind.version.is_empty() && kind.group.is_empty() {
        group_version.kind(kind.kind.into_owned())
    } else {
        GroupVersionKind::new(kind.group.into_owned(), kind.version.into_owned(), kind.kind.into_owned())
    }
}

/// Converts texts to owned strings.
pub(super) fn strings(texts: Vec<Cow<'_, str>>) -> Vec<String> {
    texts.into_iter().map(Cow::into_owned).collect()
}

/// Adds the content of a document. Stale versions become failures; the first version that is not stale is preferred.
pub(super) fn add(list: ApiGroupDiscoveryList<'_>, found: &mut Discovered) {
    for group in list.items {
        let name = group.metadata.name.into_owned();
        let mut versions = Vec::new();
        for version in group.versions {
            let of = GroupVersion::new(&*name, &*version.version);
            if version.freshness == "Stale" {
                found.failures.insert(of.clone(), DiscoveryError::Stale(of));
                continue;
            }
            let resources = version.resources.into_iter().filter_map(|one| resource(one, &of)).collect();
            versions.push(ApiVersion { version: version.version.into_owned(), resources });
        }
        let preferred = versions.first().map(|version| version.version.clone()).unwrap_or_default();
        found.groups.push(ApiGroup { name, versions, preferred });
    }
}

/// Converts a resource; `None` if neither it nor any of its subresources has a kind.
fn resource(resource: ApiResourceDiscovery<'_>, of: &GroupVersion) -> Option<ApiResource> {
    let subresources: Vec<ApiSubresource> = resource
        .subresources
        .into_iter()
        .filter_map(|one| {
            let kind = full_kind(one.response_kind, of);
            let (name, verbs) = (one.subresource.into_owned(), strings(one.verbs));
            (!kind.kind.is_empty()).then_some(ApiSubresource { name, kind, verbs })
        })
        .collect();
    let kind = full_kind(resource.response_kind, of);
    let is_served = !kind.kind.is_empty() || !subresources.is_empty();
    is_served.then(|| ApiResource {
        name: resource.resource.into_owned(),
        singular: resource.singular_resource.into_owned(),
        namespaced: resource.scope == "Namespaced",
        kind,
        verbs: strings(resource.verbs),
        short_names: strings(resource.short_names),
        categories: strings(resource.categories),
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
