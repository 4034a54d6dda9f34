//! Volumes: a PersistentVolume is in use while it is bound to a claim.

use watchkeeper_cache::Reader;
use watchkeeper_client::dynamic::DynamicObject;
use watchkeeper_controller::{Controller, Error};

use super::references::References;
use super::{Protection, Users};
use crate::context::ControllerContext;
use crate::resource::{PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES};

const FINALIZER: &str = "kubernetes.io/pv-protection";

pub(super) fn start(context: &mut ControllerContext) {
    let (volumes, claims) =
        (context.informer(PERSISTENT_VOLUMES), context.informer(PERSISTENT_VOLUME_CLAIMS));
    let bound_to = References::new(&claims, &["spec.volumeName"]);
    let controller =
        Controller::new("pv-protection", &volumes).watches(&claims, move |claim| bound_to.of(claim));
    let users = Claims { cached: context.reader(PERSISTENT_VOLUME_CLAIMS) };
    context.run(controller, Protection::new(context, PERSISTENT_VOLUMES, FINALIZER, users));
}

/// The claims that a volume may be bound to.
struct Claims {
    cached: Reader<DynamicObject>,
}

impl Users for Claims {
    /// In a real cluster the volume binder changes the phase from `Bound` to `Released` when the claim is gone.
    /// There is no binder here, so a volume whose claim is gone counts as released.
    async fn in_use(&self, volume: &DynamicObject) -> Result<bool, Error> {
        let is_bound = volume.text(&["status", "phase"]) == "Bound";
        let claim = |field| volume.text(&["spec", "claimRef", field]);
        if !is_bound || claim("name").is_empty() || claim("namespace").is_empty() {
            return Ok(is_bound);
        }
        let bound = self.cached.namespace(claim("namespace")).get(claim("name"))?;
        Ok(bound.is_some_and(|bound| ["", bound.text(&["metadata", "uid"])].contains(&claim("uid"))))
    }
}
