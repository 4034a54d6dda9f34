//! Resource names as users write them.

use std::fmt;

use watchkeeper_core::{GroupResource, GroupVersionResource};

/// A partially specified resource: empty parts match anything. (client-go: a partial `GroupVersionResource`.)
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct PartialResource {
    /// A group or a prefix of one; empty for any.
    pub group: String,
    /// A version; empty for any.
    pub version: String,
    /// Plural, singular or short name.
    pub resource: String,
}

impl PartialResource {
    /// Creates a partial resource that matches this name in any group and version.
    pub fn named(resource: impl Into<String>) -> Self {
        Self { resource: resource.into(), ..Self::default() }
    }

    /// Returns kubectl's interpretations of an argument, most likely first: `pods.v1.apps.example.com` is version `v1`
    /// of a group, or else any version of the group `v1.apps.example.com`.
    pub fn readings(argument: &str) -> Vec<Self> {
        let (resource, rest) = argument.split_once('.').unwrap_or((argument, ""));
        let part = |text: &str| text.to_owned();
        let in_version = rest.split_once('.').map(|(version, group)| Self {
            group: part(group),
            version: part(version),
            resource: part(resource),
        });
        let in_group = Self { group: part(rest), version: String::new(), resource: part(resource) };
        in_version.into_iter().chain([in_group]).collect()
    }
}

impl From<&GroupVersionResource> for PartialResource {
    fn from(full: &GroupVersionResource) -> Self {
        Self { group: full.group.clone(), version: full.version.clone(), resource: full.resource.clone() }
    }
}

impl From<&GroupResource> for PartialResource {
    fn from(full: &GroupResource) -> Self {
        Self { group: full.group.clone(), version: String::new(), resource: full.resource.clone() }
    }
}

/// Prints `group/version, Resource=resource`, as client-go does.
impl fmt::Display for PartialResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}, Resource={}", self.group, self.version, self.resource)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_parsed_as_kubectl_parses_them() {
        let read = |argument: &str| -> Vec<String> {
            PartialResource::readings(argument).iter().map(ToString::to_string).collect()
        };
        assert_eq!(read("po"), ["/, Resource=po"]);
        assert_eq!(read("deployments.apps"), ["apps/, Resource=deployments"]);
        assert_eq!(
            read("deployments.v1.apps"),
            ["apps/v1, Resource=deployments", "v1.apps/, Resource=deployments"]
        );
        assert_eq!(read("pods.v1."), ["/v1, Resource=pods", "v1./, Resource=pods"]);
        assert_eq!(read("a.b.example.com"), ["example.com/b, Resource=a", "b.example.com/, Resource=a"]);
        assert_eq!(read(""), ["/, Resource="]);
    }
}
