//! Informers beside each other: they fill, they rest, they follow, each in a process of its own.
//!
//! From: [`RunningPods`], which fill a server, and [`Updates`], which change them at a steady rate.
//! To:   a [`Report`], some lines on stdout, whoever writes them; [`Standing`] puts them into a table.
//!
//! - F1: an informer is measured by the process that it is in: processor time of all its threads, resident size.
//! - F2: updates begin when the informer says that it rests, and are as many as it waits for.

mod pods;
mod report;
mod standing;
mod updates;

pub use pods::RunningPods;
pub use report::{Events, Memory, Report, Selected, Sync};
pub use standing::{Informant, Standing};
pub use updates::Updates;
