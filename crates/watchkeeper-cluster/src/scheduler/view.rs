//! The fields of pods that the scheduler reads.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::affinity::Affinity;
use super::quantity;
use crate::nodes::Toleration;
use crate::view::{Condition, Meta};

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Pod {
    pub(super) metadata: Meta,
    pub(super) spec: Spec,
    pub(super) status: Status,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Spec {
    pub(super) node_name: String,
    pub(super) scheduler_name: String,
    pub(super) scheduling_gates: Vec<serde::de::IgnoredAny>,
    pub(super) node_selector: BTreeMap<String, String>,
    pub(super) affinity: Affinity,
    pub(super) tolerations: Vec<Toleration>,
    pub(super) containers: Vec<Container>,
    pub(super) init_containers: Vec<Container>,
    pub(super) overhead: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Container {
    resources: Resources,
    restart_policy: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Resources {
    requests: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Status {
    pub(super) phase: String,
    pub(super) conditions: Vec<Condition>,
}

/// Resource requests: thousandths of a CPU, and bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Requests {
    pub(super) cpu: i64,
    pub(super) memory: i64,
}

impl Pod {
    pub(super) fn needs_scheduling(&self, scheduler: &str) -> bool {
        let spec = &self.spec;
        spec.node_name.is_empty()
            && spec.scheduler_name == scheduler
            && spec.scheduling_gates.is_empty()
            && !self.metadata.is_terminating()
            && !self.is_finished()
    }

    pub(super) fn is_finished(&self) -> bool {
        matches!(self.status.phase.as_str(), "Succeeded" | "Failed")
    }

    /// Returns the peak request: all containers, or an init container together with the sidecars started
    /// before it.
    pub(super) fn requests(&self) -> Requests {
        let mut sidecars = Requests::default();
        let mut peak = Requests::default();
        for container in &self.spec.init_containers {
            let asked = Requests::of(&container.resources.requests);
            peak = peak.or(sidecars.and(asked));
            if container.restart_policy == "Always" {
                sidecars = sidecars.and(asked);
            }
        }
        let all = self.spec.containers.iter().map(|container| Requests::of(&container.resources.requests));
        peak.or(all.fold(sidecars, Requests::and)).and(Requests::of(&self.spec.overhead))
    }

    fn unschedulable(&self) -> Option<&Condition> {
        self.status
            .conditions
            .iter()
            .find(|condition| condition.kind == "PodScheduled" && !condition.is_true())
    }

    /// Returns whether the pod is already marked unschedulable with this message.
    pub(super) fn has_reason(&self, message: &str) -> bool {
        self.unschedulable().is_some_and(|it| it.reason == "Unschedulable" && it.message == message)
    }

    pub(super) fn unschedulable_since(&self) -> Option<String> {
        self.unschedulable()?.last_transition_time.clone()
    }
}

impl Requests {
    pub(super) fn of(amounts: &BTreeMap<String, String>) -> Self {
        let of = |name: &str| amounts.get(name).and_then(|text| quantity::thousandths(text)).unwrap_or(0);
        let whole = |thousandths: i128| i64::try_from(thousandths.div_euclid(1_000)).unwrap_or(i64::MAX);
        Self { cpu: i64::try_from(of("cpu")).unwrap_or(i64::MAX), memory: whole(of("memory")) }
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self { cpu: self.cpu.saturating_add(other.cpu), memory: self.memory.saturating_add(other.memory) }
    }

    pub(super) fn without(self, other: Self) -> Self {
        Self { cpu: self.cpu.saturating_sub(other.cpu), memory: self.memory.saturating_sub(other.memory) }
    }

    /// Returns the maximum of two, per resource.
    fn or(self, other: Self) -> Self {
        Self { cpu: self.cpu.max(other.cpu), memory: self.memory.max(other.memory) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn asking(containers: Value, init: Value) -> Requests {
        let pod = json!({"spec": Value::from_iter([("containers", containers), ("initContainers", init)])});
        serde_json::from_value::<Pod>(pod).unwrap().requests()
    }

    #[test]
    fn a_pod_requests_its_peak() {
        let of = |cpu: &str, memory: &str| json!({"resources": {"requests": {"cpu": cpu, "memory": memory}}});
        let mut beside = of("100m", "1Ki");
        beside["restartPolicy"] = "Always".into();
        for (containers, init, cpu, memory) in [
            (json!([of("1", "1Mi"), of("500m", "1M")]), json!([]), 1_500, 2_048_576),
            (json!([of("1", "1Mi")]), json!([of("2", "1Ki")]), 2_000, 1 << 20),
            (json!([of("1", "0")]), json!([beside, of("2", "0")]), 2_100, 1_024),
            (json!([of("2", "0")]), json!([beside]), 2_100, 1_024),
            (json!([{}]), json!([]), 0, 0),
        ] {
            assert_eq!(
                asking(containers.clone(), init.clone()),
                Requests { cpu, memory },
                "{containers} {init}"
            );
        }
    }
}
