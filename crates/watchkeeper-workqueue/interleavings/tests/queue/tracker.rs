//! Tracker: the written and the processed state of each key.

use shuttle::sync::{Condvar, Mutex};
use shuttle::thread;

/// Number of keys.
pub(crate) const KEYS: usize = 3;

/// The state of a key is a number that grows.
#[derive(Debug, Default)]
pub(crate) struct Tracker {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The current state of each key.
    written: [u32; KEYS],
    /// The state in which each key was last processed.
    seen: [u32; KEYS],
    held: [bool; KEYS],
    /// Number of times that each key was processed.
    times: [u32; KEYS],
}

impl Tracker {
    /// Changes the state of a key, which is to be added after this.
    pub(crate) fn write(&self, key: usize) {
        self.state.lock().unwrap().written[key] += 1;
    }

    /// Processes a key, during which other threads run. Panics if another worker holds it.
    pub(crate) fn work(&self, key: usize) {
        let now = {
            let mut state = self.state.lock().unwrap();
            let is_held = std::mem::replace(&mut state.held[key], true);
            assert!(!is_held, "workqueue.Q1: two workers hold {key}");
            state.written[key]
        };
        thread::yield_now();
        let mut state = self.state.lock().unwrap();
        state.held[key] = false;
        state.seen[key] = now;
        state.times[key] += 1;
        self.changed.notify_all();
    }

    /// Waits until the last state of every key was processed. Only workers can bring that about: if one sleeps
    /// although a key is ready, shuttle reports a deadlock.
    pub(crate) fn until_all_seen(&self) {
        let mut state = self.state.lock().unwrap();
        while state.seen != state.written {
            state = self.changed.wait(state).unwrap();
        }
    }

    /// Waits until a key was processed this many times.
    pub(crate) fn until_processed(&self, key: usize, times: u32) {
        let mut state = self.state.lock().unwrap();
        while state.times[key] < times {
            state = self.changed.wait(state).unwrap();
        }
    }

    /// Returns how many times each key was processed.
    pub(crate) fn times(&self) -> [u32; KEYS] {
        self.state.lock().unwrap().times
    }

    /// Panics unless the last state of every key was processed and no worker holds a key.
    pub(crate) fn assert_all_done(&self) {
        let state = self.state.lock().unwrap();
        assert_eq!(state.seen, state.written, "workqueue.Q3: the last state of each key was processed");
        state.assert_idle();
    }

    /// Panics if a worker holds a key.
    pub(crate) fn assert_idle(&self) {
        self.state.lock().unwrap().assert_idle();
    }
}

impl State {
    fn assert_idle(&self) {
        assert_eq!(self.held, [false; KEYS], "a worker holds a key");
    }
}
