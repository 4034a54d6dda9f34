//! Classes: a VolumeAttributesClass is in use while a volume or a claim names it.

use watchkeeper_client::dynamic::DynamicObject;
use watchkeeper_controller::{Controller, Error};

use super::references::References;
use super::{Protection, Users};
use crate::context::ControllerContext;
use crate::resource::{PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, VOLUME_ATTRIBUTES_CLASSES};

const FINALIZER: &str = "kubernetes.io/vac-protection";

/// Fields in which a claim names the class it requests, has, or is being changed to.
const IN_CLAIMS: [&str; 3] = [
    "spec.volumeAttributesClassName",
    "status.currentVolumeAttributesClassName",
    "status.modifyVolumeStatus.targetVolumeAttributesClassName",
];
const IN_VOLUMES: [&str; 1] = ["spec.volumeAttributesClassName"];

pub(super) fn start(context: &mut ControllerContext) {
    let (volumes, claims) =
        (context.informer(PERSISTENT_VOLUMES), context.informer(PERSISTENT_VOLUME_CLAIMS));
    let by_volumes = References::new(&volumes, &IN_VOLUMES);
    let by_claims = References::new(&claims, &IN_CLAIMS);
    let users = Referents { volumes: by_volumes.clone(), claims: by_claims.clone() };
    let controller = Controller::new("vac-protection", &context.informer(VOLUME_ATTRIBUTES_CLASSES))
        .watches(&volumes, move |volume| by_volumes.of(volume))
        .watches(&claims, move |claim| by_claims.of(claim));
    context.run(controller, Protection::new(context, VOLUME_ATTRIBUTES_CLASSES, FINALIZER, users));
}

/// The volumes and claims that may name a class.
struct Referents {
    volumes: References,
    claims: References,
}

impl Users for Referents {
    async fn in_use(&self, class: &DynamicObject) -> Result<bool, Error> {
        Ok(self.volumes.any_to(class.name()) || self.claims.any_to(class.name()))
    }
}
