//! The replica set controller.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::Arc;

use watchkeeper_cache::reader::ListUndecodable;
use watchkeeper_cache::{Keep, Reader};
use watchkeeper_client::dynamic::DynamicApi;
use watchkeeper_controller::events::{EventApi, EventRecorder};
use watchkeeper_controller::{Action, Error, Request};
use watchkeeper_core::{ErrorChain, LabelSelector, Timestamp};

use super::pods::{Pods, PodsError};
use super::ranking::{PodsPerNode, rank};
use super::status::{next_available, status};
use crate::claim::Claim;
use crate::context::{ControllerContext, Reconcile};
use crate::resource::{PODS, REPLICA_SETS};
use crate::updater::ObjectUpdater;
use crate::view::{Pod, ReplicaSet, decodable};

/// Maximum number of pods created or deleted per call; the rest follows once these are observed
/// (`replica_set.W1`).
const BURST: usize = 500;

pub(super) struct ReplicaSets {
    sets: Reader<ReplicaSet>,
    pods: Reader<Pod>,
    updater: ObjectUpdater,
    api: DynamicApi,
    recorder: EventRecorder,
}

impl ReplicaSets {
    pub(super) fn new(context: &mut ControllerContext) -> Self {
        Self {
            sets: context.reader(REPLICA_SETS),
            pods: context.informer(PODS).reader(Keep::Decoded),
            updater: ObjectUpdater::new(context, REPLICA_SETS),
            api: context.api(PODS),
            recorder: context.recorder("replicaset-controller", EventApi::Core),
        }
    }
}

impl Reconcile for ReplicaSets {
    async fn reconcile(&self, request: Request) -> Result<Action, Error> {
        let Some(set) = self.sets.get(request.key())? else { return Ok(Action::await_change()) };
        let Some(selector) = set.selector() else { return Ok(Action::await_change()) };
        let candidates = self.candidates(&set, &selector)?;
        let (active, ended): (Vec<_>, Vec<_>) = candidates.into_iter().partition(|pod| pod.is_active());
        let mut active = self.claim(&set, &selector, active).await?;

        let failure = if set.metadata.is_terminating() {
            None
        } else {
            match self.manage(&set, &mut active).await {
                Ok(false) => None,
                // Observing these writes triggers the next call, whose status covers them.
                Ok(true) => return Ok(Action::await_change()),
                Err(PodsError::Terminating(_)) => None,
                Err(error) => Some(error),
            }
        };

        let now = Timestamp::now();
        let is_mine = |pod: &&Arc<Pod>| {
            let controller = pod.metadata.controller();
            controller.is_some_and(|controller| controller.uid == set.metadata.uid)
                && selector.matches(|key| pod.metadata.labels.get(key).map(String::as_str))
        };
        let terminating = ended.iter().filter(|pod| pod.is_terminating()).filter(is_mine).count();
        let message = failure.as_ref().map(|error| ErrorChain(error).to_string());
        let status = status(&set, &active, terminating, message.as_deref(), now);
        if status != set.status {
            let value = serde_json::to_value(&status)?;
            self.updater.update_status(&set.metadata, |set| set.set(&["status"], value)).await?;
        }
        match failure {
            Some(error) => Err(error.into()),
            None => Ok(next_available(&set, &active, now).map_or_else(Action::await_change, Action::requeue)),
        }
    }
}

impl ReplicaSets {
    /// Returns the pods it selects, and those it owns but no longer selects.
    fn candidates(
        &self,
        set: &ReplicaSet,
        selector: &LabelSelector,
    ) -> Result<Vec<Arc<Pod>>, ListUndecodable> {
        let pods = self.pods.namespace(&set.metadata.namespace);
        let mut candidates = pods.list(selector).items()?;
        let selected: HashSet<String> = candidates.iter().map(|pod| pod.metadata.uid.clone()).collect();
        let owned = pods.owned_by(&set.metadata.uid).items()?;
        candidates.extend(owned.into_iter().filter(|pod| !selected.contains(&pod.metadata.uid)));
        Ok(candidates)
    }

    async fn claim(
        &self,
        set: &ReplicaSet,
        selector: &LabelSelector,
        pods: Vec<Arc<Pod>>,
    ) -> Result<Vec<Arc<Pod>>, Error> {
        let claim = Claim {
            owner: &set.metadata,
            resource: REPLICA_SETS,
            selector,
            owners: &self.updater.api(&set.metadata.namespace),
            api: &self.api.clone().namespace(&set.metadata.namespace),
        };
        claim.take(pods, |pod| &pod.metadata).await
    }

    /// Creates or deletes pods, and returns whether it did.
    async fn manage(&self, set: &Arc<ReplicaSet>, active: &mut [Arc<Pod>]) -> Result<bool, PodsError> {
        let wanted = usize::try_from(set.replicas()).unwrap_or_default();
        let pods = Pods {
            set: set.clone(),
            api: self.api.clone().namespace(&set.metadata.namespace),
            recorder: self.recorder.clone(),
        };
        match active.len().cmp(&wanted) {
            Ordering::Equal => return Ok(false),
            Ordering::Less => pods.create((wanted - active.len()).min(BURST)).await?,
            Ordering::Greater => {
                let surplus = active.len() - wanted;
                if surplus < active.len() {
                    rank(active, &self.pods_per_node(set), Timestamp::now());
                }
                pods.delete(&active[..surplus.min(BURST)]).await?;
            }
        }
        Ok(true)
    }

    /// Returns the pods of all replica sets with the same controller.
    fn pods_per_node(&self, set: &ReplicaSet) -> PodsPerNode {
        let Some(owner) = set.metadata.controller() else { return PodsPerNode::default() };
        let of_owner = |set: &&Arc<ReplicaSet>| {
            set.metadata.controller().is_some_and(|controller| controller.uid == owner.uid)
        };
        let related = decodable(self.sets.owned_by(&owner.uid));
        let namespace = self.pods.namespace(&set.metadata.namespace);
        let selectors = related.iter().filter(of_owner).filter_map(|set| set.selector());
        let pods = selectors.flat_map(|selector| decodable(namespace.list(&selector)));
        let mut seen = HashSet::new();
        let pods: Vec<_> = pods.filter(|pod| seen.insert(pod.metadata.uid.clone())).collect();
        pods.iter().map(|pod| &**pod).collect()
    }
}
