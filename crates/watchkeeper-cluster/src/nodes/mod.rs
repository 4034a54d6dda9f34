//! Nodes: machines that are simulated, and what becomes of nodes of which nothing is heard.
//!
//! From: how many there are to be, and which of them are lost.
//! To:   nodes that say how they are, taints on those that do not, and no pods on those that are gone.

mod eviction;
mod fleet;
mod heartbeat;
mod lifecycle;
mod pod_gc;
mod pods;
mod registration;
mod taint;
mod view;

pub(crate) use fleet::{Fleet, Machine};
pub(crate) use lifecycle::UNSCHEDULABLE;
pub(crate) use taint::{Taint, Toleration, tolerates};
pub(crate) use view::Node;

use std::sync::Arc;

use watchkeeper_apiserver::http::VersionInfo;

use crate::pace::Pace;
use crate::plane::Plane;

/// Where the nodes' leases are.
const LEASE_NAMESPACE: &str = "kube-node-lease";

/// The machines.
pub(crate) fn start(plane: &mut Plane, fleet: &Arc<Fleet>, pace: &Pace) {
    heartbeat::start(plane, fleet.clone(), pace, VersionInfo::default().git_version);
}

/// Those who look after nodes, simulated or not.
pub(crate) fn watch_over(plane: &mut Plane, pace: &Pace) {
    lifecycle::start(plane, pace);
    eviction::start(plane, pace);
    pod_gc::start(plane, pace);
}
