//! Tree: which objects belong to which, and how each of them is.
//!
//! From: objects of any kinds, by their heads ([`Family::new`]), and the JSON of those that are looked at.
//! To:   [`Node`]s: for a page that draws them, and a command that prints them.
//!
//! - T1: every object is in the forest exactly once; of two with the same uid, which are one object under two
//!   resources, the first that was given counts.
//! - T2: an object is below its controller if that is there, or else below the first of its owners that is; without
//!   any it is a root. Owners are found by uid alone, and one in another namespace is none.
//! - T3: objects that own each other in a circle begin with the first of them by kind and name, which is a root.
//! - T4: what would be [`MAX_DEPTH`] below a root is a root.
//! - T5: siblings are in the order of kind, name, namespace and uid.
//! - T6: a node's health is the object's own, by [`assess`], as everywhere else: in the rows of tables, in workloads and
//!   on the command line. How its descendants are is a field of its own.

mod family;
pub mod health;

use serde::Serialize;

pub use family::{Family, Member, Place};
pub use health::{Condition, Health, assess};

/// How many objects there may be from a root to a leaf (T4). JSON of it stays within what parsers accept.
pub const MAX_DEPTH: usize = 32;

/// An object, how it is, and what belongs to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Node {
    /// Of which group; empty for core.
    pub group: String,
    /// Of which version.
    pub version: String,
    /// Of which resource, in the plural.
    pub resource: String,
    /// Of which kind.
    pub kind: String,
    /// In which namespace; empty where there are none.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// When it was created, in RFC 3339.
    pub created: Option<String>,
    /// How it is itself (T6).
    pub health: Health,
    /// The worst health among its descendants (T6); unknown where it has none that say how they are.
    pub below: Health,
    /// How it is itself, in a few words; empty where it says nothing.
    pub status: String,
    /// What belongs to it (T5).
    pub children: Vec<Node>,
}
