//! Queues beside each other: they hand out, they delay, and they stand at the end of the way from a write to a
//! worker, each in a process of its own.
//!
//! From: a [`Job`], with the [keys](key) and [delays](delay) that are the same for all, and the [`Writes`].
//! To:   a [`Report`], one line on stdout, whoever writes it; [`Standing`] puts them into a table.
//!
//! - J1: a job is measured by the process that does it: the time of all its processors. The keys are made before.
//! - J2: a job is done when all keys have been handed out and are done, and each was once.
//! - J3: writes begin when whoever waits for them says that it is ready, and carry the time at which they were sent.

mod job;
mod report;
mod standing;
mod workload;
mod writes;

pub use job::{Arguments, Job};
pub use report::{Lateness, Report};
pub use standing::Standing;
pub use workload::{delay, key};
pub use writes::{READY, Writes, age, sent};
