//! Places: where the node of a key is.

use hashbrown::HashTable;

/// The places of nodes, by the hashes of their keys.
#[derive(Debug, Default)]
pub(crate) struct Places {
    table: HashTable<Entry>,
}

/// Its hash stands beside it, so that to look for a key reads no node but its own, and to grow reads none.
#[derive(Debug, Clone, Copy)]
struct Entry {
    hash: u32,
    at: u32,
}

impl Places {
    /// The place of a key: one with its hash of which this is true.
    pub(crate) fn find(&self, hash: u32, mut is_it: impl FnMut(usize) -> bool) -> Option<usize> {
        let is_it = |entry: &Entry| entry.hash == hash && is_it(entry.at as usize);
        self.table.find(spread(hash), is_it).map(|entry| entry.at as usize)
    }

    /// Remembers the place of a key that has none.
    pub(crate) fn insert(&mut self, hash: u32, at: usize) {
        let at = u32::try_from(at).expect("fewer keys than would fit into memory");
        self.table.insert_unique(spread(hash), Entry { hash, at }, |entry| spread(entry.hash));
    }

    /// Forgets a place.
    pub(crate) fn remove(&mut self, hash: u32, at: usize) {
        if let Ok(entry) = self.table.find_entry(spread(hash), |entry| entry.at as usize == at) {
            entry.remove();
        }
    }

    /// Forgets all of them.
    pub(crate) fn clear(&mut self) {
        self.table = HashTable::new();
    }
}

/// As long as the table wants it, which looks at both ends.
fn spread(hash: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(hash)
}
