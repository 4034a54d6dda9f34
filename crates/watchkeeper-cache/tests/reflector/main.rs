//! The reflector through its source, sink and observer: scripted, on a paused clock.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod gone;
mod listing;
mod model;
mod retries;
mod served;
mod stopping;
mod story;
mod streaming;
mod transforming;
mod union;
mod watching;
