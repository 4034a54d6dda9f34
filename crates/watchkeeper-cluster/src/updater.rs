//! Updates of whole objects by controllers that read only a part of them.
//!
//! Input: the metadata of the object that the controller has read, and a change.
//! Output: an update of the whole object, unless a newer version exists.

use watchkeeper_cache::Reader;
use watchkeeper_client::dynamic::{DynamicApi, DynamicObject, WriteOptions};
use watchkeeper_client::rest::RequestError;
use watchkeeper_controller::Error;

use crate::context::ControllerContext;
use crate::resource::Resource;
use crate::view::Meta;

/// Reads and updates the objects of a resource.
pub(crate) struct ObjectUpdater {
    resource: Resource,
    objects: Reader<DynamicObject>,
    api: DynamicApi,
}

impl ObjectUpdater {
    pub(crate) fn new(context: &ControllerContext, resource: Resource) -> Self {
        Self { resource, objects: context.reader(resource), api: context.api(resource) }
    }

    pub(crate) fn api(&self, namespace: &str) -> DynamicApi {
        self.api.clone().namespace(namespace)
    }

    /// Writes everything but the status. Returns `None` if another client wrote first, which triggers the
    /// next call.
    pub(crate) async fn update(
        &self,
        of: &Meta,
        change: impl FnOnce(&mut DynamicObject),
    ) -> Result<Option<DynamicObject>, Error> {
        let Some(object) = self.changed(of, change)? else { return Ok(None) };
        let written = self.api(&of.namespace).update(&object, &WriteOptions::default()).await;
        Self::unless_outdated(written)
    }

    /// Writes the status, and the metadata that may be written with it.
    pub(crate) async fn update_status(
        &self,
        of: &Meta,
        change: impl FnOnce(&mut DynamicObject),
    ) -> Result<Option<DynamicObject>, Error> {
        let Some(object) = self.changed(of, change)? else { return Ok(None) };
        let written = self.api(&of.namespace).update_status(&object, &WriteOptions::default()).await;
        Self::unless_outdated(written)
    }

    /// Returns the changed object, or `None` if a newer version exists.
    fn changed(
        &self,
        of: &Meta,
        change: impl FnOnce(&mut DynamicObject),
    ) -> Result<Option<DynamicObject>, Error> {
        let Some(object) = self.objects.get(&of.key())? else { return Ok(None) };
        if object.resource_version() != of.resource_version {
            return Ok(None);
        }
        let mut object = DynamicObject::clone(&object);
        // Items of a list carry no `apiVersion` and `kind`.
        object.set(&["apiVersion"], self.resource.api_version().into());
        object.set(&["kind"], self.resource.kind.into());
        change(&mut object);
        Ok(Some(object))
    }

    /// Turns a conflict into `None`.
    fn unless_outdated(written: Result<DynamicObject, RequestError>) -> Result<Option<DynamicObject>, Error> {
        match written {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.is_conflict() || error.is_not_found() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}
