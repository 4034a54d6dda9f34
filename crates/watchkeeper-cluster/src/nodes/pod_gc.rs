//! Pod garbage collection: deletes pods of nodes that no longer exist.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use watchkeeper_cache::{Keep, Reader};
use watchkeeper_core::ErrorChain;

use super::Node;
use super::pods::Pods;
use crate::context::ControllerContext;
use crate::resource::NODES;
use crate::timings::Timings;

/// Period of the check, and how long a node may be missing, in simulated seconds.
const PERIOD: u32 = 20;
const MISSING: u32 = 40;

pub(super) fn start(context: &mut ControllerContext, timings: &Timings) {
    let informer = context.informer(NODES);
    let sweep = Sweep {
        period: timings.seconds(PERIOD),
        missing: timings.seconds(MISSING),
        nodes: informer.reader(Keep::Decoded),
        pods: Pods::new(context),
    };
    context.spawn(|stop: CancellationToken| async move {
        let sweeping = async {
            informer.wait_until_ready().await;
            sweep.run().await;
        };
        tokio::select! {
            () = stop.cancelled() => {}
            () = sweeping => {}
        }
    });
}

struct Sweep {
    period: Duration,
    missing: Duration,
    nodes: Reader<Node>,
    pods: Pods,
}

impl Sweep {
    async fn run(self) {
        let mut missing: HashMap<String, Instant> = HashMap::new();
        loop {
            tokio::time::sleep(self.period).await;
            let named = self.pods.nodes();
            missing.retain(|node, _| named.contains(node));
            for node in named {
                if !matches!(self.nodes.get(&node), Ok(None)) {
                    missing.remove(&node);
                } else if missing.entry(node.clone()).or_insert_with(Instant::now).elapsed() >= self.missing {
                    self.clear(&node).await;
                }
            }
        }
    }

    async fn clear(&self, node: &str) {
        for pod in self.pods.on(node) {
            let has_ended = matches!(pod.status.phase.as_str(), "Succeeded" | "Failed");
            let phase = (!has_ended).then_some("Failed");
            let why = ("DeletionByPodGC", "PodGC: node no longer exists");
            if let Err(error) = self.pods.disrupt(&pod, phase, why, Some(0)).await {
                let key = pod.metadata.key();
                tracing::warn!(%key, error = %ErrorChain(&error), "failed to delete a pod of a removed node; retrying");
            }
        }
    }
}
