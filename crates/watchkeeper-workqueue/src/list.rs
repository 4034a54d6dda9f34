//! List: nodes in a row, each of which can leave it at once.

use crate::node::Node;
use crate::nodes::Nodes;

/// The first and the last of a row of nodes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct List {
    ends: Option<(usize, usize)>,
}

/// The neighbours of a node. A node is in one list at most.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Links {
    before: Link,
    after: Link,
}

/// The place of a node, or none, in half of the room of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Link(u32);

impl Link {
    const NONE: Self = Self(u32::MAX);

    fn to(at: usize) -> Self {
        Self(u32::try_from(at).expect("fewer keys than would fit into memory"))
    }

    fn get(self) -> Option<usize> {
        (self != Self::NONE).then_some(self.0 as usize)
    }
}

impl Default for Link {
    fn default() -> Self {
        Self::NONE
    }
}

impl List {
    pub(crate) fn first(&self) -> Option<usize> {
        self.ends.map(|(first, _)| first)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ends.is_none()
    }

    /// Adds a node at the end.
    pub(crate) fn push<T>(&mut self, nodes: &mut Nodes<T>, at: usize) {
        debug_assert_eq!(nodes[at].links, Links::default(), "it is in no list");
        match &mut self.ends {
            None => self.ends = Some((at, at)),
            Some((_, last)) => {
                nodes[*last].links.after = Link::to(at);
                nodes[at].links.before = Link::to(*last);
                *last = at;
            }
        }
    }

    /// Takes out a node that is in this list.
    pub(crate) fn remove<T>(&mut self, nodes: &mut Nodes<T>, at: usize) {
        let Links { before, after } = std::mem::take(&mut nodes[at].links);
        if let Some(before) = before.get() {
            nodes[before].links.after = after;
        }
        if let Some(after) = after.get() {
            nodes[after].links.before = before;
        }
        self.ends = self.ends.and_then(|(first, last)| {
            let first = if first == at { after.get() } else { Some(first) };
            let last = if last == at { before.get() } else { Some(last) };
            first.zip(last)
        });
    }

    /// From the first to the last.
    pub(crate) fn iter<'a, T>(&self, nodes: &'a Nodes<T>) -> impl Iterator<Item = &'a Node<T>> + use<'a, T> {
        let mut next = self.first();
        std::iter::from_fn(move || {
            let node = &nodes[next?];
            next = node.links.after.get();
            Some(node)
        })
    }
}
