//! What the store and the queue promise, in many interleavings of whoever writes, reads and hears.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod hearing;
mod objects;
mod queue;
mod reading;
mod waiting;

/// How many interleavings a test goes through, and how many of them are of the sort that finds bugs of few changes.
const RANDOM: usize = 1_000;
const PRIORITIES: usize = 1_000;
const CHANGES: usize = 3;

/// Runs it in many interleavings. One in which nobody can go on fails, too; a failure says how to run it again.
fn interleave(test: impl Fn() + Send + Sync + Clone + 'static) {
    shuttle::check_random(test.clone(), RANDOM);
    shuttle::check_pct(test, PRIORITIES, CHANGES);
}
