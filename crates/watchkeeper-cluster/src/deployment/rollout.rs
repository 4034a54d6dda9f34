//! Rollout: one reconciliation of a deployment and its replica sets.

use watchkeeper_controller::Error;
use watchkeeper_controller::events::Event;

use super::bounds::Bounds;
use super::conditions::{self, PAUSED, PROGRESSING, TIMED_OUT, condition};
use super::controller::Deployments;
use super::revision::revision;
use super::sizes::{Size, grown, shrunk};
use super::status::{count_replicas, is_complete, rollout_status};
use watchkeeper_core::Timestamp;

use crate::resource::DEPLOYMENTS;
use crate::view::{Deployment, ReplicaSet, decodable};

/// Why a rollout stopped early.
pub(super) enum Halt {
    /// Another client wrote first; the cached state is outdated.
    Conflict,
    Failed(Error),
}

impl<E: Into<Error>> From<E> for Halt {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

pub(super) struct Rollout<'a> {
    pub(super) on: &'a Deployments,
    /// The deployment, with the status to write.
    pub(super) deployment: Deployment,
    /// Its replica sets, oldest first.
    pub(super) sets: Vec<ReplicaSet>,
    /// Index of the replica set with the deployment's current template.
    pub(super) new: Option<usize>,
}

impl<'a> Rollout<'a> {
    pub(super) fn new(on: &'a Deployments, deployment: Deployment, mut sets: Vec<ReplicaSet>) -> Self {
        sets.sort_by_cached_key(|set| (set.metadata.created(), set.metadata.name.clone()));
        Self { on, deployment, sets, new: None }
    }

    pub(super) async fn run(&mut self) -> Result<(), Halt> {
        if self.deployment.metadata.is_terminating() {
            self.find_new().await?;
            self.count();
            return Ok(());
        }
        self.record_pause();
        self.find_new().await?;
        if self.deployment.spec.paused || self.is_scaled() {
            self.scale().await?;
            if self.deployment.spec.paused {
                self.clean_up_history().await?;
            }
            self.count();
            return Ok(());
        }
        if self.deployment.recreates() { self.recreate().await } else { self.roll().await }
    }

    pub(super) fn new_set(&self) -> Option<&ReplicaSet> {
        self.new.map(|new| &self.sets[new])
    }

    /// Returns the indices of all other replica sets, oldest first.
    pub(super) fn old(&self) -> Vec<usize> {
        (0..self.sets.len()).filter(|which| Some(*which) != self.new).collect()
    }

    /// Records an event about the deployment.
    pub(super) fn record(&self, event: Event) {
        self.on.recorder.record(&self.deployment.metadata.reference(DEPLOYMENTS), event);
    }

    pub(super) fn bounds(&self) -> Bounds {
        Bounds::of(&self.deployment)
    }

    fn count(&mut self) {
        self.deployment.status =
            count_replicas(&self.deployment, &self.sets, self.new_set(), Timestamp::now());
    }

    fn update_progress(&mut self) {
        self.deployment.status =
            rollout_status(&self.deployment, &self.sets, self.new_set(), Timestamp::now());
    }

    /// Records a pause or resumption, so that the progress deadline does not count while paused.
    fn record_pause(&mut self) {
        let deadline = self.deployment.progress_deadline();
        let deployment = &mut self.deployment;
        let conditions = &mut deployment.status.conditions;
        let current = conditions::find(conditions, PROGRESSING).map(|current| current.reason.as_str());
        if deadline.is_none() || current == Some(TIMED_OUT) {
            return;
        }
        let (reason, message) = match (deployment.spec.paused, current == Some(PAUSED)) {
            (true, false) => (PAUSED, "Deployment is paused"),
            (false, true) => ("DeploymentResumed", "Deployment is resumed"),
            _ => return,
        };
        conditions::set(
            conditions,
            condition(PROGRESSING, "Unknown", reason, message.to_owned(), Timestamp::now()),
        );
    }

    async fn roll(&mut self) -> Result<(), Halt> {
        let new = self.ensure_new().await?;
        let has_moved = self.grow(new).await? || self.shrink(new).await?;
        if !has_moved && is_complete(&self.deployment, &self.deployment.status) {
            self.clean_up_history().await?;
        }
        self.update_progress();
        Ok(())
    }

    async fn grow(&mut self, new: usize) -> Result<bool, Halt> {
        let (bounds, size) = (self.bounds(), i64::from(self.sets[new].replicas()));
        let total = self.sets.iter().map(|set| i64::from(set.replicas())).sum();
        let wanted = if size > bounds.desired { bounds.desired } else { grown(&bounds, total, size) };
        self.resize(new, wanted).await
    }

    async fn shrink(&mut self, new: usize) -> Result<bool, Halt> {
        let size = |set: &ReplicaSet| Size {
            wanted: set.replicas().into(),
            available: set.status.available_replicas.into(),
        };
        let active: Vec<usize> =
            self.old().into_iter().filter(|which| self.sets[*which].replicas() > 0).collect();
        let sizes: Vec<Size> = active.iter().map(|which| size(&self.sets[*which])).collect();
        let wanted = shrunk(&self.bounds(), &sizes, size(&self.sets[new]));
        let mut has_moved = false;
        for (which, wanted) in active.into_iter().zip(wanted) {
            has_moved |= self.resize(which, wanted).await?;
        }
        Ok(has_moved)
    }

    /// Replaces pods with strategy `Recreate`: new ones are created once all old ones are gone.
    async fn recreate(&mut self) -> Result<(), Halt> {
        let mut has_moved = false;
        for which in self.old() {
            has_moved |= self.resize(which, 0).await?;
        }
        if !has_moved && !self.has_old_pods() {
            let new = self.ensure_new().await?;
            self.resize(new, self.bounds().desired).await?;
            if is_complete(&self.deployment, &self.deployment.status) {
                self.clean_up_history().await?;
            }
        }
        self.update_progress();
        Ok(())
    }

    fn has_old_pods(&self) -> bool {
        let pods = self.on.pods.namespace(&self.deployment.metadata.namespace);
        self.old().into_iter().map(|which| &self.sets[which]).any(|set| {
            let uid = &set.metadata.uid;
            let belongs = |pod: &crate::view::Pod| {
                !pod.is_finished()
                    && pod.metadata.controller().is_some_and(|controller| controller.uid == *uid)
            };
            set.status.replicas > 0 || decodable(pods.owned_by(uid)).iter().any(|pod| belongs(pod))
        })
    }

    /// Deletes the oldest unused replica sets beyond the revision history limit.
    async fn clean_up_history(&mut self) -> Result<(), Halt> {
        let Some(limit) = self.deployment.history_limit() else { return Ok(()) };
        let mut old: Vec<&ReplicaSet> = self.old().into_iter().map(|which| &self.sets[which]).collect();
        old.retain(|set| !set.metadata.is_terminating());
        let surplus = old.len().saturating_sub(usize::try_from(limit).unwrap_or_default());
        // The sort is stable: within one revision the older set goes first.
        old.sort_by_key(|set| revision(set).unwrap_or_default());
        for set in &old[..surplus] {
            let is_in_use = set.status.replicas != 0
                || set.replicas() != 0
                || set.metadata.generation > set.status.observed_generation;
            if is_in_use {
                continue;
            }
            let api = self.on.set_updater.api(&set.metadata.namespace);
            match api.delete(&set.metadata.name, &Default::default()).await {
                Err(error) if !error.is_not_found() => return Err(error.into()),
                _ => {}
            }
        }
        Ok(())
    }
}
