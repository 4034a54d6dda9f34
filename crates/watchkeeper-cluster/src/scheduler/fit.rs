//! Fit: whether a pod fits on a node, and the message if it fits on none.

use std::collections::BTreeMap;
use std::fmt;

use super::affinity;
use super::view::{Pod, Requests};
use crate::nodes::{Node, Taint, UNSCHEDULABLE, tolerates};

/// Resources of a node, in use or available.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) pods: i64,
    pub(super) requests: Requests,
}

/// Why a pod does not fit on a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Obstacle {
    reasons: Vec<&'static str>,
    is_room: bool,
}

/// Why a pod fits on no node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Unfit {
    nodes: usize,
    /// Number of nodes per reason.
    reasons: BTreeMap<&'static str, usize>,
    /// Number of nodes that only lack free resources, which may change when pods are deleted.
    lacking_room: usize,
}

/// Checks whether a pod fits on a node, given the resources in use.
pub(super) fn fits(pod: &Pod, asked: Requests, node: &Node, taken: Tally) -> Result<(), Obstacle> {
    let never = |reason: &'static str| Err(Obstacle { reasons: vec![reason], is_room: false });
    let tolerations = &pod.spec.tolerations;
    if node.spec.unschedulable && !tolerates(tolerations, &Taint::new(UNSCHEDULABLE, "NoSchedule")) {
        return never("node(s) were unschedulable");
    }
    let repels = |taint: &Taint| {
        matches!(taint.effect.as_str(), "NoSchedule" | "NoExecute") && !tolerates(tolerations, taint)
    };
    if node.spec.taints.iter().any(repels) {
        return never("node(s) had untolerated taint(s)");
    }
    if !affinity::admits(&pod.spec.node_selector, &pod.spec.affinity, &node.metadata) {
        return never("node(s) didn't match Pod's node affinity/selector");
    }
    room(asked, Tally::of(node), taken)
}

fn room(asked: Requests, all: Tally, taken: Tally) -> Result<(), Obstacle> {
    let mut reasons = Vec::new();
    let mut is_room = true;
    if taken.pods >= all.pods {
        reasons.push("Too many pods");
    }
    for (reason, asked, taken, all) in [
        ("Insufficient cpu", asked.cpu, taken.requests.cpu, all.requests.cpu),
        ("Insufficient memory", asked.memory, taken.requests.memory, all.requests.memory),
    ] {
        if asked > 0 && asked > all.saturating_sub(taken) {
            reasons.push(reason);
            is_room &= asked <= all;
        }
    }
    if reasons.is_empty() { Ok(()) } else { Err(Obstacle { reasons, is_room }) }
}

impl Tally {
    /// Returns the allocatable resources of a node.
    fn of(node: &Node) -> Self {
        let allocatable = &node.status.allocatable;
        let pods = allocatable.get("pods").and_then(|text| super::quantity::thousandths(text)).unwrap_or(0);
        Self { pods: i64::try_from(pods / 1_000).unwrap_or(i64::MAX), requests: Requests::of(allocatable) }
    }
}

impl Unfit {
    pub(super) fn add(&mut self, obstacle: &Obstacle) {
        self.nodes += 1;
        self.lacking_room += usize::from(obstacle.is_room);
        for reason in &obstacle.reasons {
            *self.reasons.entry(reason).or_default() += 1;
        }
    }

    /// Returns whether deleting another pod could help.
    pub(super) fn lacks_resources(&self) -> bool {
        self.lacking_room > 0
    }
}

/// Formats it as kube-scheduler does.
impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.nodes == 0 {
            return f.write_str("no nodes available to schedule pods");
        }
        let listed = |counts: Vec<(usize, &str)>| {
            let mut texts: Vec<String> = counts
                .into_iter()
                .filter(|(count, _)| *count > 0)
                .map(|(count, reason)| format!("{count} {reason}"))
                .collect();
            texts.sort_unstable();
            texts.join(", ")
        };
        let nodes = self.nodes;
        let reasons = listed(self.reasons.iter().map(|(reason, count)| (*count, *reason)).collect());
        let preemption = listed(vec![
            (self.lacking_room, "No preemption victims found for incoming pod"),
            (nodes - self.lacking_room, "Preemption is not helpful for scheduling"),
        ]);
        write!(
            f,
            "0/{nodes} nodes are available: {reasons}. preemption: 0/{nodes} nodes are available: {preemption}."
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn obstacle(pod: Value, node: Value, taken: Tally) -> String {
        let mut whole = json!({"metadata": {"name": "node-1"}, "status": {"allocatable": {"cpu": "2", "memory": "1Gi", "pods": "3"}}});
        let Value::Object(fields) = node else { panic!("a node is an object") };
        for (key, value) in fields {
            whole[key] = value;
        }
        let node: Node = serde_json::from_value(whole).unwrap();
        let pod: Pod = serde_json::from_value(Value::from_iter([("spec", pod)])).unwrap();
        match fits(&pod, pod.requests(), &node, taken) {
            Ok(()) => String::new(),
            Err(obstacle) => obstacle.reasons.join(", "),
        }
    }

    #[test]
    fn a_pod_fits_or_the_reasons_are_reported() {
        let taint =
            |effect: &str| json!({"spec": {"taints": [{"key": "for", "value": "gpu", "effect": effect}]}});
        let cordoned = json!({"spec": {"unschedulable": true}});
        let asking = |cpu: &str| json!({"containers": [{"resources": {"requests": {"cpu": cpu}}}]});
        let free = Tally::default();
        let full = Tally { pods: 3, requests: Requests { cpu: 1_500, memory: 0 } };
        for (pod, node, taken, expected) in [
            (json!({}), json!({}), free, ""),
            (json!({}), taint("NoSchedule"), free, "node(s) had untolerated taint(s)"),
            (json!({}), taint("NoExecute"), free, "node(s) had untolerated taint(s)"),
            (json!({}), taint("PreferNoSchedule"), free, ""),
            (json!({"tolerations": [{"key": "for", "operator": "Exists"}]}), taint("NoSchedule"), free, ""),
            (json!({}), cordoned.clone(), free, "node(s) were unschedulable"),
            (json!({"tolerations": [{"operator": "Exists"}]}), cordoned, free, ""),
            (
                json!({"nodeSelector": {"a": "b"}}),
                json!({}),
                free,
                "node(s) didn't match Pod's node affinity/selector",
            ),
            (asking("2"), json!({}), free, ""),
            (asking("2001m"), json!({}), free, "Insufficient cpu"),
            (asking("1"), json!({}), full, "Too many pods, Insufficient cpu"),
            (asking("500m"), json!({}), full, "Too many pods"),
        ] {
            assert_eq!(obstacle(pod.clone(), node.clone(), taken), expected, "{pod} {node}");
        }
    }

    #[test]
    fn reasons_are_sorted_and_counted() {
        let mut unfit = Unfit::default();
        assert_eq!(unfit.to_string(), "no nodes available to schedule pods");
        unfit.add(&Obstacle { reasons: vec!["node(s) were unschedulable"], is_room: false });
        unfit.add(&Obstacle { reasons: vec!["Too many pods", "Insufficient cpu"], is_room: true });
        unfit.add(&Obstacle { reasons: vec!["Insufficient cpu"], is_room: true });
        assert_eq!(
            unfit.to_string(),
            "0/3 nodes are available: 1 Too many pods, 1 node(s) were unschedulable, 2 Insufficient cpu. \
             preemption: 0/3 nodes are available: 1 Preemption is not helpful for scheduling, \
             2 No preemption victims found for incoming pod."
        );
    }
}
