//! Telling: what a controller has done about an object, as events for people who look at it.

use watchkeeper_controller::events::{EventApi, Occurrence, Recorder, Reference};

use crate::plane::Plane;
use crate::resource::Resource;
use crate::view::Meta;

/// Who tells, and of which objects.
#[derive(Debug, Clone)]
pub(crate) struct Telling {
    recorder: Recorder,
    of: Resource,
}

impl Telling {
    /// In the name of a controller. Its events are written as long as the plane's controllers run.
    pub(crate) fn start(plane: &mut Plane, controller: &str, of: Resource) -> Self {
        Self { recorder: plane.recorder(controller, EventApi::Core), of }
    }

    /// Something that was to be expected.
    pub(crate) fn normal(&self, about: &Meta, reason: &str, message: String) {
        self.recorder.record(&self.reference(about), Occurrence::normal(reason, message));
    }

    /// Something that somebody should look at.
    pub(crate) fn warning(&self, about: &Meta, reason: &str, message: String) {
        self.recorder.record(&self.reference(about), Occurrence::warning(reason, message));
    }

    fn reference(&self, about: &Meta) -> Reference {
        Reference {
            api_version: self.of.api_version(),
            kind: self.of.kind.to_owned(),
            namespace: about.namespace.clone(),
            name: about.name.clone(),
            uid: about.uid.clone(),
            resource_version: about.resource_version.clone(),
            field_path: String::new(),
        }
    }
}
