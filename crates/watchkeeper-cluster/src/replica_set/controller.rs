//! What is done for a replica set.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::Arc;

use watchkeeper_cache::reader::ListUndecodable;
use watchkeeper_cache::{Keep, Reader};
use watchkeeper_client::dynamic::DynamicApi;
use watchkeeper_controller::{Action, Failure, Reconcile, Request};
use watchkeeper_core::{LabelSelector, Timestamp};

use super::pods::{Pods, PodsError};
use super::ranking::{Crowd, rank};
use super::status::{next_available, status};
use crate::claim::Claim;
use crate::plane::Plane;
use crate::resource::{PODS, REPLICA_SETS};
use crate::telling::Telling;
use crate::view::{Pod, ReplicaSet};
use crate::whole::Whole;

/// As many pods are created or deleted in one go; the rest when these are seen (W1).
const BURST: usize = 500;

pub(super) struct ReplicaSets {
    sets: Reader<ReplicaSet>,
    pods: Reader<Pod>,
    whole: Whole,
    api: DynamicApi,
    telling: Telling,
}

impl ReplicaSets {
    pub(super) fn new(plane: &mut Plane) -> Self {
        Self {
            sets: plane.reader(REPLICA_SETS),
            pods: plane.informer(PODS).reader(Keep::Decoded),
            whole: Whole::new(plane, REPLICA_SETS),
            api: plane.api(PODS),
            telling: Telling::start(plane, "replicaset-controller", REPLICA_SETS),
        }
    }
}

impl Reconcile for ReplicaSets {
    async fn reconcile(&self, request: Request) -> Result<Action, Failure> {
        let Some(set) = self.sets.get(request.key())? else { return Ok(Action::Done) };
        let Some(selector) = set.selector() else { return Ok(Action::Done) };
        let candidates = self.candidates(&set, &selector)?;
        let (active, ended): (Vec<_>, Vec<_>) = candidates.into_iter().partition(|pod| pod.is_active());
        let mut active = self.claim(&request, &set, &selector, active).await?;

        let failure = if set.metadata.is_going() {
            None
        } else {
            match self.manage(&request, &set, &mut active).await {
                Ok(false) => None,
                // What was written leads here again, and then the status can tell of all of it.
                Ok(true) => return Ok(Action::Done),
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
        let ending = ended.iter().filter(|pod| pod.is_ending()).filter(is_mine).count();
        let told = failure.as_ref().map(ToString::to_string);
        let status = status(&set, &active, ending, told.as_deref(), now);
        if status != set.status {
            let value = serde_json::to_value(&status)?;
            self.whole.update_status(&request, &set.metadata, |set| set.set(&["status"], value)).await?;
        }
        match failure {
            Some(error) => Err(error.into()),
            None => Ok(next_available(&set, &active, now).map_or(Action::Done, Action::After)),
        }
    }
}

impl ReplicaSets {
    /// Pods that it selects, and those that are its and that it selects no more.
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
        request: &Request,
        set: &ReplicaSet,
        selector: &LabelSelector,
        pods: Vec<Arc<Pod>>,
    ) -> Result<Vec<Arc<Pod>>, Failure> {
        let claim = Claim {
            owner: &set.metadata,
            resource: REPLICA_SETS,
            selector,
            owners: &self.whole.api(&set.metadata.namespace),
            api: &self.api.clone().namespace(&set.metadata.namespace),
            store: self.pods.store(),
        };
        claim.take(request, pods, |pod| &pod.metadata).await
    }

    /// Creates or deletes pods, and says whether it was so.
    async fn manage(
        &self,
        request: &Request,
        set: &Arc<ReplicaSet>,
        active: &mut [Arc<Pod>],
    ) -> Result<bool, PodsError> {
        let wanted = usize::try_from(set.replicas()).unwrap_or_default();
        let pods = Pods {
            set: set.clone(),
            api: self.api.clone().namespace(&set.metadata.namespace),
            store: self.pods.store().clone(),
            request: request.clone(),
            telling: self.telling.clone(),
        };
        match active.len().cmp(&wanted) {
            Ordering::Equal => return Ok(false),
            Ordering::Less => pods.create((wanted - active.len()).min(BURST)).await?,
            Ordering::Greater => {
                let surplus = active.len() - wanted;
                if surplus < active.len() {
                    rank(active, &self.crowd(set), Timestamp::now());
                }
                pods.delete(&active[..surplus.min(BURST)]).await?;
            }
        }
        Ok(true)
    }

    /// The pods of all replica sets that have the same controller.
    fn crowd(&self, set: &ReplicaSet) -> Crowd {
        let Some(owner) = set.metadata.controller() else { return Crowd::default() };
        let of_owner = |set: &&Arc<ReplicaSet>| {
            set.metadata.controller().is_some_and(|controller| controller.uid == owner.uid)
        };
        let (related, _) = self.sets.owned_by(&owner.uid).partial();
        let namespace = self.pods.namespace(&set.metadata.namespace);
        let selectors = related.iter().filter(of_owner).filter_map(|set| set.selector());
        let pods = selectors.flat_map(|selector| namespace.list(&selector).partial().0);
        let mut seen = HashSet::new();
        let pods: Vec<_> = pods.filter(|pod| seen.insert(pod.metadata.uid.clone())).collect();
        pods.iter().map(|pod| &**pod).collect()
    }
}
