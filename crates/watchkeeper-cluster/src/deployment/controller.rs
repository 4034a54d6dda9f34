//! The deployment controller.

use watchkeeper_cache::Reader;
use watchkeeper_controller::events::{EventApi, EventRecorder};
use watchkeeper_controller::{Action, Error, Request};
use watchkeeper_core::{LabelSelector, Timestamp};

use super::revision::REVISION;
use super::rollout::{Halt, Rollout};
use super::status::next_check;
use crate::claim::Claim;
use crate::context::{ControllerContext, Reconcile};
use crate::resource::{DEPLOYMENTS, PODS, REPLICA_SETS};
use crate::updater::ObjectUpdater;
use crate::view::{Deployment, Pod, ReplicaSet};

pub(super) struct Deployments {
    deployments: Reader<Deployment>,
    sets: Reader<ReplicaSet>,
    pub(super) pods: Reader<Pod>,
    updater: ObjectUpdater,
    pub(super) set_updater: ObjectUpdater,
    pub(super) recorder: EventRecorder,
}

impl Deployments {
    pub(super) fn new(context: &mut ControllerContext) -> Self {
        Self {
            deployments: context.reader(DEPLOYMENTS),
            sets: context.reader(REPLICA_SETS),
            pods: context.reader(PODS),
            updater: ObjectUpdater::new(context, DEPLOYMENTS),
            set_updater: ObjectUpdater::new(context, REPLICA_SETS),
            recorder: context.recorder("deployment-controller", EventApi::Core),
        }
    }
}

impl Reconcile for Deployments {
    async fn reconcile(&self, request: Request) -> Result<Action, Error> {
        let Some(before) = self.deployments.get(request.key())? else {
            return Ok(Action::await_change());
        };
        let Some(selector) = before.selector() else { return Ok(Action::await_change()) };
        let sets = self.claim(&before, &selector).await?;
        let mut rollout = Rollout::new(self, Deployment::clone(&before), sets);
        let outcome = rollout.run().await;
        let after = rollout.deployment;
        self.write(&before, &after).await?;
        match outcome {
            Err(Halt::Failed(failure)) => Err(failure),
            // The change of the other client triggers the next call.
            Err(Halt::Conflict) => Ok(Action::await_change()),
            Ok(()) => Ok(next_check(&after, &after.status, Timestamp::now())
                .map_or_else(Action::await_change, Action::requeue)),
        }
    }
}

impl Deployments {
    async fn claim(
        &self,
        deployment: &Deployment,
        selector: &LabelSelector,
    ) -> Result<Vec<ReplicaSet>, Error> {
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
            owners: &self.updater.api(namespace),
            api: &self.set_updater.api(namespace),
        };
        let claimed = claim.take(candidates, |set| &set.metadata).await?;
        Ok(claimed.iter().map(|set| ReplicaSet::clone(set)).collect())
    }

    /// Writes status and revision if they have changed (`deployment.D2`).
    async fn write(&self, before: &Deployment, after: &Deployment) -> Result<(), Error> {
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
        self.updater.update_status(&before.metadata, change).await?;
        Ok(())
    }
}
