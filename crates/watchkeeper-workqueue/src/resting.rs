//! Resting: keys that are done, and remembered for a while.

use crate::list::List;
use crate::nodes::Nodes;

/// Nodes of keys that nobody wants anything of, from the one that was done longest ago.
///
/// Who is done with a key leaves its node as it is. Who adds the same key finds all of it in place; who adds another
/// takes the oldest for it. So it is those who add who look after the nodes and the table of the keys, and these
/// stay in the cache of their processor. With each key that is done while none waits and
/// nobody is kept from the lock, one is forgotten.
#[derive(Debug, Default)]
pub(crate) struct Resting {
    list: List,
    len: usize,
}

impl Resting {
    /// How many rest at most: as many as are done while those who add wait for the lock, and no more.
    const MOST: usize = 1024;

    pub(crate) fn is_full(&self) -> bool {
        self.len >= Self::MOST
    }

    /// Lets a node rest.
    pub(crate) fn push<T>(&mut self, nodes: &mut Nodes<T>, at: usize) {
        self.len += 1;
        self.list.push(nodes, at);
    }

    /// Takes out one that rests.
    pub(crate) fn remove<T>(&mut self, nodes: &mut Nodes<T>, at: usize) {
        self.len -= 1;
        self.list.remove(nodes, at);
    }

    /// Takes out the one that rests longest.
    pub(crate) fn pop<T>(&mut self, nodes: &mut Nodes<T>) -> Option<usize> {
        let at = self.list.first()?;
        self.remove(nodes, at);
        Some(at)
    }
}
