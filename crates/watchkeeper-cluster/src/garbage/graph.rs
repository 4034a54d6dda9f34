//! Graph: who owns whom, by uid.
//!
//! From: what the monitors have seen, and what was found out when somebody was looked for.
//! To:   objects that are due: something about them, or about those whom they own, is to be done.
//!
//! - G1: a node has exactly those dependents whose owners have its uid.
//! - G2: an owner that nobody has seen has a node too, and is due until it is seen or found absent.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::recent::Recent;
use super::reference::{Owner, Reference, Type, Uid};

/// How many owners that are known to be absent are remembered.
const ABSENT: usize = 500;
/// How many owners that have let their dependents go are remembered.
const RELEASED: usize = 5000;

/// An object, and what of it counts here.
#[derive(Debug)]
struct Node {
    reference: Reference,
    owners: Box<[Owner]>,
    dependents: HashSet<Uid>,
    state: State,
    /// Whether a monitor has seen it, or only somebody has referred to it.
    is_observed: bool,
}

/// How an object is about to go.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct State {
    /// It was asked to go.
    pub(super) is_going: bool,
    /// Its dependents are to be deleted before.
    pub(super) deletes_dependents: bool,
    /// Its dependents are to be let go before.
    pub(super) orphans_dependents: bool,
}

/// An object as a monitor sees it.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) reference: Reference,
    pub(super) owners: Vec<Owner>,
    pub(super) state: State,
}

/// What is to be looked at.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Due {
    /// Whether they are garbage, or can go.
    pub(super) delete: Vec<Uid>,
    /// Whose dependents are to be let go.
    pub(super) orphan: Vec<Uid>,
    /// Whether they are garbage, but not at once.
    pub(super) later: Vec<Uid>,
}

/// What a worker is to know of a node.
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
    /// A type, which all share who are of it.
    pub(super) fn of(&mut self, api_version: &str, kind: &str) -> Arc<Type> {
        let same = |of: &&Arc<Type>| of.api_version == api_version && of.kind == kind;
        if let Some(of) = self.types.iter().find(same) {
            return of.clone();
        }
        let of = Arc::new(Type { kind: kind.to_owned(), api_version: api_version.to_owned() });
        self.types.push(of.clone());
        of
    }

    /// A uid, which all share who refer to it.
    pub(super) fn uid(&self, uid: &str) -> Uid {
        self.nodes.get_key_value(uid).map_or_else(|| uid.into(), |(uid, _)| uid.clone())
    }

    /// An object is there, or has changed.
    pub(super) fn seen(&mut self, seen: Seen) -> Due {
        let Seen { reference, owners, state } = seen;
        let (uid, mut due) = (reference.uid.clone(), Due::default());
        let Some(node) = self.nodes.get_mut(&uid) else {
            let owners_box = owners.clone().into_boxed_slice();
            let node =
                Node { reference, owners: owners_box, dependents: HashSet::new(), state, is_observed: true };
            self.nodes.insert(uid.clone(), node);
            self.add_to_owners(&uid, &owners, &mut due);
            self.begin(&uid, State::default(), &mut due);
            return due;
        };
        let moved = !node.is_observed && node.reference != reference;
        node.is_observed = true;
        let before = std::mem::replace(&mut node.state, state);
        let old = std::mem::replace(&mut node.owners, owners.clone().into_boxed_slice());
        if moved {
            node.reference = reference.clone();
            // Those who took it for another may be garbage.
            due.delete.extend(self.dependents_of(&reference).1);
        }
        if *old != *owners {
            let is_in = |all: &[Owner], owner: &Owner| all.iter().any(|other| other.uid == owner.uid);
            let still_blocked =
                |owner: &Owner| owners.iter().any(|other| other.uid == owner.uid && other.blocks);
            // Who is not blocked any more may go.
            let unblocked = old.iter().filter(|owner| owner.blocks && !still_blocked(owner));
            due.delete.extend(unblocked.map(|owner| owner.uid.clone()));
            let added: Vec<Owner> = owners.iter().filter(|owner| !is_in(&old, owner)).cloned().collect();
            self.add_to_owners(&uid, &added, &mut due);
            old.iter()
                .filter(|owner| !is_in(&owners, owner))
                .for_each(|owner| self.remove_from(&owner.uid, &uid));
        }
        self.begin(&uid, before, &mut due);
        due
    }

    /// An object is gone.
    pub(super) fn gone(&mut self, uid: &str) -> Due {
        let mut due = Due::default();
        if let Some(reference) = self.nodes.get(uid).map(|node| node.reference.clone()) {
            self.remove(&reference, &mut due);
        }
        due
    }

    /// An object was looked for where it is said to be, and is not there.
    pub(super) fn found_absent(&mut self, absent: &Reference) -> Due {
        let mut due = Due::default();
        let Some(node) = self.nodes.get(&absent.uid) else { return due };
        let (is_observed, is_same) = (node.is_observed, node.reference == *absent);
        let (matching, others) = self.dependents_of(absent);
        if is_observed && is_same || !is_observed && others.is_empty() {
            self.remove(absent, &mut due);
            return due;
        }
        // It may be elsewhere: some refer to it otherwise, or it was seen there.
        if !matching.is_empty() {
            self.absent.add(absent.clone());
            due.delete.extend(matching);
        }
        if !is_observed
            && is_same
            && let Some(other) = self.otherwise(absent, &others)
            && let Some(node) = self.nodes.get_mut(&absent.uid)
        {
            node.reference = other;
            due.later.push(absent.uid.clone());
        }
        due
    }

    /// What is known of an object.
    pub(super) fn known(&self, uid: &str) -> Option<Known> {
        let Node { reference, state, is_observed, .. } = self.nodes.get(uid)?;
        Some(Known { reference: reference.clone(), state: *state, is_observed: *is_observed })
    }

    /// Whom an object owns.
    pub(super) fn dependents(&self, uid: &str) -> Vec<Reference> {
        let all = self.nodes.get(uid).into_iter().flat_map(|node| &node.dependents);
        all.filter_map(|uid| Some(self.nodes.get(uid)?.reference.clone())).collect()
    }

    /// Who is to go before an object that deletes its dependents: each, and whether it deletes its own first.
    pub(super) fn blocking(&self, uid: &str) -> Vec<(Uid, bool)> {
        let all = self.nodes.get(uid).into_iter().flat_map(|node| &node.dependents);
        let blocks = |node: &Node| node.owners.iter().any(|owner| *owner.uid == *uid && owner.blocks);
        all.filter_map(|uid| {
            let node = self.nodes.get(uid).filter(|node| blocks(node))?;
            Some((uid.clone(), node.state.deletes_dependents))
        })
        .collect()
    }

    /// Whether an object owns any, and whether any of them deletes its own dependents.
    pub(super) fn owns(&self, uid: &str) -> (bool, bool) {
        let Some(node) = self.nodes.get(uid) else { return (false, false) };
        let mut dependents = node.dependents.iter().filter_map(|uid| self.nodes.get(uid));
        (!node.dependents.is_empty(), dependents.any(|dependent| dependent.state.deletes_dependents))
    }

    /// Whether this owner is known to be absent.
    pub(super) fn is_absent(&self, owner: &Reference) -> bool {
        self.absent.has(owner) || self.absent.has(&owner.of_cluster())
    }

    /// This owner was looked for and is not there.
    pub(super) fn add_absent(&mut self, owner: Reference) {
        self.absent.add(owner);
    }

    /// This owner lets its dependents go. Those who are seen later are let go, too.
    pub(super) fn release(&mut self, owner: Uid) {
        self.released.add(owner);
    }

    /// Whether this owner has let its dependents go.
    pub(super) fn has_released(&self, owner: &str) -> bool {
        self.released.has(owner)
    }

    /// Something begins: the object is to delete its dependents, or to let them go.
    fn begin(&self, uid: &Uid, before: State, due: &mut Due) {
        let Some(node) = self.nodes.get(uid) else { return };
        if node.state.orphans_dependents && !before.orphans_dependents {
            due.orphan.push(uid.clone());
        } else if node.state.deletes_dependents && !before.deletes_dependents {
            due.delete.extend(node.dependents.iter().cloned());
            due.delete.push(uid.clone());
        }
    }

    /// Has owners know their dependent (G1). Where something about them does not fit, the dependent is due.
    fn add_to_owners(&mut self, uid: &Uid, owners: &[Owner], due: &mut Due) {
        let Some(key) = self.nodes.get(uid).map(|node| node.reference.key.clone()) else { return };
        let mut is_doubtful = false;
        for owner in owners {
            let node = self.nodes.entry(owner.uid.clone()).or_insert_with(|| {
                due.delete.push(owner.uid.clone()); // G2
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

    /// Removes a node. Its dependents may be garbage, and its owners may go.
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

    /// The dependents that say of an owner what this reference says, and those that say something else.
    fn dependents_of(&self, reference: &Reference) -> (Vec<Uid>, Vec<Uid>) {
        let (mut matching, mut others) = (Vec::new(), Vec::new());
        let all = self.nodes.get(&reference.uid).into_iter().flat_map(|node| &node.dependents);
        for (uid, dependent) in all.filter_map(|uid| self.nodes.get_key_value(uid)) {
            let is_above = reference.is_above(&dependent.reference.key);
            let owners = dependent.owners.iter().filter(|owner| owner.uid == reference.uid);
            match owners.clone().any(|owner| is_above && owner.is_of(reference)) {
                true => matching.push(uid.clone()),
                false => others.push(uid.clone()),
            }
        }
        (matching, others)
    }

    /// Where else an owner may be, as its dependents have it: the next place after one where it is not.
    fn otherwise(&self, absent: &Reference, dependents: &[Uid]) -> Option<Reference> {
        let nodes = dependents.iter().filter_map(|uid| self.nodes.get(uid));
        let places = nodes.flat_map(|node| {
            let owners = node.owners.iter().filter(|owner| owner.uid == absent.uid);
            owners.map(|owner| owner.seen_from(&node.reference.key))
        });
        let mut places: Vec<Reference> = places.filter(|place| place != absent).collect();
        places.sort();
        places.iter().find(|place| *place > absent).or(places.first()).cloned()
    }
}

#[cfg(test)]
mod tests {
    use watchkeeper_core::ObjectKey;

    use super::*;

    impl Graph {
        /// A config map by key, which is its uid as well, and its owners by their uids in its own namespace.
        fn put(&mut self, key: &str, owners: &[&str], state: State) -> Due {
            let of = self.of("v1", "ConfigMap");
            let owner = |uid: &&str| {
                let name = uid.rsplit('/').next().unwrap_or_default().into();
                Owner { of: of.clone(), name, uid: (*uid).into(), blocks: true }
            };
            let owners = owners.iter().map(owner).collect();
            let reference = Reference { of: of.clone(), key: key.parse().unwrap(), uid: key.into() };
            self.seen(Seen { reference, owners, state })
        }

        /// G1, of all nodes.
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

    const STAYS: State = State { is_going: false, deletes_dependents: false, orphans_dependents: false };
    const FOREGROUND: State = State { is_going: true, deletes_dependents: true, orphans_dependents: false };
    const ORPHAN: State = State { is_going: true, deletes_dependents: false, orphans_dependents: true };

    #[test]
    fn dependents_are_due_when_their_owner_is_gone() {
        let mut graph = Graph::default();
        assert_eq!(graph.put("x/a", &[], STAYS), due(&[]));
        assert_eq!(graph.put("x/b", &["x/a"], STAYS), due(&[]));
        assert_eq!(graph.gone("x/a"), due(&["x/b"]));
        graph.check();
        let of = graph.of("v1", "ConfigMap");
        let a = Reference { of, key: ObjectKey::namespaced("x", "a"), uid: "x/a".into() };
        assert!(graph.is_absent(&a), "nobody has to be asked again");
    }

    #[test]
    fn an_owner_that_nobody_has_seen_is_due_until_it_is_seen_or_absent() {
        let mut graph = Graph::default();
        assert_eq!(graph.put("x/b", &["x/a"], STAYS), due(&["x/a"]));
        assert!(graph.known("x/a").is_some_and(|known| !known.is_observed));
        assert_eq!(graph.put("x/a", &[], STAYS), due(&[]));
        assert!(graph.known("x/a").is_some_and(|known| known.is_observed));

        assert_eq!(graph.put("x/d", &["x/c"], STAYS), due(&["x/c"]));
        let c = graph.known("x/c").unwrap().reference;
        assert_eq!(graph.found_absent(&c), due(&["x/d"]));
        assert!(graph.known("x/c").is_none());
        graph.check();
    }

    #[test]
    fn who_refers_to_an_owner_of_another_namespace_is_due_and_the_others_are_not() {
        let mut graph = Graph::default();
        graph.put("x/a", &[], STAYS);
        graph.put("x/b", &["x/a"], STAYS);
        assert_eq!(graph.put("y/c", &["x/a"], STAYS), due(&["y/c"]));
        // Referred to before it was seen:
        graph.put("y/f", &["x/d"], STAYS);
        assert_eq!(graph.put("x/e", &["x/d"], STAYS), due(&["x/e"]), "one of them is wrong");
        assert_eq!(graph.put("x/d", &[], STAYS), due(&["y/f"]));
        graph.check();
    }

    #[test]
    fn an_owner_that_is_not_where_one_looks_for_it_is_looked_for_where_another_does() {
        let mut graph = Graph::default();
        graph.put("x/b", &["z/a"], STAYS);
        graph.put("y/c", &["z/a"], STAYS);
        let first = graph.known("z/a").unwrap().reference;
        assert_eq!(first.key, ObjectKey::namespaced("x", "a"));
        let due = graph.found_absent(&first);
        assert_eq!((due.delete, due.later), (vec!["x/b".into()], vec!["z/a".into()]));
        assert_eq!(graph.known("z/a").unwrap().reference.key, ObjectKey::namespaced("y", "a"));
        graph.check();
    }

    #[test]
    fn what_begins_is_due_once() {
        let mut graph = Graph::default();
        graph.put("x/a", &[], STAYS);
        graph.put("x/b", &["x/a"], STAYS);
        assert_eq!(graph.put("x/a", &[], FOREGROUND), due(&["x/b", "x/a"]));
        assert_eq!(graph.put("x/a", &[], FOREGROUND), due(&[]));
        assert_eq!(graph.blocking("x/a"), [("x/b".into(), false)]);
        assert_eq!(graph.put("x/a", &[], ORPHAN).orphan, ["x/a".into()]);
        assert_eq!(graph.put("x/a", &[], FOREGROUND), due(&["x/b", "x/a"]));
        assert_eq!(graph.put("x/b", &[], STAYS), due(&["x/a"]), "it does not wait for it any more");
        graph.put("x/b", &["x/a"], STAYS);
        assert_eq!(graph.gone("x/b"), due(&["x/a"]), "nor if it is gone");
        graph.check();
    }
}
