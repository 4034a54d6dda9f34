//! Groups, versions, kinds and resources: the names of a type of object in a body and in a URL.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// An API group and version. The core group is the empty string.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct GroupVersion {
    /// `apps`; empty for the core group.
    pub group: String,
    /// `v1`.
    pub version: String,
}

/// An error from parsing an `apiVersion`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid apiVersion {text:?}: expected `version` or `group/version`")]
pub struct GroupVersionError {
    /// The rejected text.
    pub text: String,
}

impl GroupVersion {
    /// Creates a group version.
    pub fn new(group: impl Into<String>, version: impl Into<String>) -> Self {
        Self { group: group.into(), version: version.into() }
    }

    /// Returns the kind of this name in this group and version.
    pub fn kind(&self, kind: impl Into<String>) -> GroupVersionKind {
        GroupVersionKind { group: self.group.clone(), version: self.version.clone(), kind: kind.into() }
    }

    /// Returns the resource of this name in this group and version.
    pub fn resource(&self, resource: impl Into<String>) -> GroupVersionResource {
        GroupVersionResource {
            group: self.group.clone(),
            version: self.version.clone(),
            resource: resource.into(),
        }
    }

    /// Returns the URL path of this group version: `/api/v1`, `/apis/apps/v1`.
    pub fn path(&self) -> String {
        match self.group.as_str() {
            "" => format!("/api/{}", self.version),
            group => format!("/apis/{group}/{}", self.version),
        }
    }
}

/// Displays as an `apiVersion`: `v1`, `apps/v1`.
impl fmt::Display for GroupVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.group.is_empty() {
            write!(f, "{}/", self.group)?;
        }
        f.write_str(&self.version)
    }
}

/// Parses an `apiVersion`.
impl FromStr for GroupVersion {
    type Err = GroupVersionError;

    fn from_str(text: &str) -> Result<Self, GroupVersionError> {
        let (group, version) = match text.split_once('/') {
            Some((group, version)) if !group.is_empty() => (group, version),
            Some(_) => return Err(GroupVersionError { text: text.to_owned() }),
            None => ("", text),
        };
        if version.is_empty() || version.contains('/') {
            return Err(GroupVersionError { text: text.to_owned() });
        }
        Ok(Self::new(group, version))
    }
}

/// The type of an object as its body names it: group, version and kind.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct GroupVersionKind {
    /// `apps`; empty for the core group.
    pub group: String,
    /// `v1`.
    pub version: String,
    /// `Deployment`.
    pub kind: String,
}

impl GroupVersionKind {
    /// Creates a kind.
    ///
    /// ```
    /// use watchkeeper_core::GroupVersionKind;
    /// let deployment = GroupVersionKind::new("apps", "v1", "Deployment");
    /// assert_eq!(deployment.to_string(), "apps/v1, Kind=Deployment");
    /// assert_eq!(deployment.group_version().to_string(), "apps/v1");
    /// ```
    pub fn new(group: impl Into<String>, version: impl Into<String>, kind: impl Into<String>) -> Self {
        Self { group: group.into(), version: version.into(), kind: kind.into() }
    }

    /// Returns the group and version, which display as `apiVersion`.
    pub fn group_version(&self) -> GroupVersion {
        GroupVersion::new(&*self.group, &*self.version)
    }

    /// Returns the kind without its version.
    pub fn group_kind(&self) -> GroupKind {
        GroupKind { group: self.group.clone(), kind: self.kind.clone() }
    }
}

impl fmt::Display for GroupVersionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, Kind={}", self.group_version(), self.kind)
    }
}

/// The type of an object as a URL names it: group, version and resource.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct GroupVersionResource {
    /// `apps`; empty for the core group.
    pub group: String,
    /// `v1`.
    pub version: String,
    /// `deployments`.
    pub resource: String,
}

impl GroupVersionResource {
    /// Creates a resource.
    pub fn new(group: impl Into<String>, version: impl Into<String>, resource: impl Into<String>) -> Self {
        Self { group: group.into(), version: version.into(), resource: resource.into() }
    }

    /// Returns the group and version.
    pub fn group_version(&self) -> GroupVersion {
        GroupVersion::new(&*self.group, &*self.version)
    }

    /// Returns the resource without its version.
    pub fn group_resource(&self) -> GroupResource {
        GroupResource { group: self.group.clone(), resource: self.resource.clone() }
    }
}

impl fmt::Display for GroupVersionResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, Resource={}", self.group_version(), self.resource)
    }
}

/// A kind without a version.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct GroupKind {
    /// `apps`; empty for the core group.
    pub group: String,
    /// `Deployment`.
    pub kind: String,
}

/// Displays as `Deployment.apps`, or `Pod` in the core group.
impl fmt::Display for GroupKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        dotted(f, &self.kind, &self.group)
    }
}

/// A resource without a version.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct GroupResource {
    /// `apps`; empty for the core group.
    pub group: String,
    /// `deployments`.
    pub resource: String,
}

/// Displays as `deployments.apps`, or `pods` in the core group, as in server messages.
impl fmt::Display for GroupResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        dotted(f, &self.resource, &self.group)
    }
}

fn dotted(f: &mut fmt::Formatter<'_>, word: &str, group: &str) -> fmt::Result {
    f.write_str(word)?;
    if !group.is_empty() {
        write!(f, ".{group}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn api_versions_round_trip_through_text() {
        for (text, group, version) in [("v1", "", "v1"), ("apps/v1", "apps", "v1")] {
            let parsed: GroupVersion = text.parse().unwrap();
            assert_eq!(parsed, GroupVersion::new(group, version));
            assert_eq!(parsed.to_string(), text);
        }
    }

    #[test]
    fn malformed_api_versions_are_rejected() {
        for text in ["", "/v1", "apps/", "a/b/c", "/"] {
            assert_eq!(text.parse::<GroupVersion>(), Err(GroupVersionError { text: text.into() }));
        }
    }

    #[test]
    fn paths_and_dotted_names_omit_the_core_group() {
        let pods = GroupVersion::new("", "v1").resource("pods");
        let deployments = GroupVersion::new("apps", "v1").resource("deployments");
        assert_eq!(pods.group_version().path(), "/api/v1");
        assert_eq!(deployments.group_version().path(), "/apis/apps/v1");
        assert_eq!(pods.group_resource().to_string(), "pods");
        assert_eq!(deployments.group_resource().to_string(), "deployments.apps");
        assert_eq!(
            GroupVersionKind::new("apps", "v1", "Deployment").group_kind().to_string(),
            "Deployment.apps"
        );
    }
}
