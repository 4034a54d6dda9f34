//! Ready: the keys that wait, in the order in which they are handed out.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use crate::Priority;
use crate::list::List;
use crate::nodes::Nodes;

/// A row for each priority.
///
/// Within a row times only grow, so that the next key is the first of one of the rows: the one that would be the
/// oldest if it had been added later by an aging time for each step of its priority.
#[derive(Debug)]
pub(crate) struct Ready {
    rows: [Row; 3],
    /// How much later than it was added a key counts, by its priority.
    handicaps: [Duration; 3],
    len: usize,
}

#[derive(Debug)]
enum Row {
    /// First come, first served.
    Plain(List),
    /// The groups take turns.
    Fair {
        /// Every group that has a turn, also one that has become empty meanwhile.
        groups: HashMap<u64, List>,
        /// Each group of `groups` once.
        turns: VecDeque<u64>,
    },
}

impl Ready {
    pub(crate) fn new(is_fair: bool, aging: Duration) -> Self {
        let row = || match is_fair {
            false => Row::Plain(List::default()),
            true => Row::Fair { groups: HashMap::new(), turns: VecDeque::new() },
        };
        let handicap = |priority: Priority| aging.saturating_mul(priority.steps());
        let handicaps = [Priority::Low, Priority::Normal, Priority::High].map(handicap);
        Self { rows: [row(), row(), row()], handicaps, len: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a node to those of a priority.
    pub(crate) fn push<T>(&mut self, nodes: &mut Nodes<T>, at: usize, priority: Priority) {
        self.len += 1;
        match self.row(priority) {
            Row::Plain(list) => list.push(nodes, at),
            Row::Fair { groups, turns } => {
                let group = nodes[at].group;
                let list = groups.entry(group).or_insert_with(|| {
                    turns.push_back(group);
                    List::default()
                });
                list.push(nodes, at);
            }
        }
    }

    /// Takes out a node of a priority.
    pub(crate) fn remove<T>(&mut self, nodes: &mut Nodes<T>, at: usize, priority: Priority) {
        self.len -= 1;
        match self.row(priority) {
            Row::Plain(list) => list.remove(nodes, at),
            Row::Fair { groups, .. } => {
                // Empty, it keeps its turn until that comes.
                if let Some(list) = groups.get_mut(&nodes[at].group) {
                    list.remove(nodes, at);
                }
            }
        }
    }

    /// Takes out the one that is next.
    pub(crate) fn pop<T>(&mut self, nodes: &mut Nodes<T>) -> Option<usize> {
        let mut next: Option<(Priority, usize)> = None;
        for priority in Priority::ALL {
            let Some(at) = self.row(priority).first() else { continue };
            let counts_from = |priority, at: usize| nodes[at].added.after(self.handicaps[priority as usize]);
            if next.is_none_or(|(other, first)| counts_from(priority, at) < counts_from(other, first)) {
                next = Some((priority, at));
            }
        }
        let (priority, at) = next?;
        self.len -= 1;
        self.row(priority).take(nodes, at);
        Some(at)
    }

    fn row(&mut self, priority: Priority) -> &mut Row {
        &mut self.rows[priority as usize]
    }
}

impl Row {
    /// The one that is next in this row.
    fn first(&mut self) -> Option<usize> {
        match self {
            Self::Plain(list) => list.first(),
            Self::Fair { groups, turns } => loop {
                let group = turns.front()?;
                if let Some(first) = groups.get(group).and_then(List::first) {
                    return Some(first);
                }
                groups.remove(group);
                turns.pop_front();
            },
        }
    }

    /// Takes out the one that is next, and ends its group's turn.
    fn take<T>(&mut self, nodes: &mut Nodes<T>, at: usize) {
        match self {
            Self::Plain(list) => list.remove(nodes, at),
            Self::Fair { groups, turns } => {
                let Some(group) = turns.pop_front() else { return };
                let Some(list) = groups.get_mut(&group) else { return };
                list.remove(nodes, at);
                if list.is_empty() {
                    groups.remove(&group);
                } else {
                    turns.push_back(group);
                }
            }
        }
    }
}
