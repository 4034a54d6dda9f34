//! Scaling: sets the size of replica sets, in proportion while several share a deployment.

use std::cmp::Reverse;

use serde_json::json;
use watchkeeper_controller::events::Event;

use super::revision::{DESIRED, MOST, number, sized};
use super::rollout::{Halt, Rollout};
use super::sizes::{Share, proportional};
use crate::view::ReplicaSet;

impl Rollout<'_> {
    /// Returns whether the deployment was scaled since its replica sets were.
    pub(super) fn is_scaled(&self) -> bool {
        let mut active = self.sets.iter().filter(|set| set.replicas() > 0);
        active.any(|set| number(set, DESIRED).is_some_and(|desired| desired != self.deployment.replicas()))
    }

    /// Distributes the desired size among the replica sets in use.
    pub(super) async fn scale(&mut self) -> Result<(), Halt> {
        let mut active: Vec<usize> =
            (0..self.sets.len()).filter(|which| self.sets[*which].replicas() > 0).collect();
        let bounds = self.bounds();
        let only = match active[..] {
            [] => self.new.or_else(|| self.old().last().copied()),
            [only] => Some(only),
            _ => None,
        };
        if let Some(only) = only {
            self.resize(only, bounds.desired).await?;
        } else if self.is_saturated() {
            for which in self.old() {
                self.resize(which, 0).await?;
            }
        } else if !active.is_empty() && !self.deployment.recreates() {
            let total: i64 = active.iter().map(|which| i64::from(self.sets[*which].replicas())).sum();
            // Largest first; among equals the newest grows first, and the oldest shrinks first.
            let grows = bounds.desired > 0 && bounds.max() > total;
            if grows {
                active.reverse();
            }
            active.sort_by_key(|which| Reverse(self.sets[*which].replicas()));
            let shares: Vec<Share> = active.iter().map(|which| self.share(&self.sets[*which])).collect();
            for (which, size) in active.into_iter().zip(proportional(&bounds, &shares)) {
                self.set_size(which, size).await?;
            }
        }
        Ok(())
    }

    fn share(&self, set: &ReplicaSet) -> Share {
        let before = number(set, MOST).filter(|max| *max > 0).unwrap_or(self.deployment.status.replicas);
        Share { wanted: set.replicas().into(), max_before: before.into() }
    }

    /// Returns whether the new set has the full size, annotated as such, and is available.
    fn is_saturated(&self) -> bool {
        let wanted = self.deployment.replicas();
        self.new_set().is_some_and(|set| {
            set.replicas() == wanted
                && number(set, DESIRED) == Some(wanted)
                && set.status.available_replicas == wanted
        })
    }

    /// Sets the size of a replica set, and returns whether it had another one.
    pub(super) async fn resize(&mut self, which: usize, size: i64) -> Result<bool, Halt> {
        if i64::from(self.sets[which].replicas()) == size {
            Ok(false)
        } else {
            self.set_size(which, size).await
        }
    }

    /// As [`resize`](Self::resize), but also updates the size annotations if only those differ.
    async fn set_size(&mut self, which: usize, size: i64) -> Result<bool, Halt> {
        let set = &self.sets[which];
        let before = i64::from(set.replicas());
        let annotations = sized(set.metadata.annotations.clone(), &self.bounds());
        if size == before && annotations == set.metadata.annotations {
            return Ok(false);
        }
        let update = self.on.set_updater.update(&set.metadata, |set| {
            set.set(&["metadata", "annotations"], json!(annotations));
            set.set(&["spec", "replicas"], size.into());
        });
        let written = update.await?.ok_or(Halt::Conflict)?;
        self.sets[which] = written.to_typed()?;
        if size == before {
            return Ok(false);
        }
        let (direction, name) = (if before < size { "up" } else { "down" }, &self.sets[which].metadata.name);
        let message = format!("Scaled {direction} replica set {name} from {before} to {size}");
        self.record(Event::normal("ScalingReplicaSet", message));
        Ok(true)
    }
}
