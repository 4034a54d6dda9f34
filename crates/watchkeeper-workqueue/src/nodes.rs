//! Nodes: what the queue knows of all its keys, by their places.

use std::ops::{Index, IndexMut};

use crate::Key;
use crate::after::After;
use crate::node::{Hashes, Node};

/// Nodes, each at a place that stays its own until it is removed. Places are used again, those that were left last
/// first: their memory is still near.
#[derive(Debug)]
pub(crate) struct Nodes<T> {
    all: Vec<Node<T>>,
    free: Vec<u32>,
}

impl<T> Default for Nodes<T> {
    fn default() -> Self {
        Self { all: Vec::new(), free: Vec::new() }
    }
}

impl<T: Key> Nodes<T> {
    /// A node for a key that is nowhere yet.
    pub(crate) fn insert(&mut self, key: T, hashes: Hashes) -> usize {
        if let Some(at) = self.free.pop() {
            // In its place, rather than made elsewhere and moved: it is large.
            self.all[at as usize].become_of(key, hashes, &mut After::default()); // of none
            return at as usize;
        }
        self.all.push(Node::new(key, hashes));
        self.all.len() - 1
    }
}

impl<T> Nodes<T> {
    /// Takes out the key of a node that is idle. Its place is free.
    pub(crate) fn remove(&mut self, at: usize, after: &mut After<T>) {
        debug_assert!(self.all[at].is_idle(), "only who is idle is removed, and he stays so");
        let node = &mut self.all[at];
        after.handed = node.handed.take();
        after.key = node.key.take();
        self.free.extend(after.key.is_some().then_some(at as u32));
    }

    /// The key of a node.
    pub(crate) fn key(&self, at: usize) -> &T {
        self.all[at].key.as_ref().expect("what is in a list has a key")
    }

    /// Those with a key, with their places.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (usize, &mut Node<T>)> {
        self.all.iter_mut().enumerate().filter(|(_, node)| node.key.is_some())
    }
}

impl<T> Index<usize> for Nodes<T> {
    type Output = Node<T>;

    fn index(&self, at: usize) -> &Node<T> {
        &self.all[at]
    }
}

impl<T> IndexMut<usize> for Nodes<T> {
    fn index_mut(&mut self, at: usize) -> &mut Node<T> {
        &mut self.all[at]
    }
}
