//! Clients beside each other: the same jobs at the same server, each in a process of its own.
//!
//! From: a [`Subject`], which is a client; [`run`] is the program around it.
//! To:   a [`Report`], one line on stdout, whoever writes it; [`Contest`] puts them into a table.
//!
//! - K1: a job is measured by the process that does it: the time of all its processors, and its peak of memory.
//!   Connecting is not counted.
//! - K2: whatever a job fetches is checked to be all there, and is still held when the time is taken.

mod contest;
mod report;
mod spent;
mod subject;
mod world;

pub use contest::Contest;
pub use report::{Latency, Report};
pub use spent::{Cost, Spent};
pub use subject::{Arguments, Job, Subject, run};
pub use world::{NAMESPACE, populate};
