//! Logs, exec, attach and port-forward through the embedded server and the testkit's kubelet.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../support/mod.rs"]
mod support;

mod broken;
mod logs;
mod ports;
mod programs;
mod scripted;
mod world;
