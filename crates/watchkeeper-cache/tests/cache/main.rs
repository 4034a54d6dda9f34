//! The cache from outside, without any server.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod handlers;
mod objects;
mod store;
mod wait;
