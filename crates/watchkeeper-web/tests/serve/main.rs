//! The service on a port, tested with raw HTTP.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod access;
mod guard;
mod idle;
mod listen;
mod proxy;
mod upstream;
mod world;
