//! Deployments: replica sets, one for each template, of which the newest takes over from the others.
//!
//! From: deployments, the replica sets that they own or select, and the pods of those that are recreated.
//! To:   replica sets that are created, scaled and deleted, and what a deployment says of them in its status.
//!
//! - D1: what replica sets are wanted to have together is never more than the deployment's [most](bounds::Bounds),
//!   and while pods that serve are replaced, never fewer than its least go on serving.
//! - D2: what a look at a deployment comes to is written to its status once, at the end.

mod bounds;
mod conditions;
mod controller;
mod new_set;
mod revision;
mod rollout;
mod scaling;
mod sizes;
#[cfg(test)]
mod sizes_story;
mod status;
mod template;

use std::sync::Arc;

use watchkeeper_cache::{Keep, Reader, Store};
use watchkeeper_controller::Controller;
use watchkeeper_core::{Object, ObjectKey};

use crate::plane::Plane;
use crate::resource::{DEPLOYMENTS, PODS, REPLICA_SETS};
use crate::view::Deployment;
use controller::Deployments;

/// As many deployments are looked at at once.
const WORKERS: usize = 5;

pub(crate) fn start(plane: &mut Plane) {
    let (deployments, sets) = (plane.informer(DEPLOYMENTS), plane.informer(REPLICA_SETS));
    let related =
        Arc::new(Related { deployments: deployments.reader(Keep::Decoded), sets: sets.store().clone() });
    let of_pods = related.clone();
    let controller = Controller::new("deployment", &deployments)
        .owns(&sets)
        .watches(&sets, move |set| related.orphan(set))
        .watches(&plane.informer(PODS), move |pod| of_pods.recreated(pod))
        .concurrency(WORKERS);
    let deployments = Deployments::new(plane);
    plane.run(controller, deployments);
}

/// Which deployments something is about that does not say so itself.
struct Related {
    deployments: Reader<Deployment>,
    sets: Store,
}

impl Related {
    /// Those that would have a replica set that nobody has.
    fn orphan(&self, set: &Object) -> Vec<ObjectKey> {
        let (Some(namespace), None) = (set.head.key().namespace(), set.head.controller()) else {
            return Vec::new();
        };
        let (all, _) = self.deployments.namespace(namespace).list(&Default::default()).partial();
        let would_have = |deployment: &&Arc<Deployment>| {
            deployment.selector().is_some_and(|selector| selector.matches(|key| set.head.label(key)))
        };
        all.iter().filter(would_have).map(|deployment| deployment.metadata.key()).collect()
    }

    /// The one that waits for a pod to be gone.
    fn recreated(&self, pod: &Object) -> Vec<ObjectKey> {
        let waiting = || {
            let namespace = pod.head.key().namespace()?;
            let owner = pod.head.controller().filter(|owner| owner.kind == REPLICA_SETS.kind)?;
            let sets = self.sets.snapshot();
            let set = sets.get(&ObjectKey::namespaced(namespace, owner.name))?;
            let owner = set.head.controller().filter(|owner| owner.kind == DEPLOYMENTS.kind)?;
            let deployment = self.deployments.namespace(namespace).get(owner.name).ok()??;
            deployment.recreates().then(|| deployment.metadata.key())
        };
        waiting().into_iter().collect()
    }
}
