//! Endpoints: the addresses of the pods behind a service.
//!
//! Input: services with a selector, and the pods they select.
//! Output: Endpoints and EndpointSlices, written when an address, a port or readiness changes.
//!
//! Both are computed from the same [`Members`]. Services without a selector are left alone.

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

use crate::context::ControllerContext;
use crate::resource::{PODS, SERVICES};
use crate::view::decodable;
use member::Member;
use view::{Pod, Service};

/// Label of endpoints of a headless service.
const HEADLESS: &str = "service.kubernetes.io/headless";
/// Annotation with the time of the change that led to this state.
const TRIGGER_TIME: &str = "endpoints.kubernetes.io/last-change-trigger-time";

pub(crate) fn start(context: &mut ControllerContext) {
    subsets::start(context, Members::new(context));
    slices::start(context, Members::new(context));
}

/// Services and their pods.
#[derive(Clone)]
struct Members {
    services: Reader<Service>,
    pods: Reader<Pod>,
}

impl Members {
    fn new(context: &ControllerContext) -> Self {
        // Kept decoded: a service is reconciled on every change of one of its pods.
        let (services, pods) = (context.informer(SERVICES), context.informer(PODS));
        Self { services: services.reader(Keep::Decoded), pods: pods.reader(Keep::Decoded) }
    }

    /// Returns the services that select a pod.
    fn selecting(&self, pod: &Object) -> Vec<ObjectKey> {
        let Some(namespace) = pod.metadata.key().namespace() else { return Vec::new() };
        let services = decodable(self.services.namespace(namespace).list(&LabelSelector::default()));
        let selects = |service: &Arc<Service>| {
            let selector = service.spec.selector.as_ref().filter(|selector| !selector.is_empty());
            selector.is_some_and(|selector| {
                selector.iter().all(|(key, value)| pod.metadata.label(key) == Some(value.as_str()))
            })
        };
        services.iter().filter(|service| selects(service)).map(|service| service.metadata.key()).collect()
    }

    /// Returns the pods of a service that have an IP address, or `None` if the service has no selector.
    fn of(&self, service: &Service) -> Option<Vec<Member>> {
        let selector = service.spec.selector.as_ref().filter(|_| service.spec.kind != "ExternalName")?;
        let labels = LabelSelector::from_labels(selector).ok().filter(|_| !selector.is_empty())?;
        let pods = decodable(self.pods.namespace(&service.metadata.namespace).list(&labels));
        Some(pods.iter().filter_map(|pod| Member::of(pod, service)).collect())
    }
}

/// Returns the labels of a service's endpoints.
fn labels(service: &Service, own: &[(&str, &str)]) -> BTreeMap<String, String> {
    let mut labels = service.metadata.labels.clone();
    labels.remove(HEADLESS);
    if service.is_headless() {
        labels.insert(HEADLESS.to_owned(), String::new());
    }
    labels.extend(own.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())));
    labels
}

/// Returns a merge patch from one set of labels to another.
fn label_patch(
    from: &BTreeMap<String, String>,
    to: &BTreeMap<String, String>,
) -> BTreeMap<String, Option<String>> {
    let removed = from.keys().filter(|key| !to.contains_key(*key)).map(|key| (key.clone(), None));
    removed.chain(to.iter().map(|(key, value)| (key.clone(), Some(value.clone())))).collect()
}

/// Returns the time of the last change that led to these members.
fn trigger_time(service: &Service, members: &[Member]) -> Option<String> {
    let changes = members.iter().filter_map(|member| member.ready_since.clone());
    changes.chain(service.metadata.creation_timestamp.clone()).max()
}

/// Returns whether a write was forbidden, as creates are in a terminating namespace.
fn is_forbidden(error: &RequestError) -> bool {
    error.status().is_some_and(|status| status.code == 403)
}
