//! The ClientSet against the embedded server, in protobuf and JSON, compared with the dynamic client.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod access;
mod applied;
mod embedded;
mod every_method;
mod methods;
mod subresources;
mod verbs;
mod world;
