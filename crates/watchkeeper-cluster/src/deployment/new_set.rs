//! The new replica set: the one with the deployment's current template, found or created.

use serde_json::{Value, json};
use watchkeeper_client::dynamic::{DynamicObject, WriteOptions};
use watchkeeper_client::rest::RequestError;
use watchkeeper_controller::TerminalError;
use watchkeeper_controller::events::Event;
use watchkeeper_core::{CauseType, ErrorChain, Timestamp};

use super::conditions::{self, PROGRESSING, condition};
use super::revision::{REVISION, highest, renewed, sized};
use super::rollout::{Halt, Rollout};
use super::sizes::grown;
use super::template::{HASH, hash, is_same};
use crate::resource::{DEPLOYMENTS, REPLICA_SETS};
use crate::view::{Deployment, ReplicaSet};

/// Maximum length of a name.
const MAX_NAME_LENGTH: usize = 253;

impl Rollout<'_> {
    /// Finds the replica set with the deployment's template, the oldest if there are several, and sets its
    /// revision to the newest.
    pub(super) async fn find_new(&mut self) -> Result<(), Halt> {
        let template = &self.deployment.spec.template;
        self.new = self.sets.iter().position(|set| is_same(&set.spec.template, template));
        let Some(new) = self.new else { return Ok(()) };
        let (set, seconds) = (&self.sets[new], self.deployment.spec.min_ready_seconds);
        let annotations =
            renewed(&set.metadata.annotations, &self.deployment.metadata.annotations, self.next_revision());
        if annotations != set.metadata.annotations || set.spec.min_ready_seconds != seconds {
            let update = self.on.set_updater.update(&set.metadata, |set| {
                set.set(&["metadata", "annotations"], json!(annotations));
                set.set(&["spec", "minReadySeconds"], seconds.into());
            });
            let written = update.await?.ok_or(Halt::Conflict)?;
            self.sets[new] = written.to_typed()?;
        }
        self.take_revision(new);
        let has_progress = conditions::find(&self.deployment.status.conditions, PROGRESSING).is_some();
        if !has_progress {
            let message = format!("Found new replica set {:?}", self.sets[new].metadata.name);
            self.set_progress(condition(
                PROGRESSING,
                "True",
                "FoundNewReplicaSet",
                message,
                Timestamp::now(),
            ));
        }
        Ok(())
    }

    /// Returns the replica set with the deployment's template, after creating it if needed.
    pub(super) async fn ensure_new(&mut self) -> Result<usize, Halt> {
        if let Some(new) = self.new {
            return Ok(new);
        }
        let set = self.draft();
        let object = DynamicObject::try_from(set)?;
        let api = self.on.set_updater.api(&self.deployment.metadata.namespace);
        let created = match api.create(&object, &WriteOptions::default()).await {
            Ok(created) => created,
            Err(error) if error.is_already_exists() => return self.collide(object.name()).await,
            Err(error) => return Err(self.create_failed(object.name(), error)),
        };
        let set: ReplicaSet = created.to_typed()?;
        let (name, size) = (set.metadata.name.clone(), set.replicas());
        if size > 0 {
            let message = format!("Scaled up replica set {name} from 0 to {size}");
            self.record(Event::normal("ScalingReplicaSet", message));
        }
        let message = format!("Created new replica set {name:?}");
        self.set_progress(condition(PROGRESSING, "True", "NewReplicaSetCreated", message, Timestamp::now()));
        Ok(self.add(set))
    }

    fn add(&mut self, set: ReplicaSet) -> usize {
        self.sets.push(set);
        let new = self.sets.len() - 1;
        self.new = Some(new);
        self.take_revision(new);
        new
    }

    /// Handles a replica set of the same name that is not in the cache: ours after all, or a hash collision.
    async fn collide(&mut self, name: &str) -> Result<usize, Halt> {
        let api = self.on.set_updater.api(&self.deployment.metadata.namespace);
        let set: ReplicaSet = api.get(name).await?.to_typed()?;
        let is_ours =
            set.metadata.controller().is_some_and(|owner| owner.uid == self.deployment.metadata.uid);
        if is_ours && is_same(&set.spec.template, &self.deployment.spec.template) {
            return Ok(self.add(set));
        }
        // Increases the collision count, which changes the name for the next attempt.
        let count = &mut self.deployment.status.collision_count;
        *count = Some(count.unwrap_or_default().saturating_add(1));
        Err(Halt::Conflict)
    }

    fn create_failed(&mut self, name: &str, error: RequestError) -> Halt {
        let terminating = CauseType::from("NamespaceTerminating");
        if error.status().is_some_and(|status| status.cause(&terminating).is_some()) {
            return Halt::Failed(TerminalError::new(error).into());
        }
        let message = format!("Failed to create new replica set {name:?}: {}", ErrorChain(&error));
        self.record(Event::warning("ReplicaSetCreateError", message.clone()));
        self.set_progress(condition(
            PROGRESSING,
            "False",
            "ReplicaSetCreateError",
            message,
            Timestamp::now(),
        ));
        error.into()
    }

    /// Sets the `Progressing` condition if the deployment has a progress deadline.
    fn set_progress(&mut self, progress: crate::view::DeploymentCondition) {
        if self.deployment.progress_deadline().is_some() {
            conditions::set(&mut self.deployment.status.conditions, progress);
        }
    }

    fn next_revision(&self) -> i64 {
        highest(self.old().into_iter().map(|which| &self.sets[which])).saturating_add(1)
    }

    fn take_revision(&mut self, new: usize) {
        if let Some(revision) = self.sets[new].metadata.annotations.get(REVISION) {
            self.deployment.metadata.annotations.insert(REVISION.to_owned(), revision.clone());
        }
    }

    fn draft(&self) -> Value {
        let bounds = self.bounds();
        let total = self.sets.iter().map(|set| i64::from(set.replicas())).sum();
        let size = if self.deployment.recreates() { bounds.desired } else { grown(&bounds, total, 0) };
        let annotations =
            renewed(&Default::default(), &self.deployment.metadata.annotations, self.next_revision());
        let mut set = replica_set_for(&self.deployment);
        set["metadata"]["annotations"] = json!(sized(annotations, &bounds));
        set["spec"]["replicas"] = size.into();
        set
    }
}

/// Returns a replica set for the deployment's template, with the template's hash in its name and labels.
fn replica_set_for(deployment: &Deployment) -> Value {
    let (metadata, spec) = (&deployment.metadata, &deployment.spec);
    let hash = hash(&spec.template, deployment.status.collision_count);
    let mut template = spec.template.clone();
    template["metadata"]["labels"][HASH] = hash.as_str().into();
    let mut selector = spec.selector.clone().unwrap_or_default();
    selector.match_labels.insert(HASH.to_owned(), hash.clone());
    let room = MAX_NAME_LENGTH - 1 - hash.len();
    let name: String = metadata.name.chars().take(room).collect();
    json!({
        "apiVersion": REPLICA_SETS.api_version(),
        "kind": REPLICA_SETS.kind,
        "metadata": {
            "name": format!("{name}-{hash}"),
            "namespace": metadata.namespace,
            "labels": template["metadata"]["labels"],
            "ownerReferences": [metadata.as_controller(DEPLOYMENTS)],
        },
        "spec": {"minReadySeconds": spec.min_ready_seconds, "selector": selector, "template": template},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replica_set_carries_the_hash_of_its_template() {
        let deployment = json!({
            "metadata": {"name": "web", "namespace": "shop", "uid": "u", "labels": {"not": "this"}},
            "spec": {
                "minReadySeconds": 5,
                "selector": {"matchLabels": {"app": "web"}},
                "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": []}},
            },
        });
        let mut deployment: Deployment = serde_json::from_value(deployment).unwrap();
        let hash = hash(&deployment.spec.template, None);
        let labels = json!({"app": "web", HASH: hash});
        let owner = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "u",
                           "controller": true, "blockOwnerDeletion": true});
        let expected = json!({
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {"name": format!("web-{hash}"), "namespace": "shop", "labels": labels,
                         "ownerReferences": [owner]},
            "spec": {"minReadySeconds": 5, "selector": {"matchLabels": labels},
                     "template": {"metadata": {"labels": labels}, "spec": {"containers": []}}},
        });
        assert_eq!(replica_set_for(&deployment), expected);
        deployment.metadata.name = "w".repeat(253);
        assert_eq!(replica_set_for(&deployment)["metadata"]["name"].as_str().unwrap().len(), 253);
        deployment.status.collision_count = Some(1);
        assert_ne!(replica_set_for(&deployment)["metadata"]["labels"], labels);
    }
}
