//! Discovery, its caches and the mapper, against the embedded server and against servers that are older,
//! broken or changing.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod asked;
mod disk;
mod mapper;
mod memory;
mod served;
mod world;
