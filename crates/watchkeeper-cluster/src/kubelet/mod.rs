//! Kubelet: what all simulated machines do with their pods.
//!
//! From: pods that are on one of the machines, and what their annotations have happen to them (see
//!       [`Script`]).
//! To:   their status, and the end of those that are deleted.
//!
//! - K1: what a pod goes through is a function of its spec, its script and time alone: [`life`] knows no server.
//! - K2: a life is picked up where the status says it was, so that pods outlive the process that simulates them.
//! - K3: no two pods that live have the same address.

mod addresses;
mod backoff;
mod condition;
mod container;
mod life;
#[cfg(test)]
mod life_tests;
mod phase;
mod script;
mod told;
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
use watchkeeper_controller::events::{EventApi, Recorder};
use watchkeeper_controller::{Action, Controller, Failure, Reconcile, Request};
use watchkeeper_core::{Object, ObjectKey, Timestamp};

use crate::nodes::{Fleet, Machine};
use crate::pace::Pace;
use crate::plane::Plane;
use crate::resource::{NODES, PODS};
use addresses::Addresses;
pub(crate) use container::digest;
use life::{Life, Moment};
pub use script::Script;
use view::{Pod, PodStatus};

/// Pods by the name of their node.
pub(crate) const BY_NODE: &str = "spec.nodeName";
/// How many pods are looked at at once.
const AT_ONCE: usize = 32;

pub(crate) fn start(plane: &mut Plane, fleet: &Arc<Fleet>, pace: &Pace) {
    let pods = plane.informer(PODS);
    if let Ok(path) = BY_NODE.parse() {
        // Somebody else may have added it: it is the same.
        let _ = pods.add_index(BY_NODE, by_field(pods.kind().clone(), path));
    }
    let store = pods.store().clone();
    let on_it = move |node: &Object| -> Vec<ObjectKey> {
        let now = store.snapshot();
        let found = now.by_index(BY_NODE, node.head.key().name());
        found.map(|pods| pods.map(|pod| pod.head.key().clone()).collect()).unwrap_or_default()
    };
    let controller =
        Controller::new("kubelet", &pods).watches(&plane.informer(NODES), on_it).concurrency(AT_ONCE);
    let kubelet = Kubelet {
        fleet: fleet.clone(),
        pace: pace.clone(),
        pods: plane.reader(PODS),
        api: plane.api(PODS),
        lives: Mutex::default(),
        addresses: Addresses::default(),
        recorder: plane.recorder("kubelet", EventApi::Core),
    };
    plane.run(controller, kubelet);
}

struct Kubelet {
    fleet: Arc<Fleet>,
    pace: Pace,
    pods: Reader<Pod>,
    api: DynamicApi,
    /// Of all pods that are on a machine and have not ended. One that is looked at is not here.
    lives: Mutex<HashMap<ObjectKey, Life>>,
    addresses: Addresses,
    recorder: Recorder,
}

impl Reconcile for Kubelet {
    async fn reconcile(&self, request: Request) -> Result<Action, Failure> {
        let key = request.key();
        let pod = self.pods.get(key)?;
        let placed = pod.and_then(|pod| {
            let machine = self.fleet.machine(&pod.spec.node_name)?;
            Some((pod, machine))
        });
        let known = self.lives.lock().remove(key);
        let Some((pod, machine)) = placed else {
            self.bury(known);
            return Ok(Action::Done);
        };
        let known = match known {
            Some(life) if life.uid() == pod.metadata.uid => Some(life),
            other => {
                self.bury(other);
                None
            }
        };
        if self.fleet.is_lost(&machine.name) {
            known.map(|life| self.lives.lock().insert(key.clone(), life));
            return Ok(Action::Done); // until its node says something again
        }
        let mut life = known.unwrap_or_else(|| self.begin(&pod, machine));
        let outcome = self.live(&request, &pod, machine, &mut life).await;
        match life.is_over() {
            true => self.bury(Some(life)),
            false => drop(self.lives.lock().insert(key.clone(), life)),
        }
        outcome
    }
}

impl Kubelet {
    /// A life, from where the status says it was (K2).
    fn begin(&self, pod: &Pod, machine: &Machine) -> Life {
        let address = match pod.spec.host_network {
            true => Some(machine.address),
            false if pod.has_ended() => pod.status.pod_ip.as_deref().and_then(|text| text.parse().ok()),
            false => self.addresses.take(machine, &pod.metadata.uid, pod.status.pod_ip.as_deref()),
        };
        Life::new(pod, address, Timestamp::now())
    }

    fn bury(&self, life: Option<Life>) {
        if let Some(life) = life {
            self.addresses.release(life.uid());
        }
    }

    /// Takes a life to where it is by now, and says so.
    async fn live(
        &self,
        request: &Request,
        pod: &Pod,
        machine: &Machine,
        life: &mut Life,
    ) -> Result<Action, Failure> {
        let now = Moment { at: Instant::now(), wall: Timestamp::now() };
        life.advance(pod, &self.pace, now);
        let told = life.take_told();
        if !told.is_empty() {
            let recorder = self.recorder.clone().host(&machine.name);
            let about = pod.metadata.reference(PODS);
            for (part, occurrence) in told.into_iter().map(|told| told.about(&about)) {
                recorder.record(&part, occurrence);
            }
        }
        let status = life.status(pod, machine.address, now.wall);
        if !status.is_said_by(&pod.status) && !self.write(request, pod, &status).await? {
            return Ok(Action::Done);
        }
        if life.is_over() && pod.metadata.is_going() && pod.metadata.deletion_grace_period_seconds != Some(0)
        {
            return self.delete(pod).await;
        }
        Ok(match life.next() {
            Some(next) => Action::After(next.saturating_duration_since(Instant::now())),
            None => Action::Done,
        })
    }

    /// Whether it was written: the pod may be another by now, or gone.
    async fn write(&self, request: &Request, pod: &Pod, status: &PodStatus) -> Result<bool, Failure> {
        let patch = json!({"metadata": {"uid": pod.metadata.uid}, "status": status});
        let api = self.api.clone().namespace(&pod.metadata.namespace);
        let options = WriteOptions::default();
        match api.patch_status(&pod.metadata.name, PatchKind::Strategic, &patch, &options).await {
            Ok(written) => {
                request.wrote(self.pods.store(), written.resource_version());
                Ok(true)
            }
            Err(error) if error.is_conflict() || error.is_not_found() => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Nothing of it runs any more: it may go.
    async fn delete(&self, pod: &Pod) -> Result<Action, Failure> {
        let options = DeleteOptions {
            grace_period_seconds: Some(0),
            uid: Some(pod.metadata.uid.clone()),
            ..DeleteOptions::default()
        };
        let api = self.api.clone().namespace(&pod.metadata.namespace);
        match api.delete(&pod.metadata.name, &options).await {
            Ok(_) => Ok(Action::Done),
            Err(error) if error.is_conflict() || error.is_not_found() => Ok(Action::Done),
            Err(error) => Err(error.into()),
        }
    }
}
