//! Workload: a deployment, its current replica set, its pods, and the last event of each.
//!
//! Input: informers of deployments, replica sets, pods and events.
//! Output: the current state as a [`Workload`].
//!
//! Invariants:
//! - `workload.W1`: the current replica set is the one managed by the deployment that has its revision.
//! - `workload.W2`: the pods are those selected by that replica set.
//! - `workload.W3`: a pod is ready if its containers are and the condition of every readiness gate is true; a missing
//!   condition is not true.
//! - `workload.W4`: the last event is the most recently seen one about the pod with this UID.

mod pod;
mod set;

use std::sync::Arc;

use serde::Serialize;
use watchkeeper_cache::reader::{GetError, ListUndecodable};
use watchkeeper_cache::store::by_field;
use watchkeeper_cache::{InformerFactory, Keep, Reader};
use watchkeeper_core::{Collection, ErrorChain, LabelSelector, RequirementError};

use crate::event::Event;
use pod::Pod;
pub(crate) use pod::is_pod_ready;
pub use pod::{Condition, PodState};
use set::{Deployment, ReplicaSet};

/// Name of the index of events by the UID of their object.
pub(crate) const BY_INVOLVED_OBJECT: &str = "watchkeeper-web/about";

/// A reader of workloads from informers.
#[derive(Debug, Clone)]
pub struct Workloads {
    deployments: Reader<Deployment>,
    sets: Reader<ReplicaSet>,
    pods: Reader<Pod>,
    events: Reader<Event>,
}

/// A deployment with its replica set and pods.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Workload {
    /// Namespace.
    pub namespace: String,
    /// Name of the deployment.
    pub deployment: String,
    /// Desired number of pods.
    pub replicas: i64,
    /// Name of the current replica set (`workload.W1`), if any.
    pub replica_set: Option<String>,
    /// Revision of the replica set.
    pub revision: Option<String>,
    /// Pods (`workload.W2`), sorted by name.
    pub pods: Vec<PodState>,
}

/// An error of [`Workloads::get`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkloadError {
    /// The deployment does not exist.
    #[error("deployment {name} not found in namespace {namespace}")]
    Absent {
        /// Namespace.
        namespace: String,
        /// Name.
        name: String,
    },
    /// The deployment cannot be decoded.
    #[error(transparent)]
    Get(#[from] GetError),
    /// A replica set or a pod cannot be decoded.
    #[error(transparent)]
    List(#[from] ListUndecodable),
    /// The selector of the replica set is invalid.
    #[error("invalid selector of replica set {name}")]
    Selector {
        /// Name of the replica set.
        name: String,
        /// The cause.
        source: RequirementError,
    },
}

impl Workloads {
    /// Creates a reader over the informers of a factory. Does not start the factory.
    pub fn new(factory: &InformerFactory) -> Self {
        let informer = |group, plural, kind| factory.informer(&Collection::new(group, "v1", plural, kind));
        let events = informer("", "events", "Event");
        let path = "involvedObject.uid".parse().expect("two names make a path");
        // An error means that the index exists already.
        let _ = events.add_index(BY_INVOLVED_OBJECT, by_field(events.kind().clone(), path));
        Self {
            deployments: informer("apps", "deployments", "Deployment").reader(Keep::Encoded),
            sets: informer("apps", "replicasets", "ReplicaSet").reader(Keep::Encoded),
            pods: informer("", "pods", "Pod").reader(Keep::Encoded),
            events: events.reader(Keep::Encoded),
        }
    }

    /// Returns the workload of a deployment.
    ///
    /// # Errors
    /// See [`WorkloadError`].
    pub fn get(&self, namespace: &str, name: &str) -> Result<Workload, WorkloadError> {
        let absent = || WorkloadError::Absent { namespace: namespace.to_owned(), name: name.to_owned() };
        let deployment = match self.deployments.namespace(namespace).get(name) {
            Err(GetError::InvalidName { .. }) => None, // not a valid name
            found => found?,
        };
        let deployment = deployment.ok_or_else(absent)?;
        let set = self.current(&deployment)?;
        let pods = match &set {
            Some(set) => self.pods_of(namespace, set)?,
            None => Vec::new(),
        };
        Ok(Workload {
            namespace: namespace.to_owned(),
            deployment: name.to_owned(),
            replicas: deployment.spec.replicas.unwrap_or(1),
            replica_set: set.as_ref().map(|set| set.metadata.name.clone()),
            revision: set.as_ref().and_then(|set| set.metadata.revision().map(str::to_owned)),
            pods,
        })
    }

    /// Finds the current replica set (`workload.W1`).
    fn current(&self, deployment: &Deployment) -> Result<Option<Arc<ReplicaSet>>, WorkloadError> {
        let uid = &deployment.metadata.uid;
        let owned = self.sets.namespace(&deployment.metadata.namespace).owned_by(uid).items()?;
        let is_current = |set: &Arc<ReplicaSet>| {
            set.metadata.is_managed_by(uid) && set.metadata.revision() == deployment.metadata.revision()
        };
        Ok(owned.into_iter().find(is_current))
    }

    /// Lists the pods of a replica set (`workload.W2`).
    fn pods_of(&self, namespace: &str, set: &ReplicaSet) -> Result<Vec<PodState>, WorkloadError> {
        let selector = LabelSelector::try_from(&set.spec.selector)
            .map_err(|source| WorkloadError::Selector { name: set.metadata.name.clone(), source })?;
        let pods = self.pods.namespace(namespace).list(&selector).items()?;
        Ok(pods.iter().map(|pod| pod.state(self.last_event(&pod.metadata.uid))).collect())
    }

    /// Returns the last event of a pod (`workload.W4`). Events that cannot be decoded are logged and ignored.
    fn last_event(&self, uid: &str) -> Option<Arc<Event>> {
        let (about, undecodable) = self.events.by_index(BY_INVOLVED_OBJECT, uid).ok()?.partial();
        for error in undecodable {
            tracing::warn!(error = %ErrorChain(&error), "ignoring an event");
        }
        about.into_iter().max_by(|one, other| one.last_seen().cmp(&other.last_seen()))
    }
}
