//! Slices: where a service is, in pieces of a hundred endpoints.

use std::collections::BTreeMap;

use serde_json::json;
use watchkeeper_cache::Reader;
use watchkeeper_client::dynamic::{DeleteOptions, DynamicApi, DynamicObject, WriteOptions};
use watchkeeper_client::rest::PatchKind;
use watchkeeper_controller::{Action, Controller, Failure, Reconcile, Request};
use watchkeeper_core::{LabelSelector, Object, ObjectKey};

use super::slice_plan::{Endpoint, Slice, plan};
use super::view::{Port, Service};
use super::{Members, TRIGGER_TIME, label_patch, labels, trigger_time};
use crate::plane::Plane;
use crate::resource::{ENDPOINT_SLICES, PODS, SERVICES};

const SERVICE: &str = "kubernetes.io/service-name";
const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";
const MANAGER: &str = "endpointslice-controller.k8s.io";
/// The nodes give out no others.
const ADDRESS_TYPE: &str = "IPv4";

pub(super) fn start(plane: &mut Plane, members: Members) {
    let selecting = {
        let members = members.clone();
        move |pod: &Object| members.selecting(pod)
    };
    let of_its_service = |slice: &Object| {
        let is_ours = slice.head.label(MANAGED_BY) == Some(MANAGER);
        let namespace = slice.head.key().namespace().filter(|_| is_ours);
        let service = namespace.zip(slice.head.label(SERVICE));
        service.map(|(namespace, name)| ObjectKey::namespaced(namespace, name)).into_iter().collect()
    };
    let controller = Controller::new("endpointslice", &plane.informer(SERVICES))
        .watches(&plane.informer(PODS), selecting)
        .watches(&plane.informer(ENDPOINT_SLICES), of_its_service)
        .concurrency(4);
    let keeper = Keeper { members, slices: plane.reader(ENDPOINT_SLICES), api: plane.api(ENDPOINT_SLICES) };
    plane.run(controller, keeper);
}

struct Keeper {
    members: Members,
    slices: Reader<Slice>,
    api: DynamicApi,
}

impl Reconcile for Keeper {
    async fn reconcile(&self, request: Request) -> Result<Action, Failure> {
        let Some(namespace) = request.key().namespace() else { return Ok(Action::Done) };
        let api = self.api.clone().namespace(namespace);
        let service = self.members.services.get(request.key())?;
        let ours = LabelSelector::from_labels([(SERVICE, request.key().name()), (MANAGED_BY, MANAGER)])?;
        let listed = self.slices.namespace(namespace).list(&ours).items()?;
        let present: Vec<Slice> = listed
            .iter()
            .filter(|slice| !slice.metadata.is_going())
            .map(|slice| Slice::clone(slice))
            .collect();
        let Some(service) = service else {
            for slice in &present {
                delete(&api, slice).await?;
            }
            return Ok(Action::Done);
        };
        let Some(members) = self.members.of(&service) else { return Ok(Action::Done) };
        if service.metadata.is_going() {
            return Ok(Action::Done);
        }
        let plan = plan(&present, &members, service.spec.publish_not_ready_addresses);
        let say = Saying {
            labels: labels(&service, &[(SERVICE, &service.metadata.name), (MANAGED_BY, MANAGER)]),
            time: trigger_time(&service, &members),
            service: &service,
        };
        // First those that are new: nobody is to think that endpoints are gone that have only moved.
        for (ports, endpoints) in &plan.create {
            let slice = DynamicObject::try_from(say.one_more(ports, endpoints))?;
            self.wrote(&request, api.create(&slice, &WriteOptions::default()).await)?;
        }
        for (slice, endpoints) in &plan.update {
            if slice.endpoints != *endpoints || slice.metadata.labels != say.labels {
                let patch = say.changed(slice, endpoints);
                let name = &slice.metadata.name;
                let written = api.patch(name, PatchKind::Merge, &patch, &WriteOptions::default()).await;
                self.wrote(&request, written)?;
            }
        }
        for slice in &plan.delete {
            delete(&api, slice).await?;
        }
        Ok(Action::Done)
    }
}

impl Keeper {
    fn wrote(
        &self,
        request: &Request,
        written: Result<DynamicObject, watchkeeper_client::rest::RequestError>,
    ) -> Result<(), Failure> {
        match written {
            Ok(slice) => request.wrote(self.slices.store(), slice.resource_version()),
            // Its namespace is going, or it is itself.
            Err(error) if error.is_not_found() || super::is_forbidden(&error) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}

async fn delete(api: &DynamicApi, slice: &Slice) -> Result<(), Failure> {
    let options = DeleteOptions { uid: Some(slice.metadata.uid.clone()), ..DeleteOptions::default() };
    match api.delete(&slice.metadata.name, &options).await {
        Err(error) if !error.is_not_found() && !error.is_conflict() => Err(error.into()),
        _ => Ok(()),
    }
}

/// What all slices of a service say.
struct Saying<'a> {
    service: &'a Service,
    labels: BTreeMap<String, String>,
    time: Option<String>,
}

impl Saying<'_> {
    fn one_more(&self, ports: &[Port], endpoints: &[Endpoint]) -> serde_json::Value {
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

    fn changed(&self, slice: &Slice, endpoints: &[Endpoint]) -> serde_json::Value {
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
