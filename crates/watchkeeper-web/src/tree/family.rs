//! Ownership among a set of objects.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use watchkeeper_client::discovery::Mapping;
use watchkeeper_core::{Head, Object};

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

/// Position of an object in its [`Family`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Place(usize);

/// Objects and their ownership relations.
#[derive(Debug)]
pub struct Family {
    /// Sorted (`tree.T5`).
    members: Vec<Member>,
    parents: Vec<Option<usize>>,
    /// Sorted, since members are (`tree.T5`).
    children: Vec<Vec<usize>>,
    by_uid: HashMap<Box<str>, usize>,
}

impl Family {
    /// Builds the ownership relations of these objects.
    pub fn new(members: impl IntoIterator<Item = Member>) -> Self {
        let mut seen = HashSet::<Box<str>>::new();
        // tree.T1. Objects without a UID, which are not persisted, are not compared.
        let is_first = |member: &Member| {
            let uid = member.object.head.uid();
            uid.is_empty() || seen.insert(uid.into())
        };
        let mut members: Vec<Member> = members.into_iter().filter(is_first).collect();
        members.sort_by(in_order);

        let uid = |(place, member): (usize, &Member)| (member.object.head.uid().into(), place);
        let mut by_uid: HashMap<Box<str>, usize> = members.iter().enumerate().map(uid).collect();
        by_uid.remove("");
        let parent = |member: &Member| parent_of(&member.object.head, &members, &by_uid);
        let mut parents: Vec<Option<usize>> = members.iter().map(parent).collect();
        break_cycles(&mut parents);
        let mut children = vec![Vec::new(); members.len()];
        for (child, parent) in parents.iter().enumerate() {
            if let Some(parent) = parent {
                children[*parent].push(child);
            }
        }
        let mut family = Self { members, parents, children, by_uid };
        family.cut_at_depth();
        family
    }

    /// Finds an object by UID.
    pub fn find(&self, uid: &str) -> Option<Place> {
        self.by_uid.get(uid).map(|place| Place(*place))
    }

    /// Returns the object at a position.
    pub fn member(&self, place: Place) -> &Member {
        &self.members[place.0]
    }

    /// Returns the owner; `None` for a root.
    pub fn parent(&self, place: Place) -> Option<Place> {
        self.parents[place.0].map(Place)
    }

    /// Returns the root above an object, or the object itself.
    pub fn top(&self, place: Place) -> Place {
        let mut at = place;
        while let Some(parent) = self.parent(at) {
            at = parent;
        }
        at
    }

    /// Returns all roots, sorted (`tree.T5`).
    pub fn roots(&self) -> impl Iterator<Item = Place> {
        let is_root = |place: &usize| self.parents[*place].is_none();
        (0..self.members.len()).filter(is_root).map(Place)
    }

    /// Returns an object and everything below it, parents before children.
    pub fn descendants(&self, place: Place) -> Vec<Place> {
        let mut found = vec![place];
        let mut at = 0;
        while let Some(Place(parent)) = found.get(at).copied() {
            found.extend(self.children[parent].iter().copied().map(Place));
            at += 1;
        }
        found
    }

    /// Builds the tree below an object; `assess` returns each object's own health.
    pub fn tree(&self, place: Place, assess: &mut dyn FnMut(&Member) -> Condition) -> Node {
        let member = &self.members[place.0];
        let own = assess(member);
        let children: Vec<Node> =
            self.children[place.0].iter().map(|child| self.tree(Place(*child), assess)).collect(); // bounded depth: tree.T4
        let (head, mapping) = (&member.object.head, &member.mapping);
        Node {
            group: mapping.resource.group.clone(),
            version: mapping.resource.version.clone(),
            resource: mapping.resource.resource.clone(),
            kind: mapping.kind.kind.clone(),
            namespace: head.key().namespace().unwrap_or_default().to_owned(),
            name: head.key().name().to_owned(),
            uid: head.uid().to_owned(),
            created: head.created().map(|created| created.to_string()),
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
        let mut ahead: VecDeque<(usize, usize)> = self.roots().map(|Place(root)| (root, 1)).collect();
        while let Some((place, depth)) = ahead.pop_front() {
            let children = match depth {
                MAX_DEPTH => std::mem::take(&mut self.children[place]),
                _ => Vec::new(),
            };
            for root in &children {
                self.parents[*root] = None;
            }
            ahead.extend(children.into_iter().map(|root| (root, 1)));
            ahead.extend(self.children[place].iter().map(|child| (*child, depth + 1)));
        }
    }
}

/// Compares siblings (`tree.T5`).
fn in_order(one: &Member, other: &Member) -> Ordering {
    fn parts(member: &Member) -> (&str, &str, Option<&str>, &str, &str) {
        let (head, mapping) = (&member.object.head, &member.mapping);
        (&mapping.kind.kind, head.key().name(), head.key().namespace(), head.uid(), &mapping.resource.group)
    }
    parts(one).cmp(&parts(other))
}

/// Finds the parent of an object (`tree.T2`).
fn parent_of(head: &Head, members: &[Member], by_uid: &HashMap<Box<str>, usize>) -> Option<usize> {
    let place_of = |uid: &str| {
        let place = *by_uid.get(uid)?;
        let namespace = members[place].object.head.key().namespace();
        (namespace.is_none() || namespace == head.key().namespace()).then_some(place)
    };
    let controller = head.controller().and_then(|owner| place_of(owner.uid));
    controller.or_else(|| head.owners().find_map(|owner| place_of(owner.uid)))
}

/// Breaks cycles (`tree.T3`). Members are sorted, so the first object of a cycle has the lowest index.
fn break_cycles(parents: &mut [Option<usize>]) {
    // For each object, the start of the walk that visited it.
    let mut walked = vec![usize::MAX; parents.len()];
    for start in 0..parents.len() {
        let mut at = Some(start);
        while let Some(place) = at {
            if walked[place] == start {
                let mut first = place;
                let mut next = parents[place];
                while let Some(other) = next.filter(|other| *other != place) {
                    first = first.min(other);
                    next = parents[other];
                }
                parents[first] = None;
                break;
            }
            if walked[place] != usize::MAX {
                break;
            }
            walked[place] = start;
            at = parents[place];
        }
    }
}

#[cfg(test)]
#[path = "family_tests.rs"]
mod tests;
