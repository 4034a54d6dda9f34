//! The ClientSet against the embedded server: in protobuf and in JSON, and always with what the dynamic client
//! says of the same.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod applied;
mod embedded;
mod every_method;
mod methods;
mod subresources;
mod verbs;
mod way;
mod world;
