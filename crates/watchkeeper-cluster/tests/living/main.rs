//! A server with a running cluster: objects have the effects they have in a real cluster.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod accounts;
mod by_hand;
mod cascades;
mod deployments;
mod endpoints;
mod garbage;
mod garbage_at_random;
mod living;
mod namespaces;
mod placing;
mod pods;
mod protection;
mod replica_sets;
mod trouble;
