//! The stream over real HTTP, in front of the embedded server: what a tab is told, and what it is told when it comes back.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod access;
mod content;
mod judge;
mod limits;
mod model;
mod outage;
mod reader;
mod resume;
mod slow;
mod world;
