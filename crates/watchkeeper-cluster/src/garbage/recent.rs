//! Recent: a bounded set that evicts the oldest member.

use std::collections::{HashSet, VecDeque};
use std::hash::Hash;

/// A set of the most recently added members.
#[derive(Debug)]
pub(super) struct Recent<T> {
    capacity: usize,
    members: HashSet<T>,
    /// The same members, oldest first.
    order: VecDeque<T>,
}

impl<T: Hash + Eq + Clone> Recent<T> {
    pub(super) fn new(capacity: usize) -> Self {
        Self { capacity, members: HashSet::new(), order: VecDeque::new() }
    }

    pub(super) fn add(&mut self, member: T) {
        if !self.members.insert(member.clone()) {
            return;
        }
        self.order.push_back(member);
        if self.order.len() > self.capacity
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
    fn the_oldest_member_is_evicted() {
        let mut recent = Recent::new(2);
        for member in ["a", "b", "a", "c"] {
            recent.add(member);
        }
        assert_eq!(["a", "b", "c"].map(|member| recent.has(member)), [false, true, true]);
    }
}
