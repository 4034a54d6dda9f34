//! Replica sets: keep the desired number of pods.
//!
//! Input: replica sets, and the pods they own or select.
//! Output: pods that are created or deleted, and the replica set's status.
//!
//! Invariants:
//! - `replica_set.W1`: after pods were created or deleted for a replica set, it is not reconciled before the
//!   cache has observed all of that.

mod batch;
mod controller;
mod pods;
mod ranking;
mod status;

use watchkeeper_cache::{Keep, Reader};
use watchkeeper_controller::Controller;
use watchkeeper_core::{Object, ObjectKey};

use crate::context::ControllerContext;
use crate::resource::{PODS, REPLICA_SETS};
use crate::view::{Meta, decodable, selector};
use controller::ReplicaSets;

/// Number of workers.
const WORKERS: usize = 5;

pub(crate) fn start(context: &mut ControllerContext) {
    let pods = context.informer(PODS);
    let selecting = Selecting { sets: context.informer(REPLICA_SETS).reader(Keep::Decoded) };
    let controller = Controller::new("replicaset", &context.informer(REPLICA_SETS))
        .owns(&pods)
        .watches(&pods, move |pod| selecting.orphan(pod))
        .concurrency(WORKERS);
    let sets = ReplicaSets::new(context);
    context.run(controller, sets);
}

/// Maps pods without a controller to the replica sets that select them.
struct Selecting {
    sets: Reader<Selector>,
}

/// The fields of a replica set needed to evaluate its selector.
#[derive(serde::Deserialize)]
struct Selector {
    metadata: Meta,
    spec: SelectorSpec,
}

#[derive(serde::Deserialize)]
struct SelectorSpec {
    selector: Option<watchkeeper_core::StructuredSelector>,
}

impl Selecting {
    fn orphan(&self, pod: &Object) -> Vec<ObjectKey> {
        let (Some(namespace), None) = (pod.metadata.key().namespace(), pod.metadata.controller()) else {
            return Vec::new();
        };
        let all = decodable(self.sets.namespace(namespace).list(&Default::default()));
        let would_have = |set: &&std::sync::Arc<Selector>| {
            selector(set.spec.selector.as_ref())
                .is_some_and(|selector| selector.matches(|key| pod.metadata.label(key)))
        };
        all.iter().filter(would_have).map(|set| set.metadata.key()).collect()
    }
}
