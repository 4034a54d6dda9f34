//! EndpointSlices of services, with up to 100 endpoints each.

use std::collections::BTreeMap;

use serde_json::json;
use watchkeeper_cache::Reader;
use watchkeeper_client::dynamic::{DeleteOptions, DynamicApi, DynamicObject, WriteOptions};
use watchkeeper_client::rest::{PatchKind, RequestError};
use watchkeeper_controller::{Action, Controller, Error, Request};
use watchkeeper_core::{LabelSelector, Object, ObjectKey};

use super::slice_plan::{Endpoint, Slice, plan};
use super::view::{Port, Service};
use super::{Members, TRIGGER_TIME, label_patch, labels, trigger_time};
use crate::context::{ControllerContext, Reconcile};
use crate::resource::{ENDPOINT_SLICES, PODS, SERVICES};

const SERVICE: &str = "kubernetes.io/service-name";
const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";
const MANAGER: &str = "endpointslice-controller.k8s.io";
// Simulated nodes assign IPv4 addresses only.
const ADDRESS_TYPE: &str = "IPv4";

pub(super) fn start(context: &mut ControllerContext, members: Members) {
    let selecting = {
        let members = members.clone();
        move |pod: &Object| members.selecting(pod)
    };
    let service_of = |slice: &Object| {
        let is_ours = slice.metadata.label(MANAGED_BY) == Some(MANAGER);
        let namespace = slice.metadata.key().namespace().filter(|_| is_ours);
        let service = namespace.zip(slice.metadata.label(SERVICE));
        service.map(|(namespace, name)| ObjectKey::namespaced(namespace, name)).into_iter().collect()
    };
    let controller = Controller::new("endpointslice", &context.informer(SERVICES))
        .watches(&context.informer(PODS), selecting)
        .watches(&context.informer(ENDPOINT_SLICES), service_of)
        .concurrency(4);
    let keeper =
        Keeper { members, slices: context.reader(ENDPOINT_SLICES), api: context.api(ENDPOINT_SLICES) };
    context.run(controller, keeper);
}

struct Keeper {
    members: Members,
    slices: Reader<Slice>,
    api: DynamicApi,
}

impl Reconcile for Keeper {
    async fn reconcile(&self, request: Request) -> Result<Action, Error> {
        let Some(namespace) = request.key().namespace() else { return Ok(Action::await_change()) };
        let api = self.api.clone().namespace(namespace);
        let service = self.members.services.get(request.key())?;
        let ours = LabelSelector::from_labels([(SERVICE, request.key().name()), (MANAGED_BY, MANAGER)])?;
        let listed = self.slices.namespace(namespace).list(&ours).items()?;
        let present: Vec<Slice> = listed
            .iter()
            .filter(|slice| !slice.metadata.is_terminating())
            .map(|slice| Slice::clone(slice))
            .collect();
        let Some(service) = service else {
            for slice in &present {
                delete(&api, slice).await?;
            }
            return Ok(Action::await_change());
        };
        let Some(members) = self.members.of(&service) else { return Ok(Action::await_change()) };
        if service.metadata.is_terminating() {
            return Ok(Action::await_change());
        }
        let plan = plan(&present, &members, service.spec.publish_not_ready_addresses);
        let common = Common {
            labels: labels(&service, &[(SERVICE, &service.metadata.name), (MANAGED_BY, MANAGER)]),
            time: trigger_time(&service, &members),
            service: &service,
        };
        // Creates come first, so that clients never see an endpoint vanish that only moves.
        for (ports, endpoints) in &plan.create {
            let slice = DynamicObject::try_from(common.new_slice(ports, endpoints))?;
            unless_gone(api.create(&slice, &WriteOptions::default()).await)?;
        }
        for (slice, endpoints) in &plan.update {
            if slice.endpoints != *endpoints || slice.metadata.labels != common.labels {
                let patch = common.patch(slice, endpoints);
                let name = &slice.metadata.name;
                let written = api.patch(name, PatchKind::Merge, &patch, &WriteOptions::default()).await;
                unless_gone(written)?;
            }
        }
        for slice in &plan.delete {
            delete(&api, slice).await?;
        }
        Ok(Action::await_change())
    }
}

/// Ignores a write that failed because the namespace is being deleted, or the slice is gone.
fn unless_gone(written: Result<DynamicObject, RequestError>) -> Result<(), Error> {
    match written {
        Err(error) if !error.is_not_found() && !super::is_forbidden(&error) => Err(error.into()),
        _ => Ok(()),
    }
}

async fn delete(api: &DynamicApi, slice: &Slice) -> Result<(), Error> {
    let options = DeleteOptions { uid: Some(slice.metadata.uid.clone()), ..DeleteOptions::default() };
    match api.delete(&slice.metadata.name, &options).await {
        Err(error) if !error.is_not_found() && !error.is_conflict() => Err(error.into()),
        _ => Ok(()),
    }
}

/// The metadata that all slices of a service share.
struct Common<'a> {
    service: &'a Service,
    labels: BTreeMap<String, String>,
    time: Option<String>,
}

impl Common<'_> {
    fn new_slice(&self, ports: &[Port], endpoints: &[Endpoint]) -> serde_json::Value {
        let meta = &self.service.metadata;
        let annotations: BTreeMap<&str, &String> =
            self.time.iter().map(|time| (TRIGGER_TIME, time)).collect();
        json!({
            "apiVersion": ENDPOINT_SLICES.api_version(),
            "kind": ENDPOINT_SLICES.kind,
            "metadata": {
                "generateName": format!("{}-", meta.name),
                "labels": self.labels,
                "annotations": annotations,
                "ownerReferences": [meta.as_controller(SERVICES)],
            },
            "addressType": ADDRESS_TYPE,
            "ports": ports,
            "endpoints": endpoints,
        })
    }

    fn patch(&self, slice: &Slice, endpoints: &[Endpoint]) -> serde_json::Value {
        json!({
            "metadata": {
                "resourceVersion": slice.metadata.resource_version,
                "labels": label_patch(&slice.metadata.labels, &self.labels),
                "annotations": {TRIGGER_TIME: self.time},
            },
            "endpoints": endpoints,
        })
    }
}
