//! Graph: ownership by UID.
//!
//! Input: objects observed by the monitors, and owners that the server reports absent.
//! Output: objects that are due: they, or their dependents, may need to be deleted or orphaned.
//!
//! Invariants:
//! - `graph.G1`: a node's dependents are exactly the nodes with an owner reference to its UID.
//! - `graph.G2`: an owner that was never observed has a node too, and is due until it is observed or found
//!   absent.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::recent::Recent;
use super::reference::{Owner, Reference, Type, Uid};

/// Capacity of the cache of absent owners.
const ABSENT: usize = 500;
/// Capacity of the cache of owners that have orphaned their dependents.
const RELEASED: usize = 5000;

/// An object in the graph.
#[derive(Debug)]
struct Node {
    reference: Reference,
    owners: Box<[Owner]>,
    dependents: HashSet<Uid>,
    state: State,
    /// Whether a monitor has observed it; otherwise it is only referred to.
    is_observed: bool,
}

/// The deletion state of an object.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct State {
    /// Deletion has been requested.
    pub(super) is_terminating: bool,
    /// Foreground deletion: its dependents are deleted first.
    pub(super) deletes_dependents: bool,
    /// Its dependents are orphaned first.
    pub(super) orphans_dependents: bool,
}

/// An object as observed by a monitor.
#[derive(Debug)]
pub(super) struct Observed {
    pub(super) reference: Reference,
    pub(super) owners: Vec<Owner>,
    pub(super) state: State,
}

/// Objects to process.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Due {
    /// Check whether they are garbage, or whether their deletion can complete.
    pub(super) delete: Vec<Uid>,
    /// Orphan their dependents.
    pub(super) orphan: Vec<Uid>,
    /// As `delete`, but with backoff.
    pub(super) later: Vec<Uid>,
}

/// The part of a node that workers need.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) reference: Reference,
    pub(super) state: State,
    pub(super) is_observed: bool,
}

#[derive(Debug)]
pub(super) struct Graph {
    nodes: HashMap<Uid, Node>,
    types: Vec<Arc<Type>>,
    absent: Recent<Reference>,
    released: Recent<Uid>,
}

impl Default for Graph {
    fn default() -> Self {
        Self {
            nodes: HashMap::new(),
            types: Vec::new(),
            absent: Recent::new(ABSENT),
            released: Recent::new(RELEASED),
        }
    }
}

impl Graph {
    /// Returns an interned type.
    pub(super) fn of(&mut self, api_version: &str, kind: &str) -> Arc<Type> {
        let same = |of: &&Arc<Type>| of.api_version == api_version && of.kind == kind;
        if let Some(of) = self.types.iter().find(same) {
            return of.clone();
        }
        let of = Arc::new(Type { kind: kind.to_owned(), api_version: api_version.to_owned() });
        self.types.push(of.clone());
        of
    }

    /// Returns an interned UID.
    pub(super) fn uid(&self, uid: &str) -> Uid {
        self.nodes.get_key_value(uid).map_or_else(|| uid.into(), |(uid, _)| uid.clone())
    }

    /// Records that an object was added or updated.
    pub(super) fn observe(&mut self, observed: Observed) -> Due {
        let Observed { reference, owners, state } = observed;
        let (uid, mut due) = (reference.uid.clone(), Due::default());
        let Some(node) = self.nodes.get_mut(&uid) else {
            let owners_box = owners.clone().into_boxed_slice();
            let node =
                Node { reference, owners: owners_box, dependents: HashSet::new(), state, is_observed: true };
            self.nodes.insert(uid.clone(), node);
            self.add_to_owners(&uid, &owners, &mut due);
            self.start_deletion(&uid, State::default(), &mut due);
            return due;
        };
        let moved = !node.is_observed && node.reference != reference;
        node.is_observed = true;
        let before = std::mem::replace(&mut node.state, state);
        let old = std::mem::replace(&mut node.owners, owners.clone().into_boxed_slice());
        if moved {
            node.reference = reference.clone();
            // Dependents that refer to it by other coordinates may be garbage.
            due.delete.extend(self.dependents_of(&reference).1);
        }
        if *old != *owners {
            let is_in = |all: &[Owner], owner: &Owner| all.iter().any(|other| other.uid == owner.uid);
            let still_blocked =
                |owner: &Owner| owners.iter().any(|other| other.uid == owner.uid && other.blocks);
            // An owner that is no longer blocked may be deleted.
            let unblocked = old.iter().filter(|owner| owner.blocks && !still_blocked(owner));
            due.delete.extend(unblocked.map(|owner| owner.uid.clone()));
            let added: Vec<Owner> = owners.iter().filter(|owner| !is_in(&old, owner)).cloned().collect();
            self.add_to_owners(&uid, &added, &mut due);
            old.iter()
                .filter(|owner| !is_in(&owners, owner))
                .for_each(|owner| self.remove_from(&owner.uid, &uid));
        }
        self.start_deletion(&uid, before, &mut due);
        due
    }

    /// Records that an object was deleted.
    pub(super) fn gone(&mut self, uid: &str) -> Due {
        let mut due = Due::default();
        if let Some(reference) = self.nodes.get(uid).map(|node| node.reference.clone()) {
            self.remove(&reference, &mut due);
        }
        due
    }

    /// Records that the object does not exist where the reference says.
    pub(super) fn found_absent(&mut self, absent: &Reference) -> Due {
        let mut due = Due::default();
        let Some(node) = self.nodes.get(&absent.uid) else { return due };
        let (is_observed, is_same) = (node.is_observed, node.reference == *absent);
        let (matching, others) = self.dependents_of(absent);
        if is_observed && is_same || !is_observed && others.is_empty() {
            self.remove(absent, &mut due);
            return due;
        }
        // It may be elsewhere: other dependents refer to it differently, or it was observed there.
        if !matching.is_empty() {
            self.absent.add(absent.clone());
            due.delete.extend(matching);
        }
        if !is_observed
            && is_same
            && let Some(other) = self.next_location(absent, &others)
            && let Some(node) = self.nodes.get_mut(&absent.uid)
        {
            node.reference = other;
            due.later.push(absent.uid.clone());
        }
        due
    }

    /// Returns what is known of an object.
    pub(super) fn known(&self, uid: &str) -> Option<Known> {
        let Node { reference, state, is_observed, .. } = self.nodes.get(uid)?;
        Some(Known { reference: reference.clone(), state: *state, is_observed: *is_observed })
    }

    /// Returns the dependents of an object.
    pub(super) fn dependents(&self, uid: &str) -> Vec<Reference> {
        let all = self.nodes.get(uid).into_iter().flat_map(|node| &node.dependents);
        all.filter_map(|uid| Some(self.nodes.get(uid)?.reference.clone())).collect()
    }

    /// Returns the dependents that block an object's foreground deletion, each with whether it is in
    /// foreground deletion itself.
    pub(super) fn blocking(&self, uid: &str) -> Vec<(Uid, bool)> {
        let all = self.nodes.get(uid).into_iter().flat_map(|node| &node.dependents);
        let blocks = |node: &Node| node.owners.iter().any(|owner| *owner.uid == *uid && owner.blocks);
        all.filter_map(|uid| {
            let node = self.nodes.get(uid).filter(|node| blocks(node))?;
            Some((uid.clone(), node.state.deletes_dependents))
        })
        .collect()
    }

    /// Returns whether an object has dependents, and whether any of them is in foreground deletion.
    pub(super) fn owns(&self, uid: &str) -> (bool, bool) {
        let Some(node) = self.nodes.get(uid) else { return (false, false) };
        let mut dependents = node.dependents.iter().filter_map(|uid| self.nodes.get(uid));
        (!node.dependents.is_empty(), dependents.any(|dependent| dependent.state.deletes_dependents))
    }

    /// Returns whether this owner is known to be absent.
    pub(super) fn is_absent(&self, owner: &Reference) -> bool {
        self.absent.has(owner) || self.absent.has(&owner.of_cluster())
    }

    /// Records that this owner does not exist.
    pub(super) fn add_absent(&mut self, owner: Reference) {
        self.absent.add(owner);
    }

    /// Records that this owner orphans its dependents, including those observed later.
    pub(super) fn release(&mut self, owner: Uid) {
        self.released.add(owner);
    }

    /// Returns whether this owner has orphaned its dependents.
    pub(super) fn has_released(&self, owner: &str) -> bool {
        self.released.has(owner)
    }

    /// Adds what is due when an object starts foreground deletion or orphaning.
    fn start_deletion(&self, uid: &Uid, before: State, due: &mut Due) {
        let Some(node) = self.nodes.get(uid) else { return };
        if node.state.orphans_dependents && !before.orphans_dependents {
            due.orphan.push(uid.clone());
        } else if node.state.deletes_dependents && !before.deletes_dependents {
            due.delete.extend(node.dependents.iter().cloned());
            due.delete.push(uid.clone());
        }
    }

    /// Adds a dependent to its owners (`graph.G1`). If a reference does not match the owner, the dependent is
    /// due.
    fn add_to_owners(&mut self, uid: &Uid, owners: &[Owner], due: &mut Due) {
        let Some(key) = self.nodes.get(uid).map(|node| node.reference.key.clone()) else { return };
        let mut is_doubtful = false;
        for owner in owners {
            let node = self.nodes.entry(owner.uid.clone()).or_insert_with(|| {
                due.delete.push(owner.uid.clone()); // `graph.G2`
                let reference = owner.seen_from(&key);
                let (owners, dependents) = (Box::default(), HashSet::new());
                Node { reference, owners, dependents, state: State::default(), is_observed: false }
            });
            let is_elsewhere = !node.is_observed && node.reference.key.namespace() != key.namespace();
            is_doubtful |= !node.reference.is_above(&key) || !owner.is_of(&node.reference) || is_elsewhere;
            node.dependents.insert(uid.clone());
        }
        if is_doubtful {
            due.delete.push(uid.clone());
        }
    }

    fn remove_from(&mut self, owner: &str, dependent: &str) {
        if let Some(node) = self.nodes.get_mut(owner) {
            node.dependents.remove(dependent);
        }
    }

    /// Removes a node. Its dependents may be garbage, and its owners may be deleted.
    fn remove(&mut self, reference: &Reference, due: &mut Due) {
        let Some(node) = self.nodes.remove(&reference.uid) else { return };
        for owner in &node.owners {
            self.remove_from(&owner.uid, &reference.uid);
            if self.nodes.get(&owner.uid).is_some_and(|owner| owner.state.deletes_dependents) {
                due.delete.push(owner.uid.clone());
            }
        }
        if !node.dependents.is_empty() {
            self.absent.add(reference.clone());
        }
        due.delete.extend(node.dependents);
    }

    /// Returns the dependents whose owner reference matches this reference, and those whose does not.
    fn dependents_of(&self, reference: &Reference) -> (Vec<Uid>, Vec<Uid>) {
        let (mut matching, mut others) = (Vec::new(), Vec::new());
        let all = self.nodes.get(&reference.uid).into_iter().flat_map(|node| &node.dependents);
        for (uid, dependent) in all.filter_map(|uid| self.nodes.get_key_value(uid)) {
            let is_above = reference.is_above(&dependent.reference.key);
            let owners = dependent.owners.iter().filter(|owner| owner.uid == reference.uid);
            if owners.clone().any(|owner| is_above && owner.is_of(reference)) {
                matching.push(uid.clone());
            } else {
                others.push(uid.clone());
            }
        }
        (matching, others)
    }

    /// Returns the next coordinates at which dependents expect an owner, after those where it is absent.
    fn next_location(&self, absent: &Reference, dependents: &[Uid]) -> Option<Reference> {
        let nodes = dependents.iter().filter_map(|uid| self.nodes.get(uid));
        let locations = nodes.flat_map(|node| {
            let owners = node.owners.iter().filter(|owner| owner.uid == absent.uid);
            owners.map(|owner| owner.seen_from(&node.reference.key))
        });
        let mut locations: Vec<Reference> = locations.filter(|location| location != absent).collect();
        locations.sort();
        locations.iter().find(|location| *location > absent).or(locations.first()).cloned()
    }
}

#[cfg(test)]
mod tests {
    use watchkeeper_core::ObjectKey;

    use super::*;

    impl Graph {
        /// Puts a ConfigMap whose UID is its key, with owners in its own namespace given by UID.
        fn put(&mut self, key: &str, owners: &[&str], state: State) -> Due {
            let of = self.of("v1", "ConfigMap");
            let owner = |uid: &&str| {
                let name = uid.rsplit('/').next().unwrap_or_default().into();
                Owner { of: of.clone(), name, uid: (*uid).into(), blocks: true }
            };
            let owners = owners.iter().map(owner).collect();
            let reference = Reference { of: of.clone(), key: key.parse().unwrap(), uid: key.into() };
            self.observe(Observed { reference, owners, state })
        }

        /// Checks `graph.G1` for all nodes.
        fn check(&self) {
            for (uid, node) in &self.nodes {
                let owns = |other: &Node| other.owners.iter().any(|owner| owner.uid == *uid);
                let dependents: HashSet<Uid> =
                    self.nodes.iter().filter(|(_, other)| owns(other)).map(|(uid, _)| uid.clone()).collect();
                assert_eq!(node.dependents, dependents, "of {uid}");
            }
        }
    }

    fn due(delete: &[&str]) -> Due {
        Due { delete: delete.iter().map(|uid| (*uid).into()).collect(), ..Due::default() }
    }

    const LIVE: State = State { is_terminating: false, deletes_dependents: false, orphans_dependents: false };
    const FOREGROUND: State =
        State { is_terminating: true, deletes_dependents: true, orphans_dependents: false };
    const ORPHAN: State = State { is_terminating: true, deletes_dependents: false, orphans_dependents: true };

    #[test]
    fn dependents_are_due_when_their_owner_is_gone() {
        let mut graph = Graph::default();
        assert_eq!(graph.put("x/a", &[], LIVE), due(&[]));
        assert_eq!(graph.put("x/b", &["x/a"], LIVE), due(&[]));
        assert_eq!(graph.gone("x/a"), due(&["x/b"]));
        graph.check();
        let of = graph.of("v1", "ConfigMap");
        let a = Reference { of, key: ObjectKey::namespaced("x", "a"), uid: "x/a".into() };
        assert!(graph.is_absent(&a), "cached as absent");
    }

    #[test]
    fn an_unobserved_owner_is_due_until_it_is_observed_or_absent() {
        let mut graph = Graph::default();
        assert_eq!(graph.put("x/b", &["x/a"], LIVE), due(&["x/a"]));
        assert!(graph.known("x/a").is_some_and(|known| !known.is_observed));
        assert_eq!(graph.put("x/a", &[], LIVE), due(&[]));
        assert!(graph.known("x/a").is_some_and(|known| known.is_observed));

        assert_eq!(graph.put("x/d", &["x/c"], LIVE), due(&["x/c"]));
        let c = graph.known("x/c").unwrap().reference;
        assert_eq!(graph.found_absent(&c), due(&["x/d"]));
        assert!(graph.known("x/c").is_none());
        graph.check();
    }

    #[test]
    fn a_reference_to_an_owner_in_another_namespace_makes_the_dependent_due() {
        let mut graph = Graph::default();
        graph.put("x/a", &[], LIVE);
        graph.put("x/b", &["x/a"], LIVE);
        assert_eq!(graph.put("y/c", &["x/a"], LIVE), due(&["y/c"]));
        // Referred to before it is observed.
        graph.put("y/f", &["x/d"], LIVE);
        assert_eq!(graph.put("x/e", &["x/d"], LIVE), due(&["x/e"]), "one of the references is wrong");
        assert_eq!(graph.put("x/d", &[], LIVE), due(&["y/f"]));
        graph.check();
    }

    #[test]
    fn an_absent_owner_is_looked_up_where_other_dependents_expect_it() {
        let mut graph = Graph::default();
        graph.put("x/b", &["z/a"], LIVE);
        graph.put("y/c", &["z/a"], LIVE);
        let first = graph.known("z/a").unwrap().reference;
        assert_eq!(first.key, ObjectKey::namespaced("x", "a"));
        let due = graph.found_absent(&first);
        assert_eq!((due.delete, due.later), (vec!["x/b".into()], vec!["z/a".into()]));
        assert_eq!(graph.known("z/a").unwrap().reference.key, ObjectKey::namespaced("y", "a"));
        graph.check();
    }

    #[test]
    fn starting_a_deletion_makes_objects_due_once() {
        let mut graph = Graph::default();
        graph.put("x/a", &[], LIVE);
        graph.put("x/b", &["x/a"], LIVE);
        assert_eq!(graph.put("x/a", &[], FOREGROUND), due(&["x/b", "x/a"]));
        assert_eq!(graph.put("x/a", &[], FOREGROUND), due(&[]));
        assert_eq!(graph.blocking("x/a"), [("x/b".into(), false)]);
        assert_eq!(graph.put("x/a", &[], ORPHAN).orphan, ["x/a".into()]);
        assert_eq!(graph.put("x/a", &[], FOREGROUND), due(&["x/b", "x/a"]));
        assert_eq!(graph.put("x/b", &[], LIVE), due(&["x/a"]), "it no longer blocks the owner");
        graph.put("x/b", &["x/a"], LIVE);
        assert_eq!(graph.gone("x/b"), due(&["x/a"]), "a deleted dependent no longer blocks the owner");
        graph.check();
    }
}
