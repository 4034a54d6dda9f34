//! The queue behaves like a simple model under random operations.

use std::collections::HashMap;
use std::time::Duration;

use proptest::prelude::*;
use tokio::time::{Instant, advance};
use watchkeeper_workqueue::{AddOpts, Item, Priority, WorkQueue};

use crate::now;

const AGING: u64 = 5;

#[derive(Debug, Clone)]
enum Step {
    Add(u8, Priority),
    AddAfter(u8, u64, Priority),
    Take,
    Done(usize),
    Pass(u64),
    ShutDown,
}

fn priority() -> impl Strategy<Value = Priority> {
    prop_oneof![4 => Just(Priority::Normal), 1 => Just(Priority::Low), 1 => Just(Priority::High)]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..8_u8, priority()).prop_map(|(key, priority)| Step::Add(key, priority)),
        4 => (0..8_u8, 0..10_u64, priority()).prop_map(|(key, delay, priority)| Step::AddAfter(key, delay, priority)),
        8 => Just(Step::Take),
        6 => (0..4_usize).prop_map(Step::Done),
        4 => (1..6_u64).prop_map(Step::Pass),
        1 => Just(Step::ShutDown),
    ]
}

/// The reference implementation: slow and plain.
#[derive(Debug, Default)]
struct Model {
    time: u64,
    /// Counts the keys that entered a lane.
    entered: u64,
    ready: Vec<Waiting>,
    /// Keys with a worker; if added again, the priority and the time of that.
    processing: HashMap<u8, Option<(Priority, u64)>>,
    delayed: HashMap<u8, (u64, u64, Priority)>,
    delays: u64,
    is_shut_down: bool,
}

#[derive(Debug, Clone)]
struct Waiting {
    key: u8,
    priority: Priority,
    added: u64,
    entered: u64,
}

impl Model {
    fn enter(&mut self, key: u8, priority: Priority, added: u64) {
        self.entered += 1;
        self.ready.push(Waiting { key, priority, added, entered: self.entered });
    }

    fn add(&mut self, key: u8, priority: Priority) {
        if let Some(again) = self.processing.get_mut(&key) {
            *again = Some(match *again {
                Some((known, since)) => (known.max(priority), since),
                None => (priority, self.time),
            });
        } else if let Some(position) = self.ready.iter().position(|waiting| waiting.key == key) {
            if priority > self.ready[position].priority {
                let waiting = self.ready.remove(position);
                self.enter(key, priority, waiting.added);
            }
        } else {
            self.enter(key, priority, self.time);
        }
    }

    fn add_after(&mut self, key: u8, delay: u64, priority: Priority) {
        self.delays += 1;
        let new = (self.time + delay, self.delays, priority);
        let entry = self.delayed.entry(key).or_insert(new);
        let strongest = entry.2.max(priority);
        if new.0 < entry.0 {
            *entry = new;
        }
        entry.2 = strongest;
    }

    fn undelay(&mut self) {
        let mut due: Vec<_> = self
            .delayed
            .iter()
            .filter(|(_, (when, ..))| *when <= self.time)
            .map(|(key, due)| (*due, *key))
            .collect();
        due.sort();
        for ((_, _, priority), key) in due {
            self.delayed.remove(&key);
            self.add(key, priority);
        }
    }

    fn take(&mut self) -> Option<u8> {
        self.undelay();
        let steps = |priority| match priority {
            Priority::High => 0,
            Priority::Normal => 1,
            Priority::Low => 2,
        };
        // Of the first keys of the lanes, the one that counts as added first.
        let first = |priority| {
            self.ready
                .iter()
                .filter(|waiting| waiting.priority == priority)
                .min_by_key(|waiting| waiting.entered)
        };
        let next = [Priority::High, Priority::Normal, Priority::Low]
            .into_iter()
            .filter_map(first)
            .min_by_key(|waiting| waiting.added + AGING * steps(waiting.priority))?;
        let key = next.key;
        self.ready.retain(|waiting| waiting.key != key);
        self.processing.insert(key, None);
        Some(key)
    }

    fn done(&mut self, key: u8) {
        if let Some(Some((priority, since))) = self.processing.remove(&key) {
            self.enter(key, priority, since);
        }
    }
}

proptest! {
    #[test]
    fn the_queue_behaves_like_the_model(steps in prop::collection::vec(step(), 1..120)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(play(steps))?;
    }
}

async fn play(steps: Vec<Step>) -> Result<(), TestCaseError> {
    let queue = WorkQueue::builder().aging(Duration::from_secs(AGING)).build();
    let begun = Instant::now();
    let mut model = Model::default();
    let mut items: Vec<Item<u8>> = Vec::new();
    for step in steps {
        match step {
            Step::Add(key, priority) => {
                queue.add_with_opts(key, AddOpts::priority(priority));
                if !model.is_shut_down {
                    model.add(key, priority);
                }
            }
            Step::AddAfter(key, delay, priority) => {
                queue.add_with_opts(key, AddOpts::priority(priority).after(Duration::from_secs(delay)));
                if !model.is_shut_down {
                    model.add_after(key, delay, priority);
                }
            }
            Step::Take => {
                let got = now(queue.get());
                let expected = model.take();
                let is_over = model.is_shut_down && model.processing.values().all(Option::is_none);
                match (&got, expected) {
                    (None, None) => prop_assert!(!is_over),
                    (Some(None), None) => prop_assert!(is_over),
                    (Some(Some(item)), Some(key)) => prop_assert_eq!(**item, key),
                    (got, expected) => prop_assert!(false, "{:?} instead of {:?}", got, expected),
                }
                items.extend(got.flatten());
            }
            Step::Done(which) => {
                if !items.is_empty() {
                    let item = items.remove(which % items.len());
                    model.done(*item);
                }
            }
            Step::Pass(seconds) => {
                advance(Duration::from_secs(seconds)).await;
                model.time = begun.elapsed().as_secs();
            }
            Step::ShutDown => {
                queue.shut_down();
                model.is_shut_down = true;
                model.delayed.clear();
            }
        }
        model.undelay();
        prop_assert_eq!(queue.len(), model.ready.len());
    }
    Ok(())
}
