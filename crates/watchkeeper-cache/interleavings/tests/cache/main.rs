//! The invariants of the store and the queue, in many interleavings of writers, readers and subscribers.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod objects;
mod queue;
mod reading;
mod subscribing;
mod waiting;

/// Number of random interleavings.
const RANDOM: usize = 1_000;
/// Number of interleavings with random thread priorities (PCT), which finds bugs that need few preemptions.
const PRIORITIES: usize = 1_000;
/// Number of priority changes in each of those.
const CHANGES: usize = 3;

/// Runs a test in many interleavings. A deadlock fails; a failure prints the schedule to replay.
fn interleave(test: impl Fn() + Send + Sync + Clone + 'static) {
    shuttle::check_random(test.clone(), RANDOM);
    shuttle::check_pct(test, PRIORITIES, CHANGES);
}
