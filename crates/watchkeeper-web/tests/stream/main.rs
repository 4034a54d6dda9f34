//! Streams over real HTTP, in front of the embedded server.
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
