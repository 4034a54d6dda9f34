//! Records what a controller does to an object as events.

use watchkeeper_controller::events::{Event, EventApi, EventRecorder, Reference};

use crate::context::ControllerContext;
use crate::resource::Resource;
use crate::view::Meta;

/// A recorder for objects of one resource.
#[derive(Debug, Clone)]
pub(crate) struct Telling {
    recorder: EventRecorder,
    of: Resource,
}

impl Telling {
    /// Creates a recorder in the name of a controller. Its events are written until the cluster stops.
    pub(crate) fn start(context: &mut ControllerContext, controller: &str, of: Resource) -> Self {
        Self { recorder: context.recorder(controller, EventApi::Core), of }
    }

    /// Records an event of type `Normal`.
    pub(crate) fn normal(&self, about: &Meta, reason: &str, message: String) {
        self.recorder.record(&self.reference(about), Event::normal(reason, message));
    }

    /// Records an event of type `Warning`.
    pub(crate) fn warning(&self, about: &Meta, reason: &str, message: String) {
        self.recorder.record(&self.reference(about), Event::warning(reason, message));
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
