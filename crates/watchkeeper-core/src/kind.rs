//! Groups, versions, kinds and resources: what a type of object is called in a body and in a URL.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// An API group and version. The core group is the empty text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct GroupVersion {
    /// `apps`; empty for the core group.
    pub group: String,
    /// `v1`.
    pub version: String,
}

/// Why a text is no `apiVersion`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("apiVersion {text:?} is neither `version` nor `group/version`")]
pub struct GroupVersionError {
    /// The text that was given.
    pub text: String,
}

impl GroupVersion {
    /// Puts the two together.
    pub fn new(group: impl Into<String>, version: impl Into<String>) -> Self {
        Self { group: group.into(), version: version.into() }
    }

    /// A kind of this group and version.
    pub fn kind(&self, kind: impl Into<String>) -> GroupVersionKind {
        GroupVersionKind { group: self.group.clone(), version: self.version.clone(), kind: kind.into() }
    }

    /// A resource of this group and version.
    pub fn resource(&self, resource: impl Into<String>) -> GroupVersionResource {
        GroupVersionResource {
            group: self.group.clone(),
            version: self.version.clone(),
            resource: resource.into(),
        }
    }

    /// Where a server keeps this group version: `/api/v1`, or `/apis/apps/v1`.
    pub fn path(&self) -> String {
        match self.group.as_str() {
            "" => format!("/api/{}", self.version),
            group => format!("/apis/{group}/{}", self.version),
        }
    }
}

/// Prints the `apiVersion`: `v1`, `apps/v1`.
impl fmt::Display for GroupVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.group.is_empty() {
            write!(f, "{}/", self.group)?;
        }
        f.write_str(&self.version)
    }
}

/// Reads an `apiVersion`.
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

/// The type of an object as its body names it.
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
    /// Puts the three together.
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

    /// The group and version, which print as `apiVersion`.
    pub fn group_version(&self) -> GroupVersion {
        GroupVersion::new(&*self.group, &*self.version)
    }

    /// The kind in any version.
    pub fn group_kind(&self) -> GroupKind {
        GroupKind { group: self.group.clone(), kind: self.kind.clone() }
    }
}

impl fmt::Display for GroupVersionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, Kind={}", self.group_version(), self.kind)
    }
}

/// The type of an object as a URL names it.
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
    /// Puts the three together.
    pub fn new(group: impl Into<String>, version: impl Into<String>, resource: impl Into<String>) -> Self {
        Self { group: group.into(), version: version.into(), resource: resource.into() }
    }

    /// The group and version, whose [`path`](GroupVersion::path) a server answers under.
    pub fn group_version(&self) -> GroupVersion {
        GroupVersion::new(&*self.group, &*self.version)
    }

    /// The resource in any version.
    pub fn group_resource(&self) -> GroupResource {
        GroupResource { group: self.group.clone(), resource: self.resource.clone() }
    }
}

impl fmt::Display for GroupVersionResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, Resource={}", self.group_version(), self.resource)
    }
}

/// A kind in any version.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct GroupKind {
    /// `apps`; empty for the core group.
    pub group: String,
    /// `Deployment`.
    pub kind: String,
}

/// Prints `Deployment.apps`, or `Pod` in the core group.
impl fmt::Display for GroupKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        dotted(f, &self.kind, &self.group)
    }
}

/// A resource in any version.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct GroupResource {
    /// `apps`; empty for the core group.
    pub group: String,
    /// `deployments`.
    pub resource: String,
}

/// Prints `deployments.apps`, or `pods` in the core group: the form that server messages use.
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
    fn an_api_version_survives_the_round_trip_through_text() {
        for (text, group, version) in [("v1", "", "v1"), ("apps/v1", "apps", "v1")] {
            let parsed: GroupVersion = text.parse().unwrap();
            assert_eq!(parsed, GroupVersion::new(group, version));
            assert_eq!(parsed.to_string(), text);
        }
    }

    #[test]
    fn a_malformed_api_version_is_refused() {
        for text in ["", "/v1", "apps/", "a/b/c", "/"] {
            assert_eq!(text.parse::<GroupVersion>(), Err(GroupVersionError { text: text.into() }));
        }
    }

    #[test]
    fn paths_and_dotted_names_leave_the_core_group_out() {
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
