//! Heartbeats: registers the simulated nodes, renews their leases, and writes their status.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use watchkeeper_cache::Reader;
use watchkeeper_client::dynamic::{DynamicApi, DynamicObject, WriteOptions};
use watchkeeper_client::rest::{PatchKind, RequestError};

use super::{LEASE_NAMESPACE, Machine, Node, SimulatedNodes, registration};
use watchkeeper_core::{ErrorChain, Timestamp};

use crate::context::ControllerContext;
use crate::resource::{LEASES, NODES};
use crate::timings::Timings;

pub(super) fn start(
    context: &mut ControllerContext,
    simulated: Arc<SimulatedNodes>,
    timings: &Timings,
    version: String,
) {
    let heart = Heart {
        simulated,
        version,
        period: timings.heartbeat,
        report: timings.report,
        nodes: context.reader(NODES),
        node_api: context.api(NODES),
        lease_api: context.api(LEASES).namespace(LEASE_NAMESPACE),
    };
    context.spawn(|stop| heart.beat(stop));
}

struct Heart {
    simulated: Arc<SimulatedNodes>,
    /// Version of the kubelets.
    version: String,
    period: Duration,
    report: Duration,
    nodes: Reader<Node>,
    node_api: DynamicApi,
    lease_api: DynamicApi,
}

impl Heart {
    /// Runs until `stop`.
    async fn beat(self, stop: CancellationToken) {
        let beating = async {
            // When each machine last wrote its full status; a recovered one does so at once.
            let mut reported = BTreeMap::new();
            loop {
                for machine in self.simulated.machines() {
                    self.heartbeat(machine, &mut reported).await;
                }
                tokio::select! {
                    () = tokio::time::sleep(self.period) => {}
                    () = self.simulated.returned.notified() => {}
                }
            }
        };
        tokio::select! {
            () = stop.cancelled() => {}
            () = beating => {}
        }
    }

    async fn heartbeat(&self, machine: &Machine, reported: &mut BTreeMap<String, Option<Instant>>) {
        if self.simulated.is_lost(&machine.name) {
            reported.entry(machine.name.clone()).and_modify(|last| *last = None);
            return;
        }
        let written = match reported.get(&machine.name) {
            None => Some(self.register(machine).await),
            Some(Some(last)) if last.elapsed() < self.report && !self.is_not_ready(machine) => None,
            Some(_) => Some(self.report(machine).await),
        };
        match written {
            Some(Ok(())) => drop(reported.insert(machine.name.clone(), Some(Instant::now()))),
            Some(Err(error)) => return warn(machine, &error),
            None => {}
        }
        if let Err(error) = self.renew(machine).await {
            warn(machine, &error);
        }
    }

    /// Returns whether its node is not ready.
    fn is_not_ready(&self, machine: &Machine) -> bool {
        let node = self.nodes.get(&machine.name).ok().flatten();
        node.is_some_and(|node| node.condition("Ready").is_none_or(|ready| ready.status != "True"))
    }

    /// Creates the node. On a server with old data the node may exist already.
    async fn register(&self, machine: &Machine) -> Result<(), RequestError> {
        let object = registration::node(machine, &self.version, Timestamp::now());
        let Ok(node) = DynamicObject::try_from(object) else { return Ok(()) };
        match self.node_api.create(&node, &WriteOptions::default()).await {
            Err(error) if error.is_already_exists() => self.report(machine).await,
            Err(error) => Err(error),
            Ok(node) => {
                self.nodes.store().wait_for(&node.resource_version().into()).await;
                Ok(())
            }
        }
    }

    async fn report(&self, machine: &Machine) -> Result<(), RequestError> {
        let known = self.nodes.get(&machine.name).ok().flatten();
        let status = registration::status(machine, &self.version, known.as_deref(), Timestamp::now());
        let patch = json!({"status": status});
        let written = self
            .node_api
            .patch_status(&machine.name, PatchKind::Strategic, &patch, &WriteOptions::default())
            .await;
        ignore_not_found(written)
    }

    async fn renew(&self, machine: &Machine) -> Result<(), RequestError> {
        let Ok(Some(node)) = self.nodes.get(&machine.name) else { return Ok(()) };
        let now = Timestamp::now();
        let patch = json!({"spec": {"renewTime": now.display_micro().to_string()}});
        let options = WriteOptions::default();
        match self.lease_api.patch(&machine.name, PatchKind::Merge, &patch, &options).await {
            Err(error) if error.is_not_found() => {
                let lease = registration::lease(machine, &node, now);
                let Ok(lease) = DynamicObject::try_from(lease) else { return Ok(()) };
                self.lease_api.create(&lease, &options).await.map(drop)
            }
            outcome => outcome.map(drop),
        }
    }
}

/// A node deleted by someone does not register itself again.
fn ignore_not_found(written: Result<DynamicObject, RequestError>) -> Result<(), RequestError> {
    match written {
        Err(error) if error.is_not_found() => Ok(()),
        outcome => outcome.map(drop),
    }
}

fn warn(machine: &Machine, error: &RequestError) {
    tracing::warn!(node = machine.name, error = %ErrorChain(error), "failed to write heartbeat; retrying");
}
