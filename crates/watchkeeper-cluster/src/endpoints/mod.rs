//! Endpoints: where the pods of a service are.
//!
//! From: services with a selector, and the pods that it selects.
//! To:   an Endpoints object and EndpointSlices, which are written where an address, a port or a readiness changes.
//!
//! Both are made from the same [`Members`]. Services without a selector are left alone.

mod member;
mod slice_plan;
mod slices;
mod subsets;
mod view;

use std::collections::BTreeMap;
use std::sync::Arc;

use watchkeeper_cache::{Keep, Reader};
use watchkeeper_client::rest::RequestError;
use watchkeeper_core::{LabelSelector, Object, ObjectKey};

use crate::plane::Plane;
use crate::resource::{PODS, SERVICES};
use member::Member;
use view::{Pod, Service};

/// That a service has no address of its own.
const HEADLESS: &str = "service.kubernetes.io/headless";
/// When what led to this state has happened.
const TRIGGER_TIME: &str = "endpoints.kubernetes.io/last-change-trigger-time";

pub(crate) fn start(plane: &mut Plane) {
    subsets::start(plane, Members::new(plane));
    slices::start(plane, Members::new(plane));
}

/// Services and their pods.
#[derive(Clone)]
struct Members {
    services: Reader<Service>,
    pods: Reader<Pod>,
}

impl Members {
    fn new(plane: &Plane) -> Self {
        // A service is looked at whenever one of its pods changes: all others are decoded already.
        let (services, pods) = (plane.informer(SERVICES), plane.informer(PODS));
        Self { services: services.reader(Keep::Decoded), pods: pods.reader(Keep::Decoded) }
    }

    /// The services that select a pod.
    fn selecting(&self, pod: &Object) -> Vec<ObjectKey> {
        let Some(namespace) = pod.head.key().namespace() else { return Vec::new() };
        let (services, _) = self.services.namespace(namespace).list(&LabelSelector::default()).partial();
        let selects = |service: &Arc<Service>| {
            let selector = service.spec.selector.as_ref().filter(|selector| !selector.is_empty());
            selector.is_some_and(|selector| {
                selector.iter().all(|(key, value)| pod.head.label(key) == Some(value.as_str()))
            })
        };
        services.iter().filter(|service| selects(service)).map(|service| service.metadata.key()).collect()
    }

    /// The pods of a service that have an address. `None` if it selects none.
    fn of(&self, service: &Service) -> Option<Vec<Member>> {
        let selector = service.spec.selector.as_ref().filter(|_| service.spec.kind != "ExternalName")?;
        let labels = LabelSelector::from_labels(selector).ok().filter(|_| !selector.is_empty())?;
        let (pods, _) = self.pods.namespace(&service.metadata.namespace).list(&labels).partial();
        Some(pods.iter().filter_map(|pod| Member::of(pod, service)).collect())
    }
}

/// The labels of what belongs to a service.
fn labels(service: &Service, own: &[(&str, &str)]) -> BTreeMap<String, String> {
    let mut labels = service.metadata.labels.clone();
    labels.remove(HEADLESS);
    if service.is_headless() {
        labels.insert(HEADLESS.to_owned(), String::new());
    }
    labels.extend(own.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())));
    labels
}

/// What makes some labels others by a merge patch.
fn label_patch(
    from: &BTreeMap<String, String>,
    to: &BTreeMap<String, String>,
) -> BTreeMap<String, Option<String>> {
    let removed = from.keys().filter(|key| !to.contains_key(*key)).map(|key| (key.clone(), None));
    removed.chain(to.iter().map(|(key, value)| (key.clone(), Some(value.clone())))).collect()
}

/// When the last of what led to these members has happened.
fn trigger_time(service: &Service, members: &[Member]) -> Option<String> {
    let changes = members.iter().filter_map(|member| member.ready_since.clone());
    changes.chain(service.metadata.creation_timestamp.clone()).max()
}

/// Whether a write was forbidden, as all are that make something in a namespace that is going.
fn is_forbidden(error: &RequestError) -> bool {
    error.status().is_some_and(|status| status.code == 403)
}
