//! Ownership among a set of objects.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use watchkeeper_client::discovery::Mapping;
use watchkeeper_core::{Object, ObjectMeta};

use super::health::Health;
use super::{Condition, MAX_DEPTH, Node};

/// An object and its resource.
#[derive(Debug, Clone)]
pub struct Member {
    /// The resource, shared by its objects.
    pub mapping: Arc<Mapping>,
    /// The object. Its metadata has the owner references; its body may be metadata only.
    pub object: Arc<Object>,
}

/// Position of an object in its [`OwnerGraph`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NodeIndex(usize);

/// Objects and their ownership relations.
#[derive(Debug)]
pub struct OwnerGraph {
    /// Sorted (`tree.T5`).
    members: Vec<Member>,
    parents: Vec<Option<usize>>,
    /// Sorted, since members are (`tree.T5`).
    children: Vec<Vec<usize>>,
    by_uid: HashMap<Box<str>, usize>,
}

impl OwnerGraph {
    /// Builds the ownership relations of these objects.
    pub fn new(members: impl IntoIterator<Item = Member>) -> Self {
        let mut seen = HashSet::<Box<str>>::new();
        // tree.T1. Objects without a UID, which are not persisted, are not compared.
        let is_first = |member: &Member| {
            let uid = member.object.metadata.uid();
            uid.is_empty() || seen.insert(uid.into())
        };
        let mut members: Vec<Member> = members.into_iter().filter(is_first).collect();
        members.sort_by(in_order);

        let uid = |(index, member): (usize, &Member)| (member.object.metadata.uid().into(), index);
        let mut by_uid: HashMap<Box<str>, usize> = members.iter().enumerate().map(uid).collect();
        by_uid.remove("");
        let parent = |member: &Member| parent_of(&member.object.metadata, &members, &by_uid);
        let mut parents: Vec<Option<usize>> = members.iter().map(parent).collect();
        break_cycles(&mut parents);
        let mut children = vec![Vec::new(); members.len()];
        for (child, parent) in parents.iter().enumerate() {
            if let Some(parent) = parent {
                children[*parent].push(child);
            }
        }
        let mut graph = Self { members, parents, children, by_uid };
        graph.cut_at_depth();
        graph
    }

    /// Finds an object by UID.
    pub fn find(&self, uid: &str) -> Option<NodeIndex> {
        self.by_uid.get(uid).map(|index| NodeIndex(*index))
    }

    /// Returns the object at a position.
    pub fn member(&self, index: NodeIndex) -> &Member {
        &self.members[index.0]
    }

    /// Returns the owner; `None` for a root.
    pub fn parent(&self, index: NodeIndex) -> Option<NodeIndex> {
        self.parents[index.0].map(NodeIndex)
    }

    /// Returns the root above an object, or the object itself.
    pub fn top(&self, index: NodeIndex) -> NodeIndex {
        let mut at = index;
        while let Some(parent) = self.parent(at) {
            at = parent;
        }
        at
    }

    /// Returns all roots, sorted (`tree.T5`).
    pub fn roots(&self) -> impl Iterator<Item = NodeIndex> {
        let is_root = |index: &usize| self.parents[*index].is_none();
        (0..self.members.len()).filter(is_root).map(NodeIndex)
    }

    /// Returns an object and everything below it, parents before children.
    pub fn descendants(&self, index: NodeIndex) -> Vec<NodeIndex> {
        let mut found = vec![index];
        let mut at = 0;
        while let Some(NodeIndex(parent)) = found.get(at).copied() {
            found.extend(self.children[parent].iter().copied().map(NodeIndex));
            at += 1;
        }
        found
    }

    /// Builds the tree below an object; `assess` returns each object's own health.
    pub fn tree(&self, index: NodeIndex, assess: &mut dyn FnMut(&Member) -> Condition) -> Node {
        let member = &self.members[index.0];
        let own = assess(member);
        let children: Vec<Node> =
            self.children[index.0].iter().map(|child| self.tree(NodeIndex(*child), assess)).collect(); // bounded depth: tree.T4
        let (head, mapping) = (&member.object.metadata, &member.mapping);
        Node {
            group: mapping.resource.group.clone(),
            version: mapping.resource.version.clone(),
            resource: mapping.resource.resource.clone(),
            kind: mapping.kind.kind.clone(),
            namespace: head.key().namespace().unwrap_or_default().to_owned(),
            name: head.key().name().to_owned(),
            uid: head.uid().to_owned(),
            created: head.creation_timestamp().map(|created| created.to_string()),
            health: own.health,
            below: children
                .iter()
                .map(|child| child.health.max(child.below))
                .max()
                .unwrap_or(Health::Unknown),
            status: own.status,
            children,
        }
    }

    /// Makes objects roots that are too deep (`tree.T4`).
    fn cut_at_depth(&mut self) {
        let mut ahead: VecDeque<(usize, usize)> = self.roots().map(|NodeIndex(root)| (root, 1)).collect();
        while let Some((index, depth)) = ahead.pop_front() {
            let children = match depth {
                MAX_DEPTH => std::mem::take(&mut self.children[index]),
                _ => Vec::new(),
            };
            for root in &children {
                self.parents[*root] = None;
            }
            ahead.extend(children.into_iter().map(|root| (root, 1)));
            ahead.extend(self.children[index].iter().map(|child| (*child, depth + 1)));
        }
    }
}

/// Compares siblings (`tree.T5`).
fn in_order(one: &Member, other: &Member) -> Ordering {
    fn parts(member: &Member) -> (&str, &str, Option<&str>, &str, &str) {
        let (head, mapping) = (&member.object.metadata, &member.mapping);
        (&mapping.kind.kind, head.key().name(), head.key().namespace(), head.uid(), &mapping.resource.group)
    }
    parts(one).cmp(&parts(other))
}

/// Finds the parent of an object (`tree.T2`).
fn parent_of(head: &ObjectMeta, members: &[Member], by_uid: &HashMap<Box<str>, usize>) -> Option<usize> {
    let index_of = |uid: &str| {
        let index = *by_uid.get(uid)?;
        let namespace = members[index].object.metadata.key().namespace();
        (namespace.is_none() || namespace == head.key().namespace()).then_some(index)
    };
    let controller = head.controller().and_then(|owner| index_of(owner.uid));
    controller.or_else(|| head.owner_references().find_map(|owner| index_of(owner.uid)))
}

/// Breaks cycles (`tree.T3`). Members are sorted, so the first object of a cycle has the lowest index.
fn break_cycles(parents: &mut [Option<usize>]) {
    // For each object, the start of the walk that visited it.
    let mut walked = vec![usize::MAX; parents.len()];
    for start in 0..parents.len() {
        let mut at = Some(start);
        while let Some(index) = at {
            if walked[index] == start {
                let mut first = index;
                let mut next = parents[index];
                while let Some(other) = next.filter(|other| *other != index) {
                    first = first.min(other);
                    next = parents[other];
                }
                parents[first] = None;
                break;
            }
            if walked[index] != usize::MAX {
                break;
            }
            walked[index] = start;
            at = parents[index];
        }
    }
}

#[cfg(test)]
#[path = "owner_graph_tests.rs"]
mod tests;
