//! Never two leaders at once, and always one in the end.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod handover;
mod one;
mod release;
mod reports;
mod server;
mod simulated;
mod world;
