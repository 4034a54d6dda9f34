//! The file format of disk caches: legacy discovery documents as client-go writes them.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use watchkeeper_core::discovery::{
    self as documents, ApiGroupList, ApiResourceList, GroupVersionForDiscovery,
};
use watchkeeper_core::{GroupVersion, GroupVersionKind};

use super::legacy;
use super::{ApiGroup, ApiResource, ApiVersion};

/// Reads the groups from a file; `None` if it is invalid or of another kind.
pub(super) fn read_groups(bytes: &[u8]) -> Option<Vec<ApiGroup>> {
    let list: ApiGroupList<'static> = read(bytes)?;
    let is_group_list = list.kind == "APIGroupList" && list.api_version == "v1";
    let groups = is_group_list.then(|| legacy::groups(list))?;
    (!groups.is_empty()).then_some(groups)
}

/// Reads the resources from a file; `None` if it is invalid or of another group version.
pub(super) fn read_resources(bytes: &[u8], of: &GroupVersion) -> Option<Vec<ApiResource>> {
    let list: ApiResourceList<'static> = read(bytes)?;
    let is_resource_list = list.kind == "APIResourceList" && list.api_version == "v1";
    (is_resource_list && list.group_version == of.to_string()).then(|| legacy::resources(list, of))
}

fn read<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    serde_json::from_slice(bytes).ok()
}

/// Creates the document for these groups.
pub(super) fn group_list(groups: &[ApiGroup]) -> ApiGroupList<'_> {
    let groups = groups.iter().map(|group| {
        let version = |version: &str| GroupVersionForDiscovery {
            group_version: GroupVersion::new(&*group.name, version).to_string().into(),
            version: version.to_owned().into(),
        };
        documents::ApiGroup {
            name: group.name.as_str().into(),
            versions: group.versions.iter().map(|one| version(&one.version)).collect(),
            preferred_version: Some(if group.preferred.is_empty() {
                GroupVersionForDiscovery::default()
            } else {
                version(&group.preferred)
            }),
            ..documents::ApiGroup::default()
        }
    });
    ApiGroupList { kind: "APIGroupList".into(), api_version: "v1".into(), groups: groups.collect() }
}

/// Creates the document for a version. Kinds are written with group and version, as client-go does.
pub(super) fn resource_list<'a>(version: &'a ApiVersion, of: &GroupVersion) -> ApiResourceList<'a> {
    let mut resources = Vec::new();
    for resource in &version.resources {
        if resource.is_served() {
            resources.push(documents::ApiResource {
                name: resource.name.as_str().into(),
                short_names: texts(&resource.short_names),
                categories: texts(&resource.categories),
                storage_version_hash: resource.storage_version_hash.as_str().into(),
                ..document(resource, &resource.kind, &resource.verbs)
            });
        }
        resources.extend(resource.subresources.iter().map(|one| documents::ApiResource {
            name: format!("{}/{}", resource.name, one.name).into(),
            ..document(resource, &one.kind, &one.verbs)
        }));
    }
    ApiResourceList {
        kind: "APIResourceList".into(),
        api_version: "v1".into(),
        group_version: of.to_string().into(),
        resources,
    }
}

/// Returns the fields that resources and subresources have in common.
fn document<'a>(
    resource: &'a ApiResource,
    kind: &'a GroupVersionKind,
    verbs: &'a [String],
) -> documents::ApiResource<'a> {
    documents::ApiResource {
        singular_name: resource.singular.as_str().into(),
        namespaced: resource.namespaced,
        group: kind.group.as_str().into(),
        version: kind.version.as_str().into(),
        kind: kind.kind.as_str().into(),
        verbs: texts(verbs),
        ..documents::ApiResource::default()
    }
}

fn texts(texts: &[String]) -> Vec<Cow<'_, str>> {
    texts.iter().map(|text| text.as_str().into()).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::ApiSubresource;
    use super::*;

    fn names() -> impl Strategy<Value = Vec<String>> {
        prop::collection::vec("[a-z]{1,6}", 0..3)
    }

    fn kind() -> impl Strategy<Value = GroupVersionKind> {
        ("[a-z.]{1,8}", "v[1-9]", "[A-Z][a-z]{0,6}").prop_map(|(g, v, k)| GroupVersionKind::new(g, v, k))
    }

    prop_compose! {
        fn resource()(
            name in "[a-z]{1,8}", singular in "[a-z]{0,8}", namespaced: bool, kind in kind(),
            verbs in names(), short_names in names(), categories in names(), hash in "[A-Za-z0-9+/=]{0,8}",
            below in prop::collection::vec(("[a-z]{1,6}", kind(), names()), 0..3),
        ) -> ApiResource {
            let subresources = below.into_iter().map(|(name, kind, verbs)| ApiSubresource { name, kind, verbs });
            ApiResource {
                name, singular, namespaced, kind, verbs, short_names, categories,
                storage_version_hash: hash, subresources: subresources.collect(),
            }
        }
    }

    proptest! {
        #[test]
        fn resources_survive_a_round_trip(resources in prop::collection::vec(resource(), 1..5)) {
            let mut resources = resources;
            resources.sort_by(|a, b| a.name.cmp(&b.name));
            resources.dedup_by(|a, b| a.name == b.name);
            let of = GroupVersion::new("g.example.com", "v1");
            let version = ApiVersion { version: "v1".into(), resources };
            let bytes = serde_json::to_vec(&resource_list(&version, &of)).unwrap();
            prop_assert_eq!(read_resources(&bytes, &of), Some(version.resources));
            prop_assert_eq!(read_resources(&bytes, &GroupVersion::new("other", "v1")), None);
            prop_assert_eq!(read_groups(&bytes), None);
        }

        #[test]
        fn groups_survive_a_round_trip(
            groups in prop::collection::vec(("[a-z.]{0,8}", prop::collection::vec("v[1-9]", 0..3)), 1..5)
        ) {
            let groups: Vec<ApiGroup> = groups.into_iter().map(|(name, versions)| ApiGroup {
                name,
                preferred: versions.first().cloned().unwrap_or_default(),
                versions: versions.into_iter().map(|version| ApiVersion { version, resources: Vec::new() }).collect(),
            }).collect();
            let bytes = serde_json::to_vec(&group_list(&groups)).unwrap();
            prop_assert_eq!(read_groups(&bytes), Some(groups));
        }

        #[test]
        fn other_files_are_ignored_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(read_groups(&bytes), None);
            prop_assert_eq!(read_resources(&bytes, &GroupVersion::new("", "v1")), None);
        }

        #[test]
        fn a_truncated_file_is_ignored(cut in 0usize..1000) {
            let version = ApiVersion { version: "v1".into(), resources: vec![ApiResource {
                name: "pods".into(), singular: "pod".into(), namespaced: true,
                kind: GroupVersionKind::new("", "v1", "Pod"), verbs: vec!["get".into()],
                short_names: vec!["po".into()], categories: vec!["all".into()],
                storage_version_hash: String::new(), subresources: Vec::new(),
            }]};
            let of = GroupVersion::new("", "v1");
            let bytes = serde_json::to_vec(&resource_list(&version, &of)).unwrap();
            let cut = cut % bytes.len();
            prop_assert_eq!(read_resources(&bytes[..cut], &of), None);
        }
    }
}
