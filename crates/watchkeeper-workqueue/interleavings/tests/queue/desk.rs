//! Desk: what is to be done about each key, and what has been.

use shuttle::sync::{Condvar, Mutex};
use shuttle::thread;

/// How many keys there are.
pub(crate) const KEYS: usize = 3;

/// States of things to work on, which are numbers that grow.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The state of each key.
    written: [u32; KEYS],
    /// The state in which each was worked on last.
    seen: [u32; KEYS],
    held: [bool; KEYS],
    /// How often each was worked on.
    times: [u32; KEYS],
}

impl Desk {
    /// There is a new state of a key. It is to be added after this.
    pub(crate) fn write(&self, key: usize) {
        self.state.lock().unwrap().written[key] += 1;
    }

    /// Takes a while. Fails if somebody else works on the same key.
    pub(crate) fn work(&self, key: usize) {
        let now = {
            let mut state = self.state.lock().unwrap();
            assert!(!std::mem::replace(&mut state.held[key], true), "Q1: {key} is with two workers");
            state.written[key]
        };
        thread::yield_now();
        let mut state = self.state.lock().unwrap();
        state.held[key] = false;
        state.seen[key] = now;
        state.times[key] += 1;
        self.changed.notify_all();
    }

    /// Returns when the last state of all keys has been worked on. Nobody else has to do anything for that but the
    /// workers: who sleeps while there is something to do is never woken, and the test fails.
    pub(crate) fn until_all_seen(&self) {
        let mut state = self.state.lock().unwrap();
        while state.seen != state.written {
            state = self.changed.wait(state).unwrap();
        }
    }

    /// Returns when a key has been worked on so often.
    pub(crate) fn until_worked_on(&self, key: usize, times: u32) {
        let mut state = self.state.lock().unwrap();
        while state.times[key] < times {
            state = self.changed.wait(state).unwrap();
        }
    }

    /// How often each key has been worked on.
    pub(crate) fn times(&self) -> [u32; KEYS] {
        self.state.lock().unwrap().times
    }

    /// Fails unless the last state of all keys has been worked on, and nothing is any more.
    pub(crate) fn assert_all_done(&self) {
        let state = self.state.lock().unwrap();
        assert_eq!(state.seen, state.written, "Q3: the last state of each key was worked on");
        self.assert_idle_in(&state);
    }

    /// Fails if something is worked on.
    pub(crate) fn assert_idle(&self) {
        self.assert_idle_in(&self.state.lock().unwrap());
    }

    fn assert_idle_in(&self, state: &State) {
        assert_eq!(state.held, [false; KEYS], "something is worked on");
    }
}
