//! Node lifecycle: marks nodes without a heartbeat as `Unknown`, and taints nodes by their conditions.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::json;
use tokio::time::Instant;
use watchkeeper_cache::{Keep, Reader};
use watchkeeper_client::dynamic::{DynamicApi, WriteOptions};
use watchkeeper_client::rest::PatchKind;
use watchkeeper_controller::events::{Event, EventApi, EventRecorder};
use watchkeeper_controller::{Action, Controller, Error, Request};
use watchkeeper_core::{Object, ObjectKey, Timestamp};

use super::pods::Pods;
use super::view::NodeCondition;
use super::{LEASE_NAMESPACE, Node, Taint};
use crate::context::{ControllerContext, Reconcile};
use crate::resource::{LEASES, NODES, PODS};
use crate::timings::Timings;

const NOT_READY: &str = "node.kubernetes.io/not-ready";
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
pub(crate) const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

/// Conditions that become `Unknown` when a node stops its heartbeat.
const HEARTBEAT_CONDITIONS: [&str; 4] = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];

pub(super) fn start(context: &mut ControllerContext, timings: &Timings) {
    let node_of = |lease: &Object| {
        let key = lease.metadata.key();
        let is_node_lease = key.namespace() == Some(LEASE_NAMESPACE);
        is_node_lease.then(|| ObjectKey::cluster(key.name())).into_iter().collect()
    };
    let controller = Controller::new("node-lifecycle", &context.informer(NODES))
        .watches(&context.informer(LEASES), node_of);
    let lifecycle = Lifecycle {
        lost_after: timings.lost_after,
        nodes: context.informer(NODES).reader(Keep::Decoded),
        leases: context.reader(LEASES),
        api: context.api(NODES),
        pods: Pods::new(context),
        recorder: context.recorder("node-controller", EventApi::Core),
        heartbeats: Mutex::default(),
    };
    context.run(controller, lifecycle);
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Lease {
    spec: LeaseSpec,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct LeaseSpec {
    renew_time: Option<String>,
}

struct Lifecycle {
    lost_after: Duration,
    nodes: Reader<Node>,
    leases: Reader<Lease>,
    api: DynamicApi,
    pods: Pods,
    recorder: EventRecorder,
    /// Last heartbeat of each node, and when it was observed by our own clock.
    heartbeats: Mutex<HashMap<String, (Heartbeat, Instant)>>,
}

/// Renew time of the lease, and heartbeat time in the status.
type Heartbeat = (Option<String>, Option<String>);

impl Reconcile for Lifecycle {
    async fn reconcile(&self, request: Request) -> Result<Action, Error> {
        let name = request.key().name();
        let Some(node) = self.nodes.get(name)? else {
            self.heartbeats.lock().remove(name);
            return Ok(Action::await_change());
        };
        let silence = self.silence(&node)?;
        let mut conditions = node.status.conditions.clone();
        if silence >= self.lost_after && lose(&mut conditions) {
            let version = &node.metadata.resource_version;
            let patch = json!({
                "metadata": {"uid": node.metadata.uid, "resourceVersion": version},
                "status": {"conditions": conditions},
            });
            let options = WriteOptions::default();
            let written = self.api.patch_status(name, PatchKind::Strategic, &patch, &options).await;
            match written {
                Ok(_) => {
                    let message = format!("Node {name} status is now: NodeNotReady");
                    let about = node.metadata.reference(NODES);
                    self.recorder.record(&about, Event::normal("NodeNotReady", message));
                }
                Err(error) if error.is_conflict() || error.is_not_found() => {
                    return Ok(Action::await_change());
                }
                Err(error) => return Err(error.into()),
            }
        }
        if conditions.iter().any(|it| it.kind == "Ready" && it.status == "Unknown") {
            self.mark_pods_not_ready(name).await?;
        }
        let taints = taints(&node, &conditions);
        if taints != node.spec.taints {
            // With the resource version that was read, so that no concurrent taint is lost.
            let version = &node.metadata.resource_version;
            let mut patch = json!({"metadata": {"uid": node.metadata.uid}, "spec": {"taints": taints}});
            if conditions == node.status.conditions {
                patch["metadata"]["resourceVersion"] = version.as_str().into();
            }
            let written = self.api.patch(name, PatchKind::Merge, &patch, &WriteOptions::default()).await;
            match written {
                Ok(_) => {}
                Err(error) if error.is_not_found() => return Ok(Action::await_change()),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(match self.lost_after.checked_sub(silence).filter(|rest| !rest.is_zero()) {
            Some(rest) => Action::requeue(rest),
            None => Action::await_change(), // until its next heartbeat
        })
    }
}

impl Lifecycle {
    /// Marks the pods of an unreachable node as not ready.
    async fn mark_pods_not_ready(&self, node: &str) -> Result<(), Error> {
        for pod in self.pods.on(node) {
            let is_ready = pod.status.conditions.iter().any(|it| it.kind == "Ready" && it.is_true());
            if is_ready {
                let since = Timestamp::now().to_string();
                let condition = json!({"type": "Ready", "status": "False", "lastTransitionTime": since});
                self.pods.patch_status(&pod, json!({"conditions": [condition]})).await?;
                let about = pod.metadata.reference(PODS);
                self.recorder.record(&about, Event::warning("NodeNotReady", "Node is not ready"));
            }
        }
        Ok(())
    }

    /// Returns the time since the last heartbeat of a node.
    fn silence(&self, node: &Node) -> Result<Duration, Error> {
        let name = &node.metadata.name;
        let lease = self.leases.namespace(LEASE_NAMESPACE).get(name)?;
        let renewed = lease.and_then(|lease| lease.spec.renew_time.clone());
        let reported = node.condition("Ready").filter(|ready| ready.status != "Unknown");
        let reported = reported.and_then(|ready| ready.last_heartbeat_time.clone());
        let mut heartbeats = self.heartbeats.lock();
        let (last, at) = heartbeats
            .entry(name.clone())
            .or_insert_with(|| ((renewed.clone(), reported.clone()), Instant::now()));
        if last.0 != renewed || (reported.is_some() && last.1 != reported) {
            (*last, *at) = ((renewed, reported), Instant::now());
        }
        Ok(at.elapsed())
    }
}

/// Sets the heartbeat conditions to `Unknown`, and returns whether any has changed.
fn lose(conditions: &mut Vec<NodeCondition>) -> bool {
    let now = Timestamp::now().to_string();
    let mut has_changed = false;
    for kind in HEARTBEAT_CONDITIONS {
        match conditions.iter_mut().find(|condition| condition.kind == kind) {
            Some(condition) if condition.status == "Unknown" => continue,
            Some(condition) => {
                condition.status = "Unknown".to_owned();
                condition.reason = "NodeStatusUnknown".to_owned();
                condition.message = "Kubelet stopped posting node status.".to_owned();
                condition.last_transition_time = Some(now.clone());
            }
            None => conditions.push(NodeCondition {
                kind: kind.to_owned(),
                status: "Unknown".to_owned(),
                last_heartbeat_time: Some(now.clone()),
                last_transition_time: Some(now.clone()),
                reason: "NodeStatusNeverUpdated".to_owned(),
                message: "Kubelet never posted node status.".to_owned(),
            }),
        }
        has_changed = true;
    }
    has_changed
}

/// Returns the taints that a node should have: those for its conditions, and those set by others.
fn taints(node: &Node, conditions: &[NodeCondition]) -> Vec<Taint> {
    let is = |kind: &str, status: &str| {
        conditions.iter().any(|condition| condition.kind == kind && condition.status == status)
    };
    let ours = [
        (NOT_READY, "NoSchedule", is("Ready", "False")),
        (UNREACHABLE, "NoSchedule", is("Ready", "Unknown")),
        ("node.kubernetes.io/memory-pressure", "NoSchedule", is("MemoryPressure", "True")),
        ("node.kubernetes.io/disk-pressure", "NoSchedule", is("DiskPressure", "True")),
        ("node.kubernetes.io/pid-pressure", "NoSchedule", is("PIDPressure", "True")),
        ("node.kubernetes.io/network-unavailable", "NoSchedule", is("NetworkUnavailable", "True")),
        (UNSCHEDULABLE, "NoSchedule", node.spec.unschedulable),
        (NOT_READY, "NoExecute", is("Ready", "False")),
        (UNREACHABLE, "NoExecute", is("Ready", "Unknown")),
    ];
    let mut taints = node.spec.taints.clone();
    for (key, effect, is_wanted) in ours {
        let taint = Taint::new(key, effect);
        let at = taints.iter().position(|it| it.is_same(&taint));
        match (at, is_wanted) {
            (Some(at), false) => drop(taints.remove(at)),
            (None, true) => taints.push(Taint { time_added: Some(Timestamp::now().to_string()), ..taint }),
            _ => {}
        }
    }
    taints
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition(kind: &str, status: &str) -> NodeCondition {
        NodeCondition { kind: kind.to_owned(), status: status.to_owned(), ..NodeCondition::default() }
    }

    #[test]
    fn nodes_are_tainted_by_their_conditions() {
        let foreign = Taint::new("dedicated", "NoSchedule");
        for (ready, unschedulable, expected) in [
            ("True", false, vec!["dedicated:NoSchedule"]),
            ("True", true, vec!["dedicated:NoSchedule", "node.kubernetes.io/unschedulable:NoSchedule"]),
            (
                "False",
                false,
                vec![
                    "dedicated:NoSchedule",
                    "node.kubernetes.io/not-ready:NoSchedule",
                    "node.kubernetes.io/not-ready:NoExecute",
                ],
            ),
            (
                "Unknown",
                false,
                vec![
                    "dedicated:NoSchedule",
                    "node.kubernetes.io/unreachable:NoSchedule",
                    "node.kubernetes.io/unreachable:NoExecute",
                ],
            ),
        ] {
            let mut node = Node::default();
            node.spec.taints = vec![Taint::new(UNREACHABLE, "NoExecute"), foreign.clone()];
            node.spec.unschedulable = unschedulable;
            let tainted = taints(&node, &[condition("Ready", ready)]);
            let mut tainted: Vec<String> =
                tainted.iter().map(|it| format!("{}:{}", it.key, it.effect)).collect();
            let mut expected: Vec<String> = expected.into_iter().map(str::to_owned).collect();
            tainted.sort_unstable();
            expected.sort_unstable();
            assert_eq!(tainted, expected, "{ready} {unschedulable}");
        }
    }

    #[test]
    fn a_lost_node_is_marked_once() {
        let mut conditions = vec![condition("Ready", "True"), condition("NetworkUnavailable", "False")];
        assert!(lose(&mut conditions));
        assert!(!lose(&mut conditions));
        let summary: Vec<String> =
            conditions.iter().map(|it| format!("{} {} {}", it.kind, it.status, it.reason)).collect();
        assert_eq!(
            summary,
            [
                "Ready Unknown NodeStatusUnknown",
                "NetworkUnavailable False ",
                "MemoryPressure Unknown NodeStatusNeverUpdated",
                "DiskPressure Unknown NodeStatusNeverUpdated",
                "PIDPressure Unknown NodeStatusNeverUpdated"
            ]
        );
    }
}
