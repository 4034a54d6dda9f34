//! Scheduler: binds pods to nodes.
//!
//! Input: pods without a node, and the nodes.
//! Output: bindings, or a `PodScheduled` condition with the reason.
//!
//! Invariants:
//! - `scheduler.P1`: resources in use are tracked as pods come and go, and a pod counts from the moment its
//!   node is chosen, so parallel bindings cannot overcommit a node.
//! - `scheduler.P2`: a pod is in the waiting set before the nodes are read, so a node that changes meanwhile
//!   triggers another attempt.
//!
//! Nodes are filtered by taints, node selector, required node affinity and resources; among those left, the
//! one with the fewest pods is chosen. Pod affinity, volumes, preferences and preemption are not implemented.

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
use watchkeeper_controller::events::{Event, EventApi, EventRecorder};
use watchkeeper_controller::{Action, Controller, Error, Request};
use watchkeeper_core::{LabelSelector, Object, ObjectKey, Timestamp};
use watchkeeper_wire::{FieldPath, Kind, read_field};

use crate::context::{ControllerContext, Reconcile};
use crate::nodes::Node;
use crate::resource::{NODES, PODS};
use crate::timings::Timings;
use crate::view::decodable;
use fit::Unfit;
use ledger::Ledger;
use view::Pod;

/// The scheduler name this one is responsible for.
const NAME: &str = "default-scheduler";
/// Number of workers.
const WORKERS: usize = 32;

pub(crate) fn start(context: &mut ControllerContext, timings: &Timings) {
    let waiting: Arc<Mutex<BTreeSet<ObjectKey>>> = Arc::default();
    let ledger: Arc<Ledger> = Arc::default();
    let pods = context.informer(PODS);
    let kind = pods.kind().clone();
    let all_waiting = {
        let waiting = waiting.clone();
        move |_: &Object| waiting.lock().iter().cloned().collect()
    };
    let controller = Controller::new("scheduler", &pods)
        .with_predicate(move |_, new| is_unassigned(new, &kind))
        .watches(&context.informer(NODES), all_waiting)
        .concurrency(WORKERS);
    let changes = context.reader(PODS).changes(SubscriptionOptions::default());
    let counted = changes.caught_up();
    let counting = ledger.clone().follow(changes);
    context.spawn(|stop| async move {
        tokio::select! {
            () = stop.cancelled() => {}
            () = counting => {}
        }
    });
    let scheduler = Scheduler {
        pods: context.reader(PODS),
        nodes: context.informer(NODES).reader(Keep::Decoded),
        api: context.api(PODS),
        second: timings.second,
        waiting,
        ledger,
        counted,
        recorder: context.recorder(NAME, EventApi::Events),
    };
    context.run(controller, scheduler);
}

struct Scheduler {
    pods: Reader<Pod>,
    nodes: Reader<Node>,
    api: DynamicApi,
    second: Duration,
    /// Pods that fit on no node, or are being scheduled (`scheduler.P2`).
    waiting: Arc<Mutex<BTreeSet<ObjectKey>>>,
    ledger: Arc<Ledger>,
    /// Becomes true when all initial pods are in the ledger.
    counted: watch::Receiver<bool>,
    recorder: EventRecorder,
}

impl Reconcile for Scheduler {
    async fn reconcile(&self, request: Request) -> Result<Action, Error> {
        let key = request.key();
        let pod = self.pods.get(key)?;
        let Some(pod) = pod.filter(|pod| pod.needs_scheduling(NAME)) else {
            self.waiting.lock().remove(key);
            return Ok(Action::await_change());
        };
        if self.counted.clone().wait_for(|counted| *counted).await.is_err() {
            return Ok(Action::await_change()); // shutting down
        }
        self.waiting.lock().insert(key.clone());
        let nodes = decodable(self.nodes.list(&LabelSelector::default()));
        match self.ledger.assume(key, &pod, &nodes) {
            Ok(node) => {
                self.waiting.lock().remove(key);
                self.bind(key, &pod, &node).await
            }
            Err(unfit) => self.mark_unschedulable(&pod, &unfit).await,
        }
    }
}

impl Scheduler {
    async fn bind(&self, key: &ObjectKey, pod: &Pod, node: &str) -> Result<Action, Error> {
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
            self.record(pod, Event::normal("Scheduled", message).action("Binding"));
            return Ok(Action::await_change());
        };
        self.ledger.forget(key);
        if error.is_conflict() || error.is_not_found() {
            Ok(Action::await_change()) // already bound, being deleted, or gone
        } else {
            Err(error.into())
        }
    }

    /// Records why a pod fits on no node. It is retried when a node changes, and periodically if another pod
    /// may have been deleted.
    async fn mark_unschedulable(&self, pod: &Pod, unfit: &Unfit) -> Result<Action, Error> {
        let message = unfit.to_string();
        if pod.has_reason(&message) {
            return Ok(self.retry_action(unfit));
        }
        let condition = json!({
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": message,
            "lastTransitionTime": pod.unschedulable_since().unwrap_or_else(|| Timestamp::now().to_string()),
            "observedGeneration": pod.metadata.generation,
        });
        let patch = json!({"metadata": {"uid": pod.metadata.uid}, "status": {"conditions": [condition]}});
        let api = self.api.clone().namespace(&pod.metadata.namespace);
        let options = WriteOptions::default();
        match api.patch_status(&pod.metadata.name, PatchKind::Strategic, &patch, &options).await {
            Ok(_) => {
                self.record(pod, Event::warning("FailedScheduling", message).action("Scheduling"));
            }
            Err(error) if error.is_conflict() || error.is_not_found() => {}
            Err(error) => return Err(error.into()),
        }
        Ok(self.retry_action(unfit))
    }

    fn record(&self, pod: &Pod, event: Event) {
        self.recorder.record(&pod.metadata.reference(PODS), event);
    }

    fn retry_action(&self, unfit: &Unfit) -> Action {
        const SECONDS: u32 = 5;
        if unfit.lacks_resources() {
            Action::requeue(self.second.saturating_mul(SECONDS))
        } else {
            Action::await_change()
        }
    }
}

/// Returns whether a pod has no node.
fn is_unassigned(pod: &Object, kind: &Kind) -> bool {
    let Ok(path) = "spec.nodeName".parse::<FieldPath>() else { return true };
    let mut is_unassigned = true;
    let read = read_field(&pod.encoded, kind, &path, &mut |node: &str| is_unassigned &= node.is_empty());
    read.is_err() || is_unassigned
}
