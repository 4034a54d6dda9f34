//! Kubelet: runs the pods of all simulated nodes.
//!
//! Input: pods assigned to one of the nodes, and the [`Script`] in their annotations.
//! Output: their status, and the removal of deleted pods.
//!
//! Invariants:
//! - `kubelet.K1`: a pod's lifecycle depends only on its spec, its script and time; [`life`] does not access
//!   the server.
//! - `kubelet.K2`: a pod resumes in the state of its status, so pods survive a restart of this process.
//! - `kubelet.K3`: no two running pods have the same IP address.

mod addresses;
mod backoff;
mod condition;
mod container;
mod event;
mod life;
#[cfg(test)]
mod life_tests;
mod phase;
mod script;
mod view;

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::json;
use tokio::time::Instant;
use watchkeeper_cache::Reader;
use watchkeeper_cache::store::by_field;
use watchkeeper_client::dynamic::{DeleteOptions, DynamicApi, WriteOptions};
use watchkeeper_client::rest::PatchKind;
use watchkeeper_controller::events::{EventApi, EventRecorder};
use watchkeeper_controller::{Action, Controller, Error, Request};
use watchkeeper_core::{Object, ObjectKey, Timestamp};

use crate::context::{ControllerContext, Reconcile};
use crate::nodes::{Machine, SimulatedNodes};
use crate::resource::{NODES, PODS};
use crate::timings::Timings;
use addresses::Addresses;
pub(crate) use container::digest;
use life::{Life, Moment};
pub use script::Script;
use view::{Pod, PodStatus};

/// Index of pods by node name.
pub(crate) const BY_NODE: &str = "spec.nodeName";
/// Number of workers.
const WORKERS: usize = 32;

pub(crate) fn start(context: &mut ControllerContext, simulated: &Arc<SimulatedNodes>, timings: &Timings) {
    let pods = context.informer(PODS);
    if let Ok(path) = BY_NODE.parse() {
        // If the index exists, it is the same one.
        let _ = pods.add_index(BY_NODE, by_field(pods.kind().clone(), path));
    }
    let store = pods.store().clone();
    let pods_on = move |node: &Object| -> Vec<ObjectKey> {
        let now = store.snapshot();
        let found = now.by_index(BY_NODE, node.metadata.key().name());
        found.map(|pods| pods.map(|pod| pod.metadata.key().clone()).collect()).unwrap_or_default()
    };
    let controller =
        Controller::new("kubelet", &pods).watches(&context.informer(NODES), pods_on).concurrency(WORKERS);
    let kubelet = Kubelet {
        simulated: simulated.clone(),
        timings: timings.clone(),
        pods: context.reader(PODS),
        api: context.api(PODS),
        lives: Mutex::default(),
        addresses: Addresses::default(),
        recorder: context.recorder("kubelet", EventApi::Core),
    };
    context.run(controller, kubelet);
}

struct Kubelet {
    simulated: Arc<SimulatedNodes>,
    timings: Timings,
    pods: Reader<Pod>,
    api: DynamicApi,
    /// The pods on simulated nodes that have not finished. A pod being reconciled is not in the map.
    lives: Mutex<HashMap<ObjectKey, Life>>,
    addresses: Addresses,
    recorder: EventRecorder,
}

impl Reconcile for Kubelet {
    async fn reconcile(&self, request: Request) -> Result<Action, Error> {
        let key = request.key();
        let pod = self.pods.get(key)?;
        let placed = pod.and_then(|pod| {
            let machine = self.simulated.machine(&pod.spec.node_name)?;
            Some((pod, machine))
        });
        let known = self.lives.lock().remove(key);
        let Some((pod, machine)) = placed else {
            self.release(known);
            return Ok(Action::await_change());
        };
        let known = match known {
            Some(life) if life.uid() == pod.metadata.uid => Some(life),
            other => {
                self.release(other);
                None
            }
        };
        if self.simulated.is_lost(&machine.name) {
            known.map(|life| self.lives.lock().insert(key.clone(), life));
            return Ok(Action::await_change()); // until its node recovers
        }
        let mut life = known.unwrap_or_else(|| self.start(&pod, machine));
        let outcome = self.advance(&pod, machine, &mut life).await;
        if life.is_finished() {
            self.release(Some(life));
        } else {
            self.lives.lock().insert(key.clone(), life);
        }
        outcome
    }
}

impl Kubelet {
    /// Creates a pod in the state of its last status (`kubelet.K2`).
    fn start(&self, pod: &Pod, machine: &Machine) -> Life {
        let address = if pod.spec.host_network {
            Some(machine.address)
        } else if pod.is_finished() {
            pod.status.pod_ip.as_deref().and_then(|text| text.parse().ok())
        } else {
            self.addresses.take(machine, &pod.metadata.uid, pod.status.pod_ip.as_deref())
        };
        Life::new(pod, address, Timestamp::now())
    }

    fn release(&self, life: Option<Life>) {
        if let Some(life) = life {
            self.addresses.release(life.uid());
        }
    }

    /// Advances a pod to the current moment, and writes its status.
    async fn advance(&self, pod: &Pod, machine: &Machine, life: &mut Life) -> Result<Action, Error> {
        let now = Moment { at: Instant::now(), wall: Timestamp::now() };
        life.advance(pod, &self.timings, now);
        let events = life.take_events();
        if !events.is_empty() {
            let recorder = self.recorder.clone().host(&machine.name);
            let about = pod.metadata.reference(PODS);
            for (part, event) in events.into_iter().map(|event| event.about(&about)) {
                recorder.record(&part, event);
            }
        }
        let status = life.status(pod, machine.address, now.wall);
        if !status.is_covered_by(&pod.status) && !self.write(pod, &status).await? {
            return Ok(Action::await_change());
        }
        if life.is_finished()
            && pod.metadata.is_terminating()
            && pod.metadata.deletion_grace_period_seconds != Some(0)
        {
            return self.delete(pod).await;
        }
        Ok(match life.next() {
            Some(next) => Action::requeue(next.saturating_duration_since(Instant::now())),
            None => Action::await_change(),
        })
    }

    /// Writes the status, and returns false if the pod was deleted or replaced.
    async fn write(&self, pod: &Pod, status: &PodStatus) -> Result<bool, Error> {
        let patch = json!({"metadata": {"uid": pod.metadata.uid}, "status": status});
        let api = self.api.clone().namespace(&pod.metadata.namespace);
        let options = WriteOptions::default();
        match api.patch_status(&pod.metadata.name, PatchKind::Strategic, &patch, &options).await {
            Ok(_) => Ok(true),
            Err(error) if error.is_conflict() || error.is_not_found() => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes a pod whose containers have stopped.
    async fn delete(&self, pod: &Pod) -> Result<Action, Error> {
        let options = DeleteOptions {
            grace_period_seconds: Some(0),
            uid: Some(pod.metadata.uid.clone()),
            ..DeleteOptions::default()
        };
        let api = self.api.clone().namespace(&pod.metadata.namespace);
        match api.delete(&pod.metadata.name, &options).await {
            Ok(_) => Ok(Action::await_change()),
            Err(error) if error.is_conflict() || error.is_not_found() => Ok(Action::await_change()),
            Err(error) => Err(error.into()),
        }
    }
}
