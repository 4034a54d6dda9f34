//! Ready keys, in the order in which workers receive them.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use slab::Slab;

use crate::Priority;
use crate::state::{Entry, Stage};
use crate::time::Instant;

/// One lane per priority.
///
/// A key that is promoted while it waits is pushed to its new lane and stays in the old one, where `pop` skips it:
/// its entry no longer has the position it was queued with.
#[derive(Debug)]
pub(crate) struct Ready {
    lanes: [Lane; 3],
    /// By priority: a key counts as added this much later than it was.
    handicaps: [Duration; 3],
    len: usize,
    pushed: u64,
}

/// Where a ready key is queued. The number is never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) priority: Priority,
    number: u64,
}

#[derive(Debug)]
enum Lane {
    Fifo(Fifo),
    /// Groups take turns.
    Fair {
        groups: HashMap<u64, Fifo>,
        /// Each group of `groups` once.
        turns: VecDeque<u64>,
    },
}

/// Slots of entries, and the numbers of the positions they were queued with.
type Fifo = VecDeque<(usize, u64)>;

impl Ready {
    /// Creates an empty queue. `aging` is at most some decades, so that adding it to an instant does not overflow.
    pub(crate) fn new(is_fair: bool, aging: Duration) -> Self {
        let lane = |_| {
            if is_fair {
                Lane::Fair { groups: HashMap::new(), turns: VecDeque::new() }
            } else {
                Lane::Fifo(VecDeque::new())
            }
        };
        let handicap = |priority: Priority| aging * (2 - priority as u32);
        Self { lanes: Priority::ALL.map(lane), handicaps: Priority::ALL.map(handicap), len: 0, pushed: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Queues a key that is not ready yet.
    pub(crate) fn push(&mut self, slot: usize, group: u64, priority: Priority) -> Position {
        self.len += 1;
        self.promote(slot, group, priority)
    }

    /// Queues a ready key again, at the end of a higher lane.
    pub(crate) fn promote(&mut self, slot: usize, group: u64, priority: Priority) -> Position {
        self.pushed += 1;
        let fifo = match &mut self.lanes[priority as usize] {
            Lane::Fifo(fifo) => fifo,
            Lane::Fair { groups, turns } => groups.entry(group).or_insert_with(|| {
                turns.push_back(group);
                VecDeque::new()
            }),
        };
        fifo.push_back((slot, self.pushed));
        Position { priority, number: self.pushed }
    }

    /// Removes the next key: of the first keys of the lanes, the one that counts as added first.
    pub(crate) fn pop<T>(&mut self, entries: &Slab<Entry<T>>) -> Option<usize> {
        let mut next: Option<(Instant, usize, usize)> = None;
        for (lane, handicap) in self.handicaps.iter().enumerate().rev() {
            let Some(slot) = self.lanes[lane].front(entries) else { continue };
            let added = entries[slot].added + *handicap;
            if next.is_none_or(|(earliest, ..)| added < earliest) {
                next = Some((added, lane, slot));
            }
        }
        let (_, lane, slot) = next?;
        self.lanes[lane].pop_front();
        self.len -= 1;
        Some(slot)
    }
}

impl Lane {
    /// Returns the next key, after removing keys that were promoted and groups that are empty.
    fn front<T>(&mut self, entries: &Slab<Entry<T>>) -> Option<usize> {
        match self {
            Self::Fifo(fifo) => front(fifo, entries),
            Self::Fair { groups, turns } => loop {
                let group = turns.front()?;
                if let Some(slot) = groups.get_mut(group).and_then(|fifo| front(fifo, entries)) {
                    return Some(slot);
                }
                groups.remove(group);
                turns.pop_front();
            },
        }
    }

    /// Removes the key that [`front`](Self::front) has returned, and ends its group's turn.
    fn pop_front(&mut self) {
        match self {
            Self::Fifo(fifo) => _ = fifo.pop_front(),
            Self::Fair { groups, turns } => {
                let Some(group) = turns.pop_front() else { return };
                let Some(fifo) = groups.get_mut(&group) else { return };
                fifo.pop_front();
                if fifo.is_empty() {
                    groups.remove(&group);
                } else {
                    turns.push_back(group);
                }
            }
        }
    }
}

fn front<T>(fifo: &mut Fifo, entries: &Slab<Entry<T>>) -> Option<usize> {
    while let Some(&(slot, number)) = fifo.front() {
        let stage = entries.get(slot).map(|entry| entry.stage);
        if matches!(stage, Some(Stage::Ready(position)) if position.number == number) {
            return Some(slot);
        }
        fifo.pop_front();
    }
    None
}
