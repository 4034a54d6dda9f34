//! Nodes: the simulated machines, and the controllers that look after nodes.
//!
//! Input: the number of machines, and which of them have failed.
//! Output: nodes with heartbeats, taints on nodes without, and deletion of pods on removed nodes.

mod eviction;
mod heartbeat;
mod lifecycle;
mod pod_gc;
mod pods;
mod registration;
mod simulated;
mod taint;
mod view;

pub(crate) use lifecycle::UNSCHEDULABLE;
pub(crate) use simulated::{Machine, SimulatedNodes};
pub(crate) use taint::{Taint, Toleration, tolerates};
pub(crate) use view::Node;

use std::sync::Arc;

use watchkeeper_apiserver::http::VersionInfo;

use crate::context::ControllerContext;
use crate::timings::Timings;

/// Namespace of the nodes' leases.
const LEASE_NAMESPACE: &str = "kube-node-lease";

/// Starts the machines.
pub(crate) fn start(context: &mut ControllerContext, simulated: &Arc<SimulatedNodes>, timings: &Timings) {
    heartbeat::start(context, simulated.clone(), timings, VersionInfo::default().git_version);
}

/// Starts the controllers of nodes, simulated or not.
pub(crate) fn start_controllers(context: &mut ControllerContext, timings: &Timings) {
    lifecycle::start(context, timings);
    eviction::start(context, timings);
    pod_gc::start(context, timings);
}
