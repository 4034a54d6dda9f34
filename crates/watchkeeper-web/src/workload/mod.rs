//! Workload: a deployment, the replica set that is current, its pods, and what last happened to each.
//!
//! From: informers of deployments, replica sets, pods and events.
//! To:   a [`Workload`], as it is at this moment.
//!
//! - W1: of the replica sets that the deployment manages, the one of its own revision is current.
//! - W2: the pods are those that the selector of that replica set selects.
//! - W3: a pod is ready if its containers are and the condition of every readiness gate is true; a condition that
//!   is not there is not true.
//! - W4: the last event is the newest, by when it was last seen, of those about the pod with this uid.

mod pod;
mod set;

use std::sync::Arc;

use serde::Serialize;
use watchkeeper_cache::reader::{GetError, ListUndecodable};
use watchkeeper_cache::store::ByField;
use watchkeeper_cache::{InformerFactory, Keep, Reader};
use watchkeeper_core::{Collection, LabelSelector, RequirementError};

use crate::event::Event;
use pod::Pod;
pub(crate) use pod::is_pod_ready;
pub use pod::{Condition, PodState};
use set::{Deployment, ReplicaSet};

/// The index of events by what they are about.
pub(crate) const ABOUT: &str = "watchkeeper-web/about";

/// Where workloads are found.
#[derive(Debug, Clone)]
pub struct Workloads {
    deployments: Reader<Deployment>,
    sets: Reader<ReplicaSet>,
    pods: Reader<Pod>,
    events: Reader<Event>,
}

/// A deployment and what has become of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Workload {
    /// In which namespace.
    pub namespace: String,
    /// The name of the deployment.
    pub deployment: String,
    /// How many pods are wanted.
    pub replicas: i64,
    /// The name of the replica set that is current (W1); `None` while there is none.
    pub replica_set: Option<String>,
    /// Its revision.
    pub revision: Option<String>,
    /// Its pods (W2), by name.
    pub pods: Vec<PodState>,
}

/// Why a workload cannot be shown.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkloadError {
    /// There is no deployment of this name.
    #[error("there is no deployment {name} in namespace {namespace}")]
    Absent {
        /// Where.
        namespace: String,
        /// Which.
        name: String,
    },
    /// The deployment cannot be read.
    #[error(transparent)]
    Get(#[from] GetError),
    /// A replica set or a pod cannot be decoded.
    #[error(transparent)]
    List(#[from] ListUndecodable),
    /// The selector of the replica set is none.
    #[error("the selector of replica set {name} cannot be read")]
    Selector {
        /// Which.
        name: String,
        /// What is wrong with it.
        source: RequirementError,
    },
}

impl Workloads {
    /// Over the informers of a factory, which shares them with whoever else wants them, and has to be started.
    pub fn new(factory: &InformerFactory) -> Self {
        let informer = |group, plural, kind| factory.informer(&Collection::new(group, "v1", plural, kind));
        let events = informer("", "events", "Event");
        let path = "involvedObject.uid".parse().expect("two names make a path");
        // That there is one already means that somebody else looks for workloads here, too.
        let _ = events.add_index(ABOUT, ByField::new(events.kind().clone(), path));
        Self {
            deployments: informer("apps", "deployments", "Deployment").reader(Keep::Encoded),
            sets: informer("apps", "replicasets", "ReplicaSet").reader(Keep::Encoded),
            pods: informer("", "pods", "Pod").reader(Keep::Encoded),
            events: events.reader(Keep::Encoded),
        }
    }

    /// The workload of a deployment.
    ///
    /// # Errors
    /// See [`WorkloadError`].
    pub fn get(&self, namespace: &str, name: &str) -> Result<Workload, WorkloadError> {
        let absent = || WorkloadError::Absent { namespace: namespace.to_owned(), name: name.to_owned() };
        let deployment = match self.deployments.namespace(namespace).get(name) {
            Err(GetError::Key(_)) => None, // no object has such a name
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

    /// W1.
    fn current(&self, deployment: &Deployment) -> Result<Option<Arc<ReplicaSet>>, WorkloadError> {
        let uid = &deployment.metadata.uid;
        let owned = self.sets.namespace(&deployment.metadata.namespace).owned_by(uid).items()?;
        let is_current = |set: &Arc<ReplicaSet>| {
            set.metadata.is_managed_by(uid) && set.metadata.revision() == deployment.metadata.revision()
        };
        Ok(owned.into_iter().find(is_current))
    }

    /// W2.
    fn pods_of(&self, namespace: &str, set: &ReplicaSet) -> Result<Vec<PodState>, WorkloadError> {
        let selector = LabelSelector::try_from(&set.spec.selector)
            .map_err(|source| WorkloadError::Selector { name: set.metadata.name.clone(), source })?;
        let pods = self.pods.namespace(namespace).list(&selector).items()?;
        Ok(pods.iter().map(|pod| pod.state(self.last_event(&pod.metadata.uid))).collect())
    }

    /// W4. An event that cannot be read is none.
    fn last_event(&self, uid: &str) -> Option<Arc<Event>> {
        let (about, _) = self.events.by_index(ABOUT, uid).ok()?.partial();
        about.into_iter().max_by(|one, other| one.seen().cmp(&other.seen()))
    }
}
