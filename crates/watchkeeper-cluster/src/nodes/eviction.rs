//! Taint eviction: deletes pods from nodes with `NoExecute` taints that they do not tolerate, or no longer
//! tolerate.

use std::collections::HashMap;

use parking_lot::Mutex;
use tokio::time::Instant;
use watchkeeper_cache::{Keep, Reader};
use watchkeeper_controller::events::{Event, EventApi, EventRecorder};
use watchkeeper_controller::{Action, Controller, Error, Request};

use super::pods::Pods;
use super::{Node, Taint, Toleration};
use crate::context::{ControllerContext, Reconcile};
use crate::resource::{NODES, PODS};
use crate::timings::Timings;

pub(super) fn start(context: &mut ControllerContext, timings: &Timings) {
    let controller = Controller::new("taint-eviction", &context.informer(NODES));
    let eviction = Eviction {
        timings: timings.clone(),
        nodes: context.informer(NODES).reader(Keep::Decoded),
        pods: Pods::new(context),
        recorder: context.recorder("taint-eviction-controller", EventApi::Core),
        since: Mutex::default(),
    };
    context.run(controller, eviction);
}

struct Eviction {
    timings: Timings,
    nodes: Reader<Node>,
    pods: Pods,
    recorder: EventRecorder,
    /// When each taint of a node was first observed.
    since: Mutex<HashMap<String, Vec<(Taint, Instant)>>>,
}

/// The time a pod may stay on a tainted node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stay {
    Forever,
    /// This many seconds after the taint was added.
    For(u32),
}

impl Reconcile for Eviction {
    async fn reconcile(&self, request: Request) -> Result<Action, Error> {
        let name = request.key().name();
        let taints = self.taints(name)?;
        if taints.is_empty() {
            return Ok(Action::await_change());
        }
        let now = Instant::now();
        // Pods bound to the node later are found by this period.
        const PERIOD: u32 = 5;
        let mut next = now + self.timings.seconds(PERIOD);
        for pod in self.pods.on(name) {
            let until = |(taint, since): &(Taint, Instant)| match stay(&pod.spec.tolerations, taint) {
                Stay::Forever => None,
                Stay::For(seconds) => Some(*since + self.timings.seconds(seconds)),
            };
            match taints.iter().filter_map(until).min() {
                Some(until) if until <= now && !pod.metadata.is_terminating() => {
                    let why = ("DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint");
                    let message = format!("Marking for deletion Pod {}", pod.metadata.key());
                    let about = pod.metadata.reference(PODS);
                    self.recorder.record(&about, Event::normal("TaintManagerEviction", message));
                    self.pods.disrupt(&pod, None, why, None).await?;
                }
                Some(until) if until > now => next = next.min(until),
                _ => {}
            }
        }
        Ok(Action::requeue(next.saturating_duration_since(Instant::now())))
    }
}

impl Eviction {
    /// Returns the `NoExecute` taints of a node, each with when it was first observed.
    fn taints(&self, name: &str) -> Result<Vec<(Taint, Instant)>, Error> {
        let node = self.nodes.get(name)?;
        let taints = node.iter().flat_map(|node| &node.spec.taints).filter(|it| it.effect == "NoExecute");
        let mut since = self.since.lock();
        let known = since.remove(name).unwrap_or_default();
        let when = |taint: &Taint| known.iter().find(|(it, _)| it.is_same(taint)).map(|(_, when)| *when);
        let taints: Vec<(Taint, Instant)> =
            taints.map(|taint| (taint.clone(), when(taint).unwrap_or_else(Instant::now))).collect();
        if !taints.is_empty() {
            since.insert(name.to_owned(), taints.clone());
        }
        Ok(taints)
    }
}

fn stay(tolerations: &[Toleration], taint: &Taint) -> Stay {
    let mut seconds =
        tolerations.iter().filter(|it| it.covers(taint)).map(|it| it.toleration_seconds).peekable();
    if seconds.peek().is_none() {
        return Stay::For(0);
    }
    let least = seconds.flatten().min();
    least.map_or(Stay::Forever, |least| Stay::For(u32::try_from(least.max(0)).unwrap_or(u32::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_stays_while_it_tolerates_the_taint() {
        let taint = Taint::new("lost", "NoExecute");
        let toleration = |key: &str, seconds: Option<i64>| Toleration {
            key: key.to_owned(),
            operator: "Exists".to_owned(),
            toleration_seconds: seconds,
            ..Toleration::default()
        };
        for (tolerations, expected) in [
            (vec![], Stay::For(0)),
            (vec![toleration("other", None)], Stay::For(0)),
            (vec![toleration("lost", None)], Stay::Forever),
            (vec![toleration("lost", Some(300)), toleration("", Some(60))], Stay::For(60)),
            (vec![toleration("lost", Some(-1))], Stay::For(0)),
        ] {
            assert_eq!(stay(&tolerations, &taint), expected, "{tolerations:?}");
        }
    }
}
