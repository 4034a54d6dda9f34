//! A sorted map with copy-on-write clones.
//!
//! Input:  one writer, which inserts and removes.
//! Output: clones, which readers keep for as long as they like while the writer continues.
//!
//! A B-tree whose nodes are shared between clones. A write copies the nodes on its path that are shared, and no others.
//!
//! Invariants:
//! - `map.M1`: keys ascend within a node and from node to node. A branch entry's key is less than or equal to the first
//!   key below it.
//! - `map.M2`: every node has between 1 and `WIDTH` entries; all leaves have the same depth.
//! - `map.M3`: a node that lost entries is merged with a neighbour if both fit into one, so that a map that was large
//!   shrinks again.
//! - `map.M4`: a node has capacity for a few more entries than it has, and for at most `WIDTH`. In a store, spare
//!   capacity is most of the cost of an index.
//! - `map.M5`: a branch entry's length is the number of entries below it.

use std::cmp::Ordering;
use std::sync::Arc;

/// Maximum number of entries in a node.
const WIDTH: usize = 64;
/// Number of entries by which a node's capacity grows.
const STEP: usize = 8;
/// Neighbours that have at most this many entries together are merged (`map.M3`).
const MERGED: usize = WIDTH * 3 / 4;

/// A sorted map with O(1) clones that share structure.
///
/// Cloning copies a pointer. Later writes to either map do not affect the other; they copy O(log n) nodes that are still
/// shared. Lookups, inserts, removals and [`rank`](Self::rank) take O(log n).
///
/// Keys can be found by anything that orders like them, without constructing a key:
///
/// ```
/// use watchkeeper_map::OrdMap;
///
/// let mut map = OrdMap::default();
/// map.insert("a/1".to_owned(), 1);
/// map.insert("b/1".to_owned(), 2);
/// let before = map.clone();
/// map.insert("b/2".to_owned(), 3);
///
/// assert_eq!(before.len(), 2);
/// assert_eq!(map.find(|key| key.as_str().cmp("b/2")), Some((&"b/2".to_owned(), &3)));
/// assert_eq!(map.iter_from(|key| key.as_str() < "b/").map(|(_, value)| *value).collect::<Vec<_>>(), [2, 3]);
/// assert_eq!(map.rank(|key| key.as_str() < "b/"), 1);
/// ```
#[derive(Debug)]
pub struct OrdMap<K, V> {
    root: Option<Arc<Node<K, V>>>,
    len: usize,
}

#[derive(Debug, Clone)]
enum Node<K, V> {
    Leaf(Vec<(K, V)>),
    Branch(Vec<Child<K, V>>),
}

#[derive(Debug)]
struct Child<K, V> {
    /// Less than or equal to the first key of `node` (`map.M1`).
    first: K,
    node: Arc<Node<K, V>>,
    /// Number of entries below `node` (`map.M5`).
    len: usize,
}

impl<K: Clone, V> Clone for Child<K, V> {
    fn clone(&self) -> Self {
        Self { first: self.first.clone(), node: self.node.clone(), len: self.len }
    }
}

impl<K, V> Clone for OrdMap<K, V> {
    fn clone(&self) -> Self {
        Self { root: self.root.clone(), len: self.len }
    }
}

impl<K, V> Default for OrdMap<K, V> {
    fn default() -> Self {
        Self { root: None, len: 0 }
    }
}

impl<K, V> OrdMap<K, V> {
    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether the map has no entries.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the entry whose key `order` compares as equal. `order` must be consistent with the order of the keys.
    pub fn find(&self, order: impl Fn(&K) -> Ordering) -> Option<(&K, &V)> {
        let mut node = self.root.as_deref()?;
        loop {
            match node {
                Node::Leaf(entries) => {
                    let at = entries.binary_search_by(|(key, _)| order(key)).ok()?;
                    let (key, value) = &entries[at];
                    return Some((key, value));
                }
                Node::Branch(children) => node = &children[child_for(children, &order)].node,
            }
        }
    }

    /// Returns the entries in order, starting with the first one for which `before` is false. `before` must be true for
    /// all keys up to some point, and false for the rest.
    pub fn iter_from(&self, before: impl Fn(&K) -> bool) -> Iter<'_, K, V> {
        let mut slices = self.slices_from(before);
        let leaf = slices.next().unwrap_or_default();
        Iter { leaf, slices }
    }

    /// Returns the entries of [`iter_from`](Self::iter_from) in slices, one for each leaf. Copying a long range is
    /// faster from slices than entry by entry.
    pub fn slices_from(&self, before: impl Fn(&K) -> bool) -> Slices<'_, K, V> {
        let mut above = Vec::new();
        let mut node = self.root.as_deref();
        let mut first = None;
        while let Some(here) = node {
            node = None;
            match here {
                Node::Leaf(entries) => {
                    first = Some(&entries[entries.partition_point(|(key, _)| before(key))..]);
                }
                Node::Branch(children) => {
                    let at = last_before(children, &before);
                    above.push(&children[at + 1..]);
                    node = Some(&children[at].node);
                }
            }
        }
        Slices { first, above }
    }

    /// Returns the number of entries for which `before` is true; see [`iter_from`](Self::iter_from).
    pub fn rank(&self, before: impl Fn(&K) -> bool) -> usize {
        let mut rank = 0;
        let mut node = self.root.as_deref();
        while let Some(here) = node {
            node = None;
            match here {
                Node::Leaf(entries) => rank += entries.partition_point(|(key, _)| before(key)),
                Node::Branch(children) => {
                    let at = last_before(children, &before);
                    rank += children[..at].iter().map(|child| child.len).sum::<usize>();
                    node = Some(&children[at].node);
                }
            }
        }
        rank
    }

    /// Returns all entries in order.
    pub fn iter(&self) -> Iter<'_, K, V> {
        self.iter_from(|_| false)
    }
}

impl<K: Ord + Clone, V: Clone> OrdMap<K, V> {
    /// Returns the value of a key.
    pub fn get(&self, key: &K) -> Option<&V> {
        self.find(|other| other.cmp(key)).map(|(_, value)| value)
    }

    /// Sets the value of a key, and returns its previous value.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        let Some(root) = &mut self.root else {
            self.root = Some(Arc::new(Node::Leaf(vec![(key, value)])));
            self.len = 1;
            return None;
        };
        let (old, split) = insert(root, key, value);
        self.len += usize::from(old.is_none());
        if let Some(right) = split {
            let left = Child { first: first(root).clone(), node: root.clone(), len: self.len - right.len };
            self.root = Some(Arc::new(Node::Branch(vec![left, right])));
        }
        old
    }

    /// Removes a key, and returns its value.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        self.get(key)?; // copies no nodes for a missing key
        let root = self.root.as_mut()?;
        let old = remove(root, key);
        self.len -= usize::from(old.is_some());
        // Drops empty nodes and branches with a single child from the top (`map.M2`).
        while let Some(root) = &self.root {
            let lower = match &**root {
                Node::Leaf(entries) if entries.is_empty() => None,
                Node::Branch(children) if children.is_empty() => None,
                Node::Branch(children) if children.len() == 1 => Some(children[0].node.clone()),
                _ => break,
            };
            self.root = lower;
        }
        old
    }
}

/// Returns the index of the child that a key belongs to.
fn child_for<K, V>(children: &[Child<K, V>], order: impl Fn(&K) -> Ordering) -> usize {
    children.partition_point(|child| order(&child.first) != Ordering::Greater).saturating_sub(1)
}

/// Returns the index of the child that contains the first entry that is not `before`, or the last one that is.
fn last_before<K, V>(children: &[Child<K, V>], before: impl Fn(&K) -> bool) -> usize {
    children.partition_point(|child| before(&child.first)).saturating_sub(1)
}

fn first<K, V>(node: &Node<K, V>) -> &K {
    match node {
        Node::Leaf(entries) => &entries[0].0,
        Node::Branch(children) => &children[0].first,
    }
}

/// Inserts an entry. Returns the previous value, and the new right neighbour if the node was split.
fn insert<K: Ord + Clone, V: Clone>(
    node: &mut Arc<Node<K, V>>,
    key: K,
    value: V,
) -> (Option<V>, Option<Child<K, V>>) {
    match Arc::make_mut(node) {
        Node::Leaf(entries) => match entries.binary_search_by(|(other, _)| other.cmp(&key)) {
            Ok(at) => (Some(std::mem::replace(&mut entries[at].1, value)), None),
            Err(at) => {
                let right = insert_at(entries, at, (key, value));
                (None, right.map(|right| Child::new(right[0].0.clone(), Node::Leaf(right))))
            }
        },
        Node::Branch(children) => {
            let at = child_for(children, |first| first.cmp(&key));
            let child = &mut children[at];
            if key < child.first {
                child.first = key.clone();
            }
            let (old, right) = insert(&mut child.node, key, value);
            child.len += usize::from(old.is_none());
            let Some(right) = right else { return (old, None) };
            child.len -= right.len;
            let right = insert_at(children, at + 1, right);
            (old, right.map(|right| Child::new(right[0].first.clone(), Node::Branch(right))))
        }
    }
}

/// Inserts an entry, and returns the right half if the node was split (`map.M2`). A node that grows at its end is left
/// full, because lists arrive in order. Nodes are split before they grow, so that their capacity stays within bounds
/// (`map.M4`).
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

/// Reserves capacity for a few entries if the node is full.
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
            let at = child_for(children, |first| first.cmp(key));
            let old = remove(&mut children[at].node, key);
            children[at].len -= usize::from(old.is_some());
            merge(children, at);
            old
        }
    }
}

/// Removes an empty child, or merges it with a neighbour if both are small (`map.M3`).
fn merge<K: Clone, V: Clone>(children: &mut Vec<Child<K, V>>, at: usize) {
    let width = |at: usize| children[at].node.width();
    let left = match at {
        _ if width(at) == 0 => {
            children.remove(at);
            return;
        }
        _ if at + 1 < children.len() && width(at) + width(at + 1) <= MERGED => at,
        1.. if width(at - 1) + width(at) <= MERGED => at - 1,
        _ => return,
    };
    let right = children.remove(left + 1);
    let left = &mut children[left];
    left.len += right.len;
    match (Arc::make_mut(&mut left.node), Arc::unwrap_or_clone(right.node)) {
        (Node::Leaf(left), Node::Leaf(right)) => append(left, right),
        (Node::Branch(left), Node::Branch(right)) => append(left, right),
        _ => unreachable!("map.M2: neighbours have the same depth"),
    }
}

fn append<E>(left: &mut Vec<E>, right: Vec<E>) {
    left.reserve_exact(right.len()); // map.M4
    left.extend(right);
}

impl<K, V> Child<K, V> {
    fn new(first: K, node: Node<K, V>) -> Self {
        let len = node.len();
        Self { first, node: Arc::new(node), len }
    }
}

impl<K, V> Node<K, V> {
    /// Returns the number of entries in this node.
    fn width(&self) -> usize {
        match self {
            Self::Leaf(entries) => entries.len(),
            Self::Branch(children) => children.len(),
        }
    }

    /// Returns the number of entries below this node.
    fn len(&self) -> usize {
        match self {
            Self::Leaf(entries) => entries.len(),
            Self::Branch(children) => children.iter().map(|child| child.len).sum(),
        }
    }
}

/// An iterator over the entries of an [`OrdMap`], in order.
#[derive(Debug)]
pub struct Iter<'a, K, V> {
    leaf: &'a [(K, V)],
    slices: Slices<'a, K, V>,
}

impl<'a, K, V> Iterator for Iter<'a, K, V> {
    type Item = (&'a K, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(((key, value), rest)) = self.leaf.split_first() {
                self.leaf = rest;
                return Some((key, value));
            }
            self.leaf = self.slices.next()?;
        }
    }
}

/// An iterator over the leaves of an [`OrdMap`], in order.
#[derive(Debug)]
pub struct Slices<'a, K, V> {
    first: Option<&'a [(K, V)]>,
    /// The remaining children of each branch on the path, the lowest last.
    above: Vec<&'a [Child<K, V>]>,
}

impl<'a, K, V> Iterator for Slices<'a, K, V> {
    type Item = &'a [(K, V)];

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        loop {
            let children = self.above.last_mut()?;
            let Some((child, rest)) = children.split_first() else {
                self.above.pop();
                continue;
            };
            *children = rest;
            match &*child.node {
                Node::Leaf(entries) => return Some(entries),
                Node::Branch(children) => self.above.push(children),
            }
        }
    }
}

impl<'a, K, V> IntoIterator for &'a OrdMap<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter = Iter<'a, K, V>;

    fn into_iter(self) -> Iter<'a, K, V> {
        self.iter()
    }
}

#[cfg(test)]
mod tests;
