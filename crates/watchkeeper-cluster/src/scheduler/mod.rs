//! Scheduler: pods that are on no node are put on one.
//!
//! From: pods without a node, and the nodes.
//! To:   bindings, or a condition that says why there is none.
//!
//! - P1: how much of each node is taken is counted as pods come and go, and a pod counts from the moment it is
//!   decided on: many are bound at once, and none looks at the others.
//! - P2: a pod that fits nowhere is among the waiting before the nodes are looked at, so that a node that changes
//!   meanwhile leads to another look.
//!
//! Nodes are chosen by taints, node selectors, required node affinity and resources; of those that remain, the one
//! with the fewest pods. What pods say about other pods, about volumes or about preferences is not considered, and no
//! pod gives way to another.

mod affinity;
mod fit;
mod ledger;
mod quantity;
mod view;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::watch;
use watchkeeper_cache::handler::SubscriptionOptions;
use watchkeeper_cache::{Keep, Reader};
use watchkeeper_client::dynamic::{DynamicApi, WriteOptions};
use watchkeeper_client::rest::PatchKind;
use watchkeeper_controller::events::{EventApi, Occurrence, Recorder};
use watchkeeper_controller::{Action, Controller, Failure, Reconcile, Request};
use watchkeeper_core::{LabelSelector, Object, ObjectKey, Timestamp};
use watchkeeper_wire::{FieldPath, Kind, read_field};

use crate::nodes::Node;
use crate::pace::Pace;
use crate::plane::Plane;
use crate::resource::{NODES, PODS};
use fit::Unfit;
use ledger::Ledger;
use view::Pod;

/// The name of this one, for pods that ask for another.
const NAME: &str = "default-scheduler";
/// How many bindings are under way at once.
const AT_ONCE: usize = 32;

pub(crate) fn start(plane: &mut Plane, pace: &Pace) {
    let waiting: Arc<Mutex<BTreeSet<ObjectKey>>> = Arc::default();
    let ledger: Arc<Ledger> = Arc::default();
    let pods = plane.informer(PODS);
    let kind = pods.kind().clone();
    let all_waiting = {
        let waiting = waiting.clone();
        move |_: &Object| waiting.lock().iter().cloned().collect()
    };
    let controller = Controller::new("scheduler", &pods)
        .when(move |_, new| is_free(new, &kind))
        .watches(&plane.informer(NODES), all_waiting)
        .concurrency(AT_ONCE);
    let changes = plane.reader(PODS).changes(SubscriptionOptions::default());
    let counted = changes.caught_up();
    let counting = ledger.clone().follow(changes);
    plane.spawn(|stop| async move {
        tokio::select! {
            () = stop.cancelled() => {}
            () = counting => {}
        }
    });
    let scheduler = Scheduler {
        pods: plane.reader(PODS),
        nodes: plane.informer(NODES).reader(Keep::Decoded),
        api: plane.api(PODS),
        second: pace.second,
        waiting,
        ledger,
        counted,
        recorder: plane.recorder(NAME, EventApi::Events),
    };
    plane.run(controller, scheduler);
}

struct Scheduler {
    pods: Reader<Pod>,
    nodes: Reader<Node>,
    api: DynamicApi,
    second: Duration,
    /// Those that fit nowhere, or are just looked at (P2).
    waiting: Arc<Mutex<BTreeSet<ObjectKey>>>,
    ledger: Arc<Ledger>,
    /// Whether all pods that were there at the beginning are in the ledger.
    counted: watch::Receiver<bool>,
    recorder: Recorder,
}

impl Reconcile for Scheduler {
    async fn reconcile(&self, request: Request) -> Result<Action, Failure> {
        let key = request.key();
        let pod = self.pods.get(key)?;
        let Some(pod) = pod.filter(|pod| pod.is_to_be_scheduled(NAME)) else {
            self.waiting.lock().remove(key);
            return Ok(Action::Done);
        };
        if self.counted.clone().wait_for(|counted| *counted).await.is_err() {
            return Ok(Action::Done); // it is the end
        }
        self.waiting.lock().insert(key.clone());
        let (nodes, _) = self.nodes.list(&LabelSelector::default()).partial();
        match self.ledger.assume(key, &pod, &nodes) {
            Ok(node) => {
                self.waiting.lock().remove(key);
                self.bind(&request, &pod, &node).await
            }
            Err(unfit) => self.refuse(&request, &pod, &unfit).await,
        }
    }
}

impl Scheduler {
    async fn bind(&self, request: &Request, pod: &Pod, node: &str) -> Result<Action, Failure> {
        let (namespace, name) = (&pod.metadata.namespace, &pod.metadata.name);
        let binding = json!({
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name, "namespace": namespace, "uid": pod.metadata.uid},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        });
        let api = self.api.clone().namespace(namespace);
        let bound =
            api.create_subresource::<Value>(name, "binding", &binding, &WriteOptions::default()).await;
        let Err(error) = bound else {
            let message = format!("Successfully assigned {namespace}/{name} to {node}");
            self.tell(pod, Occurrence::normal("Scheduled", message).action("Binding"));
            return Ok(Action::Done);
        };
        self.ledger.forget(request.key());
        match error.is_conflict() || error.is_not_found() {
            true => Ok(Action::Done), // it is on a node, going or gone
            false => Err(error.into()),
        }
    }

    /// Says why it fits nowhere. It is looked at again when a node changes, or after a while if another pod may have
    /// gone.
    async fn refuse(&self, request: &Request, pod: &Pod, unfit: &Unfit) -> Result<Action, Failure> {
        let message = unfit.to_string();
        if pod.is_refused(&message) {
            return Ok(self.again(unfit));
        }
        let condition = json!({
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": message,
            "lastTransitionTime": pod.refused_since().unwrap_or_else(|| Timestamp::now().to_string()),
            "observedGeneration": pod.metadata.generation,
        });
        let patch = json!({"metadata": {"uid": pod.metadata.uid}, "status": {"conditions": [condition]}});
        let api = self.api.clone().namespace(&pod.metadata.namespace);
        let options = WriteOptions::default();
        match api.patch_status(&pod.metadata.name, PatchKind::Strategic, &patch, &options).await {
            Ok(written) => {
                self.tell(pod, Occurrence::warning("FailedScheduling", message).action("Scheduling"));
                request.wrote(self.pods.store(), written.resource_version());
            }
            Err(error) if error.is_conflict() || error.is_not_found() => {}
            Err(error) => return Err(error.into()),
        }
        Ok(self.again(unfit))
    }

    fn tell(&self, pod: &Pod, occurrence: Occurrence) {
        self.recorder.record(&pod.metadata.reference(PODS), occurrence);
    }

    fn again(&self, unfit: &Unfit) -> Action {
        const SECONDS: u32 = 5;
        match unfit.is_for_lack_of_room() {
            true => Action::After(self.second.saturating_mul(SECONDS)),
            false => Action::Done,
        }
    }
}

/// Whether a pod is on no node.
fn is_free(pod: &Object, kind: &Kind) -> bool {
    let Ok(path) = "spec.nodeName".parse::<FieldPath>() else { return true };
    let mut is_free = true;
    let read = read_field(&pod.encoded, kind, &path, &mut |node: &str| is_free &= node.is_empty());
    read.is_err() || is_free
}
