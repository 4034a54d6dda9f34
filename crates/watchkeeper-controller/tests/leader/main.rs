//! Leader election: at most one leader at a time, and eventually one.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod handover;
mod one;
mod release;
mod reports;
mod server;
mod simulated;
mod world;
