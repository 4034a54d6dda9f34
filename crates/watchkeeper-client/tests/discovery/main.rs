//! Discovery, its caches and the mapper, against the embedded server and against old, broken and changing servers.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod disk;
mod mapper;
mod memory;
mod requests;
mod served;
mod world;
