//! List: nodes in a row, each of which can leave it at once.

use slab::Slab;

use crate::node::Node;

/// The first and the last of a row of nodes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct List {
    ends: Option<(usize, usize)>,
}

/// The neighbours of a node. A node is in one list at most.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Links {
    before: Option<usize>,
    after: Option<usize>,
}

impl List {
    pub(crate) fn first(&self) -> Option<usize> {
        self.ends.map(|(first, _)| first)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ends.is_none()
    }

    /// Adds a node at the end.
    pub(crate) fn push<T>(&mut self, nodes: &mut Slab<Node<T>>, at: usize) {
        debug_assert_eq!(nodes[at].links, Links::default(), "it is in no list");
        match &mut self.ends {
            None => self.ends = Some((at, at)),
            Some((_, last)) => {
                nodes[*last].links.after = Some(at);
                nodes[at].links.before = Some(*last);
                *last = at;
            }
        }
    }

    /// Takes out a node that is in this list.
    pub(crate) fn remove<T>(&mut self, nodes: &mut Slab<Node<T>>, at: usize) {
        let Links { before, after } = std::mem::take(&mut nodes[at].links);
        if let Some(before) = before {
            nodes[before].links.after = after;
        }
        if let Some(after) = after {
            nodes[after].links.before = before;
        }
        self.ends = self.ends.and_then(|(first, last)| {
            let first = if first == at { after } else { Some(first) };
            let last = if last == at { before } else { Some(last) };
            first.zip(last)
        });
    }

    /// From the first to the last.
    pub(crate) fn iter<'a, T>(
        &self,
        nodes: &'a Slab<Node<T>>,
    ) -> impl Iterator<Item = &'a Node<T>> + use<'a, T> {
        let mut next = self.first();
        std::iter::from_fn(move || {
            let node = &nodes[next?];
            next = node.links.after;
            Some(node)
        })
    }
}
