//! Logs, programs and ports of pods, through the embedded server and a kubelet of the testkit.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../support/mod.rs"]
mod support;

mod broken;
mod logs;
mod ports;
mod programs;
mod scripted;
mod world;
