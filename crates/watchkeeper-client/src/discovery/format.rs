//! The file format of disk caches: legacy discovery documents as client-go writes them.

use serde::de::DeserializeOwned;
use watchkeeper_core::GroupVersion;

use super::legacy::{Group, GroupList, Resource, ResourceList, Version};
use super::{ApiGroup, ApiResource, ApiVersion};

/// Reads the groups from a file; `None` if it is invalid or of another kind.
pub(super) fn read_groups(bytes: &[u8]) -> Option<Vec<ApiGroup>> {
    let list: GroupList = read(bytes)?;
    let is_group_list = list.kind == "APIGroupList" && list.api_version == "v1";
    let groups = is_group_list.then(|| list.groups())?;
    (!groups.is_empty()).then_some(groups)
}

/// Reads the resources from a file; `None` if it is invalid or of another group version.
pub(super) fn read_resources(bytes: &[u8], of: &GroupVersion) -> Option<Vec<ApiResource>> {
    let list: ResourceList = read(bytes)?;
    let is_resource_list = list.kind == "APIResourceList" && list.api_version == "v1";
    (is_resource_list && list.group_version == of.to_string()).then(|| list.resources(of))
}

fn read<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    serde_json::from_slice(bytes).ok()
}

impl GroupList {
    /// Creates the document for these groups.
    pub(super) fn from_groups(groups: &[ApiGroup]) -> Self {
        let version = |group: &ApiGroup, version: &str| Version {
            group_version: GroupVersion::new(&*group.name, version).to_string(),
            version: version.to_owned(),
        };
        let groups = groups.iter().map(|group| Group {
            name: group.name.clone(),
            versions: Some(group.versions.iter().map(|one| version(group, &one.version)).collect()),
            preferred_version: Some(if group.preferred.is_empty() {
                Version::default()
            } else {
                version(group, &group.preferred)
            }),
        });
        Self { kind: "APIGroupList".into(), api_version: "v1".into(), groups: Some(groups.collect()) }
    }
}

impl ResourceList {
    /// Creates the document for a version. Kinds are written with group and version, as client-go does.
    pub(super) fn from_version(version: &ApiVersion, of: &GroupVersion) -> Self {
        let mut resources = Vec::new();
        for resource in &version.resources {
            if resource.is_served() {
                resources.push(Resource {
                    name: resource.name.clone(),
                    singular_name: resource.singular.clone(),
                    namespaced: resource.namespaced,
                    group: resource.kind.group.clone(),
                    version: resource.kind.version.clone(),
                    kind: resource.kind.kind.clone(),
                    verbs: Some(resource.verbs.clone()),
                    short_names: Some(resource.short_names.clone()),
                    categories: Some(resource.categories.clone()),
                    storage_version_hash: resource.storage_version_hash.clone(),
                });
            }
            resources.extend(resource.subresources.iter().map(|one| Resource {
                name: format!("{}/{}", resource.name, one.name),
                singular_name: resource.singular.clone(),
                namespaced: resource.namespaced,
                group: one.kind.group.clone(),
                version: one.kind.version.clone(),
                kind: one.kind.kind.clone(),
                verbs: Some(one.verbs.clone()),
                ..Resource::default()
            }));
        }
        Self {
            kind: "APIResourceList".into(),
            api_version: "v1".into(),
            group_version: of.to_string(),
            resources: Some(resources),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use watchkeeper_core::GroupVersionKind;

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
            let bytes = serde_json::to_vec(&ResourceList::from_version(&version, &of)).unwrap();
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
            let bytes = serde_json::to_vec(&GroupList::from_groups(&groups)).unwrap();
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
            let bytes = serde_json::to_vec(&ResourceList::from_version(&version, &of)).unwrap();
            let cut = cut % bytes.len();
            prop_assert_eq!(read_resources(&bytes[..cut], &of), None);
        }
    }
}
