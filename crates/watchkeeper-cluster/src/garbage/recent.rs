//! Recent: a set that forgets what was added first when it is full.

use std::collections::{HashSet, VecDeque};
use std::hash::Hash;

/// As many of the last that were added as it has room for.
#[derive(Debug)]
pub(super) struct Recent<T> {
    room: usize,
    members: HashSet<T>,
    /// The same, oldest first.
    order: VecDeque<T>,
}

impl<T: Hash + Eq + Clone> Recent<T> {
    pub(super) fn new(room: usize) -> Self {
        Self { room, members: HashSet::new(), order: VecDeque::new() }
    }

    pub(super) fn add(&mut self, member: T) {
        if !self.members.insert(member.clone()) {
            return;
        }
        self.order.push_back(member);
        if self.order.len() > self.room
            && let Some(oldest) = self.order.pop_front()
        {
            self.members.remove(&oldest);
        }
    }

    pub(super) fn has<Q: Hash + Eq + ?Sized>(&self, member: &Q) -> bool
    where
        T: std::borrow::Borrow<Q>,
    {
        self.members.contains(member)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_first_is_forgotten_first() {
        let mut recent = Recent::new(2);
        for member in ["a", "b", "a", "c"] {
            recent.add(member);
        }
        assert_eq!(["a", "b", "c"].map(|member| recent.has(member)), [false, true, true]);
    }
}
