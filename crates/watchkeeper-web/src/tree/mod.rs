//! Owner tree: objects below their owners, with the health of each.
//!
//! Input: objects of any kind with their metadata ([`OwnerGraph::new`]), and the JSON of those whose health is
//! assessed. Output: [`Node`]s, for the web page and `watchkeeper tree`.
//!
//! Invariants:
//! - `tree.T1`: every object is in the forest exactly once. If two have the same UID, being one object under two
//!   resources, the first one given is used.
//! - `tree.T2`: an object is below its controller if that exists, otherwise below its first existing owner; without one
//!   it is a root. Owners are found by UID only, and must be in the same namespace or cluster-scoped.
//! - `tree.T3`: a cycle of owners is broken at its first object by kind and name, which becomes a root.
//! - `tree.T4`: an object that would be [`MAX_DEPTH`] below a root becomes a root.
//! - `tree.T5`: siblings are ordered by kind, name, namespace and UID.
//! - `tree.T6`: a node's health is the object's own, by [`assess`], as in tables, workloads and the command line. The
//!   health of its descendants is a separate field.

pub mod health;
mod owner_graph;

use serde::Serialize;

pub use health::{Condition, Health, assess};
pub use owner_graph::{Member, NodeIndex, OwnerGraph};

/// Maximum number of objects from a root to a leaf (`tree.T4`). Keeps the JSON within the nesting limits of parsers.
pub const MAX_DEPTH: usize = 32;

/// An object with its health and the objects it owns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Node {
    /// API group; empty for core.
    pub group: String,
    /// API version.
    pub version: String,
    /// Resource, in the plural.
    pub resource: String,
    /// Kind.
    pub kind: String,
    /// Namespace; empty for cluster-scoped objects.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// UID.
    pub uid: String,
    /// Creation time, in RFC 3339.
    pub created: Option<String>,
    /// Health of the object itself (`tree.T6`).
    pub health: Health,
    /// Worst health of its descendants (`tree.T6`); `Unknown` if none of them has a health.
    pub below: Health,
    /// Short description of the object's own state, such as `3/3 ready`; may be empty.
    pub status: String,
    /// Objects it owns (`tree.T5`).
    pub children: Vec<Node>,
}
