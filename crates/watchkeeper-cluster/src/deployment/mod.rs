//! Deployments: one replica set per pod template, the newest of which replaces the others.
//!
//! Input: deployments, the replica sets they own or select, and the pods of deployments with strategy
//! `Recreate`.
//! Output: replica sets that are created, scaled and deleted, and the deployment's status.
//!
//! Invariants:
//! - `deployment.D1`: the desired replicas of all replica sets together never exceed
//!   [`max`](bounds::Bounds::max), and a rollout never takes the available pods below
//!   [`min_available`](bounds::Bounds::min_available).
//! - `deployment.D2`: the status is written once per call, at the end.

mod bounds;
mod conditions;
mod controller;
mod new_set;
mod revision;
mod rollout;
#[cfg(test)]
mod rollout_simulation;
mod scaling;
mod sizes;
mod status;
mod template;

use std::sync::Arc;

use watchkeeper_cache::{Keep, Reader, Store};
use watchkeeper_controller::Controller;
use watchkeeper_core::{Object, ObjectKey};

use crate::context::ControllerContext;
use crate::resource::{DEPLOYMENTS, PODS, REPLICA_SETS};
use crate::view::{Deployment, decodable};
use controller::Deployments;

/// Number of workers.
const WORKERS: usize = 5;

pub(crate) fn start(context: &mut ControllerContext) {
    let (deployments, sets) = (context.informer(DEPLOYMENTS), context.informer(REPLICA_SETS));
    let related =
        Arc::new(Related { deployments: deployments.reader(Keep::Decoded), sets: sets.store().clone() });
    let of_pods = related.clone();
    let controller = Controller::new("deployment", &deployments)
        .owns(&sets)
        .watches(&sets, move |set| related.orphan(set))
        .watches(&context.informer(PODS), move |pod| of_pods.recreated(pod))
        .concurrency(WORKERS);
    let deployments = Deployments::new(context);
    context.run(controller, deployments);
}

/// Maps replica sets and pods to the deployments they affect.
struct Related {
    deployments: Reader<Deployment>,
    sets: Store,
}

impl Related {
    /// Returns the deployments that select a replica set without a controller.
    fn orphan(&self, set: &Object) -> Vec<ObjectKey> {
        let (Some(namespace), None) = (set.metadata.key().namespace(), set.metadata.controller()) else {
            return Vec::new();
        };
        let all = decodable(self.deployments.namespace(namespace).list(&Default::default()));
        let would_have = |deployment: &&Arc<Deployment>| {
            deployment.selector().is_some_and(|selector| selector.matches(|key| set.metadata.label(key)))
        };
        all.iter().filter(would_have).map(|deployment| deployment.metadata.key()).collect()
    }

    /// Returns the deployment with strategy `Recreate` that a pod belongs to.
    fn recreated(&self, pod: &Object) -> Vec<ObjectKey> {
        let waiting = || {
            let namespace = pod.metadata.key().namespace()?;
            let owner = pod.metadata.controller().filter(|owner| owner.kind == REPLICA_SETS.kind)?;
            let sets = self.sets.snapshot();
            let set = sets.get(&ObjectKey::namespaced(namespace, owner.name))?;
            let owner = set.metadata.controller().filter(|owner| owner.kind == DEPLOYMENTS.kind)?;
            let deployment = self.deployments.namespace(namespace).get(owner.name).ok()??;
            deployment.recreates().then(|| deployment.metadata.key())
        };
        waiting().into_iter().collect()
    }
}
