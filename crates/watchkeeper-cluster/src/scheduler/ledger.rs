//! Ledger: the resources in use on each node (`scheduler.P1`).

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use watchkeeper_cache::reader::{Notification, Notifications};
use watchkeeper_core::ObjectKey;

use super::fit::{Tally, Unfit, fits};
use super::view::{Pod, Requests};
use crate::nodes::Node;

/// The resources in use on each node, and by which pods.
#[derive(Default)]
pub(super) struct Ledger {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    pods: HashMap<ObjectKey, Entry>,
    nodes: HashMap<String, Tally>,
}

/// A pod's node and requests.
struct Entry {
    node: String,
    requests: Requests,
    /// Bound by us, but not yet observed on the node.
    is_assumed: bool,
}

impl Ledger {
    /// Tracks pods as they are added and deleted.
    pub(super) async fn follow(self: Arc<Self>, mut changes: Notifications<Pod>) {
        while let Some(change) = changes.next().await {
            match change {
                Notification::Added { new, .. } | Notification::Updated { new, .. } => self.observe(&new),
                Notification::Deleted { old, .. } => {
                    self.state.lock().remove(&old.metadata.key());
                }
                Notification::Resync(_) => {}
                Notification::Undecodable { key, error, .. } => {
                    tracing::warn!(%key, %error, "failed to decode pod; its requests are not counted");
                    self.state.lock().remove(&key);
                }
            }
        }
    }

    fn observe(&self, pod: &Pod) {
        let key = pod.metadata.key();
        let mut state = self.state.lock();
        let node = &pod.spec.node_name;
        if pod.is_finished() {
            state.remove(&key);
        } else if !node.is_empty() {
            let entry = Entry { node: node.clone(), requests: pod.requests(), is_assumed: false };
            state.put(key, entry);
        }
    }

    /// Chooses a node for a pod, and reserves its resources there.
    pub(super) fn assume(&self, key: &ObjectKey, pod: &Pod, nodes: &[Arc<Node>]) -> Result<String, Unfit> {
        let requests = pod.requests();
        let mut state = self.state.lock();
        state.remove(key); // an earlier reservation
        let mut unfit = Unfit::default();
        let mut best: Option<(i64, &str)> = None;
        for node in nodes {
            let name = node.metadata.name.as_str();
            let taken = state.nodes.get(name).copied().unwrap_or_default();
            match fits(pod, requests, node, taken) {
                Ok(()) if best.is_none_or(|(fewest, _)| taken.pods < fewest) => {
                    best = Some((taken.pods, name));
                }
                Ok(()) => {}
                Err(obstacle) => unfit.add(&obstacle),
            }
        }
        let Some((_, node)) = best else { return Err(unfit) };
        state.put(key.clone(), Entry { node: node.to_owned(), requests, is_assumed: true });
        Ok(node.to_owned())
    }

    /// Releases a reservation.
    pub(super) fn forget(&self, key: &ObjectKey) {
        let mut state = self.state.lock();
        if state.pods.get(key).is_some_and(|entry| entry.is_assumed) {
            state.remove(key);
        }
    }
}

impl State {
    fn put(&mut self, key: ObjectKey, entry: Entry) {
        self.remove(&key);
        let tally = self.nodes.entry(entry.node.clone()).or_default();
        tally.pods += 1;
        tally.requests = tally.requests.and(entry.requests);
        self.pods.insert(key, entry);
    }

    fn remove(&mut self, key: &ObjectKey) {
        let Some(entry) = self.pods.remove(key) else { return };
        let Some(tally) = self.nodes.get_mut(&entry.node) else { return };
        tally.pods -= 1;
        tally.requests = tally.requests.without(entry.requests);
        if tally.pods == 0 {
            self.nodes.remove(&entry.node);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn node(name: &str, pods: u32) -> Arc<Node> {
        let status = json!({"allocatable": {"pods": pods.to_string(), "cpu": "1"}});
        Arc::new(serde_json::from_value(json!({"metadata": {"name": name}, "status": status})).unwrap())
    }

    fn pod(name: &str, node: &str, phase: &str) -> Pod {
        let object = json!({
            "metadata": {"name": name, "namespace": "x"},
            "spec": {"nodeName": node, "containers": [{"resources": {"requests": {"cpu": "100m"}}}]},
            "status": {"phase": phase},
        });
        serde_json::from_value(object).unwrap()
    }

    #[test]
    fn pods_count_from_their_reservation() {
        let ledger = Ledger::default();
        let nodes = [node("a", 2), node("b", 3)];
        let place = |name: &str| {
            let pod = pod(name, "", "Pending");
            ledger.assume(&pod.metadata.key(), &pod, &nodes)
        };
        let placed: Vec<String> = ["1", "2", "3", "4", "5"].map(|name| place(name).unwrap()).into();
        assert_eq!(placed, ["a", "b", "a", "b", "b"]);
        assert!(place("6").unwrap_err().lacks_resources());

        ledger.observe(&pod("1", "a", "Running"));
        ledger.forget(&pod("1", "", "").metadata.key()); // already observed on its node
        assert!(place("6").is_err());
        ledger.forget(&pod("3", "", "").metadata.key());
        assert_eq!(place("6").unwrap(), "a");
        ledger.observe(&pod("1", "a", "Succeeded"));
        assert_eq!(place("7").unwrap(), "a");
    }

    #[test]
    fn a_removed_pod_leaves_no_entry() {
        let ledger = Ledger::default();
        ledger.observe(&pod("1", "a", "Running"));
        ledger.observe(&pod("1", "a", "Running"));
        let mut state = ledger.state.lock();
        assert_eq!(state.nodes["a"], Tally { pods: 1, requests: Requests { cpu: 100, memory: 0 } });
        state.remove(&pod("1", "", "").metadata.key());
        assert!(state.pods.is_empty() && state.nodes.is_empty());
    }
}
