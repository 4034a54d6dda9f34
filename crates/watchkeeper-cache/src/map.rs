//! Map: sorted, and copied in no time.
//!
//! A B-tree whose nodes are shared by the copies of a map and copied when one of them is changed. So a reader
//! takes a copy and keeps it as long as it likes, and the writer goes on.
//!
//! - M1: keys ascend, within a node and from node to node; a branch's entry has the first key below it, or a
//!   smaller one.
//! - M2: no node is empty or has more than [`WIDTH`] entries; all leaves are at one depth.
//! - M3: a node that lost entries is joined with a neighbour where both fit into one, so that a map that was
//!   large once does not stay so.
//! - M4: a node has room for a few entries more than it has, and never for more than [`WIDTH`]: in a store that
//!   room is most of what an index costs.

use std::cmp::Ordering;
use std::sync::Arc;

/// How many entries a node has at most.
const WIDTH: usize = 64;
/// By how many entries the room of a node grows.
const STEP: usize = 8;
/// Two neighbours that have no more than this together become one (M3).
const JOINED: usize = WIDTH * 3 / 4;

/// A sorted map. Clones share what they have in common.
#[derive(Debug)]
pub(crate) struct Map<K, V> {
    root: Option<Arc<Node<K, V>>>,
    len: usize,
}

#[derive(Debug, Clone)]
enum Node<K, V> {
    Leaf(Vec<(K, V)>),
    Branch(Vec<Child<K, V>>),
}

/// A node, and the first key below it or a smaller one (M1).
type Child<K, V> = (K, Arc<Node<K, V>>);

impl<K, V> Clone for Map<K, V> {
    fn clone(&self) -> Self {
        Self { root: self.root.clone(), len: self.len }
    }
}

impl<K, V> Default for Map<K, V> {
    fn default() -> Self {
        Self { root: None, len: 0 }
    }
}

impl<K, V> Map<K, V> {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The entry that `place` finds equal. It must order keys as the map does.
    pub(crate) fn find(&self, place: impl Fn(&K) -> Ordering) -> Option<(&K, &V)> {
        let mut node = self.root.as_deref()?;
        loop {
            match node {
                Node::Leaf(entries) => {
                    let at = entries.binary_search_by(|(key, _)| place(key)).ok()?;
                    let (key, value) = &entries[at];
                    return Some((key, value));
                }
                Node::Branch(children) => node = &children[below(children, &place)].1,
            }
        }
    }

    /// The entries from the first on that is not `before` the beginning, in order.
    pub(crate) fn iter_from(&self, before: impl Fn(&K) -> bool) -> Iter<'_, K, V> {
        let mut above = Vec::new();
        let mut node = self.root.as_deref();
        let mut leaf: &[(K, V)] = &[];
        while let Some(here) = node {
            node = None;
            match here {
                Node::Leaf(entries) => leaf = &entries[entries.partition_point(|(key, _)| before(key))..],
                Node::Branch(children) => {
                    let at = children.partition_point(|(first, _)| before(first)).saturating_sub(1);
                    above.push(&children[at + 1..]);
                    node = Some(&children[at].1);
                }
            }
        }
        Iter { above, leaf }
    }

    /// All entries in order.
    pub(crate) fn iter(&self) -> Iter<'_, K, V> {
        self.iter_from(|_| false)
    }
}

impl<K: Ord + Clone, V: Clone> Map<K, V> {
    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.find(|other| other.cmp(key)).map(|(_, value)| value)
    }

    /// Sets what a key has; returns what it had.
    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        let Some(root) = &mut self.root else {
            self.root = Some(Arc::new(Node::Leaf(vec![(key, value)])));
            self.len = 1;
            return None;
        };
        let (old, split) = insert(root, key, value);
        if let Some(right) = split {
            let left = (first(root).clone(), root.clone());
            self.root = Some(Arc::new(Node::Branch(vec![left, right])));
        }
        self.len += usize::from(old.is_none());
        old
    }

    /// Takes a key out; returns what it had.
    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        self.get(key)?; // so that nothing is copied for a key that is not there
        let root = self.root.as_mut()?;
        let old = remove(root, key);
        self.len -= usize::from(old.is_some());
        // The top is no higher than it must be (M2).
        while let Some(root) = &self.root {
            let lower = match &**root {
                Node::Leaf(entries) if entries.is_empty() => None,
                Node::Branch(children) if children.is_empty() => None,
                Node::Branch(children) if children.len() == 1 => Some(children[0].1.clone()),
                _ => break,
            };
            self.root = lower;
        }
        old
    }
}

/// Which child a key is below.
fn below<K, C>(children: &[(K, C)], place: impl Fn(&K) -> Ordering) -> usize {
    children.partition_point(|(first, _)| place(first) != Ordering::Greater).saturating_sub(1)
}

fn first<K, V>(node: &Node<K, V>) -> &K {
    match node {
        Node::Leaf(entries) => &entries[0].0,
        Node::Branch(children) => &children[0].0,
    }
}

/// A node that has come to stand right of another, and its first key.
type Split<K, V> = Option<Child<K, V>>;

fn insert<K: Ord + Clone, V: Clone>(
    node: &mut Arc<Node<K, V>>,
    key: K,
    value: V,
) -> (Option<V>, Split<K, V>) {
    match Arc::make_mut(node) {
        Node::Leaf(entries) => match entries.binary_search_by(|(other, _)| other.cmp(&key)) {
            Ok(at) => (Some(std::mem::replace(&mut entries[at].1, value)), None),
            Err(at) => {
                let right = insert_at(entries, at, (key, value));
                (None, right.map(|right| (right[0].0.clone(), Arc::new(Node::Leaf(right)))))
            }
        },
        Node::Branch(children) => {
            let at = below(children, |first| first.cmp(&key));
            if key < children[at].0 {
                children[at].0 = key.clone();
            }
            let (old, right) = insert(&mut children[at].1, key, value);
            let Some(right) = right else { return (old, None) };
            let right = insert_at(children, at + 1, right);
            (old, right.map(|right| (right[0].0.clone(), Arc::new(Node::Branch(right)))))
        }
    }
}

/// Inserts an entry. Where there are too many then, the right part is returned (M2). What grows at its end is left
/// full: lists come in order. A node is split before it grows, so that it never has room for more than it may
/// have (M4).
fn insert_at<E>(entries: &mut Vec<E>, at: usize, entry: E) -> Option<Vec<E>> {
    if entries.len() < WIDTH {
        make_room(entries);
        entries.insert(at, entry);
        return None;
    }
    if at == WIDTH {
        return Some(vec![entry]);
    }
    let mut right = entries.split_off(WIDTH / 2);
    let (half, at) = match at.checked_sub(WIDTH / 2) {
        Some(at) => (&mut right, at),
        None => (&mut *entries, at),
    };
    make_room(half);
    half.insert(at, entry);
    entries.shrink_to(WIDTH / 2 + STEP);
    Some(right)
}

/// Room for one more, and for a few that may follow it.
fn make_room<E>(entries: &mut Vec<E>) {
    if entries.len() == entries.capacity() {
        entries.reserve_exact(STEP.min(WIDTH - entries.len()));
    }
}

fn remove<K: Ord + Clone, V: Clone>(node: &mut Arc<Node<K, V>>, key: &K) -> Option<V> {
    match Arc::make_mut(node) {
        Node::Leaf(entries) => {
            let at = entries.binary_search_by(|(other, _)| other.cmp(key)).ok()?;
            Some(entries.remove(at).1)
        }
        Node::Branch(children) => {
            let at = below(children, |first| first.cmp(key));
            let old = remove(&mut children[at].1, key);
            join(children, at);
            old
        }
    }
}

/// Takes a child out that is empty, or joins it with a neighbour if both are short (M3).
fn join<K: Clone, V: Clone>(children: &mut Vec<Child<K, V>>, at: usize) {
    if children[at].1.len() == 0 {
        children.remove(at);
        return;
    }
    let left = match at {
        _ if at + 1 < children.len() && children[at].1.len() + children[at + 1].1.len() <= JOINED => at,
        1.. if children[at - 1].1.len() + children[at].1.len() <= JOINED => at - 1,
        _ => return,
    };
    let (_, right) = children.remove(left + 1);
    match (Arc::make_mut(&mut children[left].1), Arc::unwrap_or_clone(right)) {
        (Node::Leaf(left), Node::Leaf(right)) => append(left, right),
        (Node::Branch(left), Node::Branch(right)) => append(left, right),
        _ => unreachable!("M2: neighbours are at one depth"),
    }
}

fn append<E>(left: &mut Vec<E>, right: Vec<E>) {
    left.reserve_exact(right.len()); // M4
    left.extend(right);
}

impl<K, V> Node<K, V> {
    fn len(&self) -> usize {
        match self {
            Self::Leaf(entries) => entries.len(),
            Self::Branch(children) => children.len(),
        }
    }
}

/// Entries in order.
#[derive(Debug)]
pub(crate) struct Iter<'a, K, V> {
    /// What is still to come of each branch above, the lowest last.
    above: Vec<&'a [Child<K, V>]>,
    leaf: &'a [(K, V)],
}

impl<'a, K, V> Iterator for Iter<'a, K, V> {
    type Item = (&'a K, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(((key, value), rest)) = self.leaf.split_first() {
                self.leaf = rest;
                return Some((key, value));
            }
            let children = self.above.last_mut()?;
            let Some(((_, child), rest)) = children.split_first() else {
                self.above.pop();
                continue;
            };
            *children = rest;
            match &**child {
                Node::Leaf(entries) => self.leaf = entries,
                Node::Branch(children) => self.above.push(children),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn check<K: Ord + std::fmt::Debug, V>(map: &Map<K, V>) {
        fn depth<K: Ord + std::fmt::Debug, V>(node: &Node<K, V>, smallest: Option<&K>) -> usize {
            assert!((1..=WIDTH).contains(&node.len()), "M2");
            assert!(node.capacity() <= WIDTH, "M4");
            match node {
                Node::Leaf(entries) => {
                    assert!(entries.is_sorted_by(|one, two| one.0 < two.0), "M1");
                    assert!(smallest.is_none_or(|smallest| *smallest <= entries[0].0), "M1");
                    1
                }
                Node::Branch(children) => {
                    assert!(children.is_sorted_by(|one, two| one.0 < two.0), "M1");
                    let depths: Vec<_> =
                        children.iter().map(|(first, child)| depth(child, Some(first))).collect();
                    assert!(depths.iter().all(|depth| *depth == depths[0]), "M2");
                    depths[0] + 1
                }
            }
        }
        if let Some(root) = &map.root {
            depth(root, None);
        }
    }

    impl<K, V> Node<K, V> {
        fn capacity(&self) -> usize {
            match self {
                Self::Leaf(entries) => entries.capacity(),
                Self::Branch(children) => children.capacity(),
            }
        }
    }

    #[test]
    fn random_insertion_order_wastes_little_capacity() {
        let mut map = Map::default();
        for number in 0..10_000_u32 {
            map.insert(number.wrapping_mul(2_654_435_761), ());
        }
        fn room(node: &Node<u32, ()>) -> usize {
            match node {
                Node::Leaf(entries) => entries.capacity(),
                Node::Branch(children) => children.iter().map(|(_, child)| room(child)).sum(),
            }
        }
        check(&map);
        let room = room(map.root.as_deref().unwrap());
        assert!(room < 10_000 + 10_000 / 4, "{room}");
    }

    #[test]
    fn sorted_insertion_order_fills_the_nodes() {
        let mut map = Map::default();
        for key in 0..10 * WIDTH {
            map.insert(key, ());
        }
        let Some(Node::Branch(children)) = map.root.as_deref() else { panic!("ten leaves") };
        assert_eq!(children.len(), 10);
        check(&map);
    }

    #[test]
    fn a_map_shrinks_when_entries_are_removed() {
        let mut map: Map<usize, usize> = Map::default();
        for key in 0..20_000 {
            map.insert(key, key);
        }
        for key in (0..20_000).filter(|key| key % 100 != 7) {
            map.remove(&key);
        }
        check(&map);
        fn leaves(node: &Node<usize, usize>) -> usize {
            match node {
                Node::Leaf(_) => 1,
                Node::Branch(children) => children.iter().map(|(_, child)| leaves(child)).sum(),
            }
        }
        assert_eq!(map.len(), 200);
        assert!(leaves(map.root.as_deref().unwrap()) <= 200 * 2 / JOINED + 1);
    }

    #[derive(Debug, Clone)]
    enum Step {
        Insert(u16, u8),
        Remove(u16),
        Copy,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            6 => (0..700_u16, any::<u8>()).prop_map(|(key, value)| Step::Insert(key, value)),
            5 => (0..700_u16).prop_map(Step::Remove),
            1 => Just(Step::Copy),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_map_behaves_like_a_btree_map_and_clones_do_not_change(
            steps in prop::collection::vec(step(), 0..3000),
            from in 0..700_u16,
        ) {
            let (mut map, mut model) = (Map::default(), BTreeMap::new());
            let mut copies = Vec::new();
            for step in steps {
                match step {
                    Step::Insert(key, value) => {
                        prop_assert_eq!(map.insert(key, value), model.insert(key, value));
                    }
                    Step::Remove(key) => prop_assert_eq!(map.remove(&key), model.remove(&key)),
                    Step::Copy => copies.push((map.clone(), model.clone())),
                }
            }
            copies.push((map, model));
            for (map, model) in &copies {
                check(map);
                prop_assert_eq!(map.len(), model.len());
                prop_assert!(map.iter().eq(model.iter()));
                prop_assert!(map.iter_from(|key| *key < from).eq(model.range(from..)));
                prop_assert_eq!(map.get(&from), model.get(&from));
            }
        }
    }
}
