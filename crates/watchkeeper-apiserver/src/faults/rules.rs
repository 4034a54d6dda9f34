//! Rules: the faults that requests are matched against.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use watchkeeper_core::Status;

use super::{Effect, Ending, Fault, RequestInfo};

#[derive(Debug, Default)]
pub(crate) struct Rules {
    /// The number of rules, readable without the lock (`faults.X1`).
    present: AtomicUsize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    last_id: u64,
    rules: Vec<Rule>,
}

#[derive(Debug)]
struct Rule {
    id: u64,
    fault: Fault,
    /// The number of requests that matched.
    fitted: u64,
    /// The number of requests that took the rule: `faults.X2`, at most `fault.times`.
    taken: u64,
    hits: watch::Sender<u64>,
}

/// The fault to inject into a request.
#[derive(Debug, Default)]
pub(crate) struct InjectedFault {
    /// The delay before the rest.
    pub(crate) delay: Duration,
    /// The effect after the delay, if any.
    pub(crate) then: Option<Then>,
}

#[derive(Debug)]
pub(crate) enum Then {
    Answer(Box<Status>),
    End(PlannedEnding),
}

/// An ending that has not happened yet.
#[derive(Debug)]
pub(crate) struct PlannedEnding {
    pub(crate) ending: Ending,
    pub(crate) after_events: u64,
    /// The hit count of the rule.
    pub(super) hits: watch::Sender<u64>,
}

impl PlannedEnding {
    /// Counts a hit.
    pub(crate) fn hit(&self) {
        hit(&self.hits);
    }
}

fn hit(hits: &watch::Sender<u64>) {
    hits.send_modify(|hits| *hits += 1);
}

impl Rules {
    pub(super) fn add(&self, fault: Fault) -> (u64, watch::Receiver<u64>) {
        let (hits, receiver) = watch::channel(0);
        let mut state = self.state.lock();
        state.last_id += 1;
        let id = state.last_id;
        state.rules.push(Rule { id, fault, fitted: 0, taken: 0, hits });
        self.present.store(state.rules.len(), Ordering::Relaxed);
        (id, receiver)
    }

    pub(super) fn remove(&self, id: u64) -> bool {
        let mut state = self.state.lock();
        let found = state.rules.iter().position(|rule| rule.id == id);
        let removed = found.map(|place| state.rules.remove(place));
        self.present.store(state.rules.len(), Ordering::Relaxed);
        drop(state);
        removed.is_some() // dropping it wakes the tasks that wait for hits
    }

    pub(super) fn clear(&self) {
        let mut state = self.state.lock();
        let removed = std::mem::take(&mut state.rules);
        self.present.store(0, Ordering::Relaxed);
        drop(state);
        drop(removed);
    }

    pub(super) fn list(&self) -> Vec<(u64, Fault, u64)> {
        let state = self.state.lock();
        state.rules.iter().map(|rule| (rule.id, rule.fault.clone(), *rule.hits.borrow())).collect()
    }

    pub(super) fn match_request(&self, info: impl FnOnce() -> RequestInfo) -> Option<InjectedFault> {
        if self.present.load(Ordering::Relaxed) == 0 {
            return None; // faults.X1
        }
        let info = info();
        let mut hits = Vec::new();
        let mut fault = InjectedFault::default();
        for rule in &mut self.state.lock().rules {
            if !rule.take(&info) {
                continue;
            }
            match &rule.fault.effect {
                Effect::Delay(time) => {
                    fault.delay = fault.delay.saturating_add(*time);
                    hits.push(rule.hits.clone());
                    continue;
                }
                Effect::Answer(answer) => {
                    fault.then = Some(Then::Answer(Box::new(answer.status(&info))));
                    hits.push(rule.hits.clone());
                }
                Effect::End(ending) => {
                    let (ending, after_events) = (ending.clone(), rule.fault.after_events);
                    fault.then =
                        Some(Then::End(PlannedEnding { ending, after_events, hits: rule.hits.clone() }));
                }
            }
            break;
        }
        hits.iter().for_each(hit); // after the lock is released, since it wakes waiters
        Some(fault)
    }
}

impl Rule {
    /// Returns whether the rule applies to this request, and counts it.
    fn take(&mut self, info: &RequestInfo) -> bool {
        if !self.fault.requests.match_with(info) || self.fault.times.is_some_and(|times| self.taken >= times)
        {
            return false;
        }
        self.fitted += 1;
        let due = self.fitted.is_multiple_of(self.fault.every);
        self.taken += u64::from(due);
        due
    }
}
