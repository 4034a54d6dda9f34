//! Ranking: which pods are deleted first when there are too many.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use watchkeeper_core::Timestamp;

use crate::clock::between;
use crate::view::Pod;

/// Annotation; pods with a lower cost are deleted first.
const COST: &str = "controller.kubernetes.io/pod-deletion-cost";

/// Number of active pods of the same deployment per node.
#[derive(Debug, Default)]
pub(super) struct PodsPerNode {
    by_node: HashMap<String, usize>,
}

impl<'a> FromIterator<&'a Pod> for PodsPerNode {
    fn from_iter<I: IntoIterator<Item = &'a Pod>>(pods: I) -> Self {
        let mut pods_per_node = Self::default();
        for pod in pods.into_iter().filter(|pod| pod.is_active()) {
            *pods_per_node.by_node.entry(pod.spec.node_name.clone()).or_default() += 1;
        }
        pods_per_node
    }
}

/// Sorts pods so that those to delete come first.
///
/// Ages are compared by order of magnitude, so that it is not always the newest pod that goes.
/// kube-controller-manager compares UIDs before restarts, which is not a consistent order; here the UID comes
/// last.
pub(super) fn rank(pods: &mut [Arc<Pod>], pods_per_node: &PodsPerNode, now: Timestamp) {
    pods.sort_by_cached_key(|pod| {
        let (restarts, of_sidecars) = restarts(pod);
        (
            !pod.spec.node_name.is_empty(),
            phase(pod),
            pod.is_ready(),
            cost(pod),
            Reverse(pods_per_node.by_node.get(&pod.spec.node_name).copied().unwrap_or_default()),
            age(pod.ready_since(), now),
            (Reverse(restarts), Reverse(of_sidecars)),
            age(pod.metadata.created(), now),
            pod.metadata.uid.clone(),
        )
    });
}

fn phase(pod: &Pod) -> u8 {
    match pod.status.phase.as_str() {
        "Unknown" => 1,
        "Running" => 2,
        _ => 0,
    }
}

/// Returns the deletion cost, or 0 if it is missing or invalid.
fn cost(pod: &Pod) -> i32 {
    let Some(text) = pod.metadata.annotations.get(COST) else { return 0 };
    let is_number =
        text == "0" || text.starts_with(|first: char| first == '-' || ('1'..='9').contains(&first));
    if is_number { text.parse().unwrap_or_default() } else { 0 }
}

/// Returns the age as an order of magnitude. An unknown age counts as the youngest.
fn age(since: Option<Timestamp>, now: Timestamp) -> Option<u32> {
    let age = since.map(|since| between(since, now).unwrap_or_default())?;
    Some(u64::try_from(age.as_nanos()).unwrap_or(u64::MAX).checked_ilog2().map_or(0, |log| log + 1))
}

/// Returns the highest restart count of a container, and of a sidecar.
fn restarts(pod: &Pod) -> (i32, i32) {
    let most = |counts: &mut dyn Iterator<Item = i32>| counts.max().unwrap_or_default();
    let is_sidecar = |name: &str| {
        pod.spec.init_containers.iter().any(|each| each.name == name && each.restart_policy == "Always")
    };
    let (main, init) = (&pod.status.container_statuses, &pod.status.init_container_statuses);
    let sidecars = init.iter().filter(|container| is_sidecar(&container.name));
    (
        most(&mut main.iter().map(|container| container.restart_count)),
        most(&mut sidecars.map(|container| container.restart_count)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn pod(name: &str, more: Value) -> Arc<Pod> {
        let mut pod = json!({
            "metadata": {"name": name, "uid": name, "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"nodeName": "n1"},
            "status": {"phase": "Running", "conditions": [
                {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]},
        });
        merge(&mut pod, more);
        Arc::new(serde_json::from_value(pod).unwrap())
    }

    fn merge(into: &mut Value, more: Value) {
        match (into, more) {
            (Value::Object(into), Value::Object(more)) => {
                for (key, value) in more {
                    merge(into.entry(key).or_insert(Value::Null), value);
                }
            }
            (into, more) => *into = more,
        }
    }

    fn ready(since: &str) -> Value {
        json!({"status": {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": since}]}})
    }

    /// Returns which of two pods goes first, and asserts that the UID does not decide.
    #[track_caller]
    fn first(a: &Value, b: &Value) -> String {
        let now = "2026-01-02T00:00:00Z".parse().unwrap();
        let related = [pod("c", json!({"spec": {"nodeName": "n2"}}))];
        let mut firsts = Vec::new();
        for names in [["a", "b"], ["b", "a"]] {
            let mut pods = vec![pod(names[0], a.clone()), pod(names[1], b.clone())];
            let pods_per_node: PodsPerNode = pods.iter().chain(&related).map(|pod| &**pod).collect();
            rank(&mut pods, &pods_per_node, now);
            firsts.push(if pods[0].metadata.name == names[0] { "left" } else { "right" });
        }
        assert_eq!(firsts[0], firsts[1], "the uid decides");
        firsts.remove(0).to_owned()
    }

    #[test]
    fn the_least_useful_pod_goes_first() {
        let nothing = || json!({});
        let cost = |cost: &str| json!({"metadata": {"annotations": {COST: cost}}});
        let not_ready = json!({"status": {"conditions": [{"type": "Ready", "status": "False"}]}});
        let restarted =
            |count| json!({"status": {"containerStatuses": [{"name": "web", "restartCount": count}]}});
        let sidecar = |count, policy| {
            json!({"spec": {"initContainers": [{"name": "log", "restartPolicy": policy}]},
                   "status": {"initContainerStatuses": [{"name": "log", "restartCount": count}]}})
        };
        let created = |at: &str| json!({"metadata": {"creationTimestamp": at}});
        let cases = [
            ("unassigned", json!({"spec": {"nodeName": ""}}), nothing()),
            ("pending", json!({"status": {"phase": "Pending"}}), json!({"status": {"phase": "Unknown"}})),
            ("unknown", json!({"status": {"phase": "Unknown"}}), nothing()),
            ("not ready", not_ready, nothing()),
            ("cheaper", cost("-1"), nothing()),
            ("cheaper, both annotated", cost("9"), cost("10")),
            ("an invalid cost is 0", cost("+10"), cost("1")),
            ("shares its node", json!({"spec": {"nodeName": "n2"}}), nothing()),
            ("ready recently", ready("2026-01-01T23:00:00Z"), ready("2026-01-01T00:00:00Z")),
            ("ready since unknown", ready(""), ready("2026-01-01T23:00:00Z")),
            ("restarted", restarted(3), restarted(2)),
            ("sidecar restarted", sidecar(1, "Always"), sidecar(0, "Always")),
            ("new", created("2026-01-01T23:59:00Z"), nothing()),
        ];
        for (what, left, right) in cases {
            assert_eq!(first(&left, &right), "left", "{what}");
            assert_eq!(first(&right, &left), "right", "{what}, reversed");
        }
    }

    #[test]
    fn ages_of_one_order_of_magnitude_are_equal() {
        let now = "2026-01-02T00:00:00Z".parse().unwrap();
        let age = |text: &str| age(text.parse().ok(), now);
        assert_eq!(age("2026-01-01T23:00:00Z"), age("2026-01-01T22:50:00Z"));
        assert!(age("2026-01-01T23:00:00Z") < age("2026-01-01T20:00:00Z"));
        assert!(
            age("2026-01-03T00:00:00Z") < age("2026-01-01T23:59:59Z"),
            "a future timestamp counts as new"
        );
        assert!(age("") < age("2026-01-03T00:00:00Z"));
    }
}
