//! The routes of the service, over the embedded server.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod allowed;
mod demand;
mod description;
mod listing;
mod pages;
mod single;
mod together;
mod world;
