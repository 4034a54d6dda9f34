//! What is done for a deployment.

use watchkeeper_cache::Reader;
use watchkeeper_controller::{Action, Failure, Reconcile, Request};
use watchkeeper_core::{LabelSelector, Timestamp};

use super::revision::REVISION;
use super::rollout::{Halt, Rollout};
use super::status::next_look;
use crate::claim::Claim;
use crate::plane::Plane;
use crate::resource::{DEPLOYMENTS, PODS, REPLICA_SETS};
use crate::telling::Telling;
use crate::view::{Deployment, Pod, ReplicaSet};
use crate::whole::Whole;

pub(super) struct Deployments {
    deployments: Reader<Deployment>,
    sets: Reader<ReplicaSet>,
    pub(super) pods: Reader<Pod>,
    whole: Whole,
    pub(super) whole_sets: Whole,
    pub(super) telling: Telling,
}

impl Deployments {
    pub(super) fn new(plane: &mut Plane) -> Self {
        Self {
            deployments: plane.reader(DEPLOYMENTS),
            sets: plane.reader(REPLICA_SETS),
            pods: plane.reader(PODS),
            whole: Whole::new(plane, DEPLOYMENTS),
            whole_sets: Whole::new(plane, REPLICA_SETS),
            telling: Telling::start(plane, "deployment-controller", DEPLOYMENTS),
        }
    }
}

impl Reconcile for Deployments {
    async fn reconcile(&self, request: Request) -> Result<Action, Failure> {
        let Some(before) = self.deployments.get(request.key())? else { return Ok(Action::Done) };
        let Some(selector) = before.selector() else { return Ok(Action::Done) };
        let sets = self.claim(&request, &before, &selector).await?;
        let mut rollout = Rollout::new(self, &request, Deployment::clone(&before), sets);
        let outcome = rollout.run().await;
        let after = rollout.deployment;
        self.write(&request, &before, &after).await?;
        match outcome {
            Err(Halt::Failed(failure)) => Err(failure),
            // Whatever has overtaken this leads here again.
            Err(Halt::Overtaken) => Ok(Action::Done),
            Ok(()) => {
                Ok(next_look(&after, &after.status, Timestamp::now()).map_or(Action::Done, Action::After))
            }
        }
    }
}

impl Deployments {
    async fn claim(
        &self,
        request: &Request,
        deployment: &Deployment,
        selector: &LabelSelector,
    ) -> Result<Vec<ReplicaSet>, Failure> {
        let namespace = &deployment.metadata.namespace;
        let all = self.sets.namespace(namespace);
        let mut candidates = all.list(selector).items()?;
        let is_new = |set: &ReplicaSet| !candidates.iter().any(|one| one.metadata.uid == set.metadata.uid);
        let owned = all.owned_by(&deployment.metadata.uid).items()?;
        let unselected: Vec<_> = owned.into_iter().filter(|set| is_new(set)).collect();
        candidates.extend(unselected);
        let claim = Claim {
            owner: &deployment.metadata,
            resource: DEPLOYMENTS,
            selector,
            owners: &self.whole.api(namespace),
            api: &self.whole_sets.api(namespace),
            store: self.sets.store(),
        };
        let claimed = claim.take(request, candidates, |set| &set.metadata).await?;
        Ok(claimed.iter().map(|set| ReplicaSet::clone(set)).collect())
    }

    /// Writes what has changed, if anything has (D2).
    async fn write(&self, request: &Request, before: &Deployment, after: &Deployment) -> Result<(), Failure> {
        let revision = after.metadata.annotations.get(REVISION);
        if before.status == after.status && before.metadata.annotations.get(REVISION) == revision {
            return Ok(());
        }
        let status = serde_json::to_value(&after.status)?;
        let change = |object: &mut watchkeeper_client::dynamic::DynamicObject| {
            object.set(&["status"], status);
            if let Some(revision) = revision {
                object.set(&["metadata", "annotations", REVISION], revision.as_str().into());
            }
        };
        self.whole.update_status(request, &before.metadata, change).await?;
        Ok(())
    }
}
