//! Why a name stands for nothing.

use std::fmt;

use watchkeeper_core::{GroupKind, GroupVersion};

use super::super::DiscoveryError;
use super::{Mapping, PartialResource};

/// Why a name, or a kind, has no mapping.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum MapError {
    /// No resource and no kind is called so: what kubectl says of an argument.
    NoResourceType {
        /// The name.
        resource: String,
        /// The group that was said; may be empty.
        group: String,
        /// Names that are near.
        near: Vec<String>,
    },
    /// No resource is called so.
    NoResource {
        /// What was asked for.
        partial: PartialResource,
        /// Names that are near.
        near: Vec<String>,
    },
    /// No resource has this kind.
    NoKind {
        /// The kind.
        kind: GroupKind,
        /// The versions that it was looked for in; empty for all.
        versions: Vec<String>,
        /// Kinds that are near.
        near: Vec<String>,
    },
    /// Several resources are meant by it, and none counts more than another: say more.
    Ambiguous {
        /// What was asked for.
        asked: String,
        /// What it may mean.
        candidates: Vec<Mapping>,
    },
    /// Nothing could be found out.
    Discovery(DiscoveryError),
}

impl MapError {
    /// Whether there is nothing of this name, as far as is known.
    pub fn is_no_match(&self) -> bool {
        matches!(self, Self::NoResourceType { .. } | Self::NoResource { .. } | Self::NoKind { .. })
    }

    /// What may have been meant.
    pub fn near(&self) -> &[String] {
        match self {
            Self::NoResourceType { near, .. } | Self::NoResource { near, .. } | Self::NoKind { near, .. } => {
                near
            }
            Self::Ambiguous { .. } | Self::Discovery(_) => &[],
        }
    }

    /// What client-go and kubectl say, who do not guess what was meant.
    pub fn message(&self) -> String {
        match self {
            Self::NoResourceType { resource, group, .. } => match group.is_empty() {
                true => format!("the server doesn't have a resource type {resource:?}"),
                false => format!("the server doesn't have a resource type {resource:?} in group {group:?}"),
            },
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
            Self::Ambiguous { asked, candidates } => {
                let candidates: Vec<String> =
                    candidates.iter().map(|mapping| mapping.resource.to_string()).collect();
                format!("{asked} matches multiple resources [{}]", candidates.join(" "))
            }
            Self::Discovery(error) => error.to_string(),
        }
    }
}

/// Prints the [`message`](Self::message), and what may have been meant.
impl fmt::Display for MapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message())?;
        let near: Vec<String> = self.near().iter().map(|name| format!("{name:?}")).collect();
        match near.is_empty() {
            true => Ok(()),
            false => write!(f, "; did you mean {}?", near.join(" or ")),
        }
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
