//! Mapping errors.

use std::fmt;

use watchkeeper_core::{GroupKind, GroupVersion};

use super::super::DiscoveryError;
use super::{Mapping, PartialResource};

/// An error mapping a name or kind to a resource.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum MapError {
    /// No resource or kind has this name; kubectl's error for an argument.
    NoResourceType {
        /// The name.
        resource: String,
        /// The requested group; may be empty.
        group: String,
        /// Similar names.
        suggestions: Vec<String>,
    },
    /// No resource has this name.
    NoResource {
        /// The requested resource.
        partial: PartialResource,
        /// Similar names.
        suggestions: Vec<String>,
    },
    /// No resource has this kind.
    NoKind {
        /// The kind.
        kind: GroupKind,
        /// The versions searched; empty for all.
        versions: Vec<String>,
        /// Similar kinds.
        suggestions: Vec<String>,
    },
    /// Several resources match with the same priority: specify the group or version.
    Ambiguous {
        /// The requested name.
        requested: String,
        /// The matching resources.
        candidates: Vec<Mapping>,
    },
    /// Discovery failed.
    Discovery(DiscoveryError),
}

impl MapError {
    /// Returns whether nothing matches.
    pub fn is_no_match(&self) -> bool {
        matches!(self, Self::NoResourceType { .. } | Self::NoResource { .. } | Self::NoKind { .. })
    }

    /// Returns similar names.
    pub fn suggestions(&self) -> &[String] {
        match self {
            Self::NoResourceType { suggestions, .. }
            | Self::NoResource { suggestions, .. }
            | Self::NoKind { suggestions, .. } => suggestions,
            Self::Ambiguous { .. } | Self::Discovery(_) => &[],
        }
    }

    /// Returns the text of client-go and kubectl, without similar names.
    pub fn message(&self) -> String {
        match self {
            Self::NoResourceType { resource, group, .. } if group.is_empty() => {
                format!("the server doesn't have a resource type {resource:?}")
            }
            Self::NoResourceType { resource, group, .. } => {
                format!("the server doesn't have a resource type {resource:?} in group {group:?}")
            }
            Self::NoResource { partial, .. } => format!("no matches for {partial}"),
            Self::NoKind { kind, versions, .. } => {
                let mut versions: Vec<String> = versions
                    .iter()
                    .map(|version| format!("{:?}", GroupVersion::new(&*kind.group, &**version).to_string()))
                    .collect();
                versions.sort();
                versions.dedup();
                let name = &kind.kind;
                match versions.as_slice() {
                    [] => format!("no matches for kind {name:?} in group {:?}", kind.group),
                    [version] => format!("no matches for kind {name:?} in version {version}"),
                    versions => {
                        format!("no matches for kind {name:?} in versions [{}]", versions.join(" "))
                    }
                }
            }
            Self::Ambiguous { requested, candidates } => {
                let candidates: Vec<String> =
                    candidates.iter().map(|mapping| mapping.resource.to_string()).collect();
                format!("{requested} matches multiple resources [{}]", candidates.join(" "))
            }
            Self::Discovery(error) => error.to_string(),
        }
    }
}

/// Prints the [`message`](Self::message) and similar names.
impl fmt::Display for MapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message())?;
        let suggestions: Vec<String> = self.suggestions().iter().map(|name| format!("{name:?}")).collect();
        if suggestions.is_empty() {
            return Ok(());
        }
        write!(f, "; did you mean {}?", suggestions.join(" or "))
    }
}

impl std::error::Error for MapError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Discovery(error) => std::error::Error::source(error),
            _ => None,
        }
    }
}

impl From<DiscoveryError> for MapError {
    fn from(error: DiscoveryError) -> Self {
        Self::Discovery(error)
    }
}
