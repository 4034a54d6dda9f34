//! Whole: objects with all their fields, to write some of them anew.
//!
//! From: a controller that has read a view of an object, and wants some of it otherwise.
//! To:   the server, if the object is still in the version that was read.

use watchkeeper_cache::{Reader, Store};
use watchkeeper_client::dynamic::{DynamicApi, DynamicObject, WriteOptions};
use watchkeeper_client::rest::RequestError;
use watchkeeper_controller::{Failure, Request};

use crate::plane::Plane;
use crate::resource::Resource;
use crate::view::Meta;

/// The objects of a resource.
pub(crate) struct Whole {
    resource: Resource,
    objects: Reader<DynamicObject>,
    api: DynamicApi,
}

impl Whole {
    pub(crate) fn new(plane: &Plane, resource: Resource) -> Self {
        Self { resource, objects: plane.reader(resource), api: plane.api(resource) }
    }

    pub(crate) fn store(&self) -> &Store {
        self.objects.store()
    }

    pub(crate) fn api(&self, namespace: &str) -> DynamicApi {
        self.api.clone().namespace(namespace)
    }

    /// Writes everything but the status; `None` if somebody else was quicker, whose change is heard of.
    pub(crate) async fn update(
        &self,
        request: &Request,
        of: &Meta,
        change: impl FnOnce(&mut DynamicObject),
    ) -> Result<Option<DynamicObject>, Failure> {
        let Some(object) = self.changed(of, change)? else { return Ok(None) };
        let written = self.api(&of.namespace).update(&object, &WriteOptions::default()).await;
        self.heard(request, written)
    }

    /// Writes the status, and what else may be written with it.
    pub(crate) async fn update_status(
        &self,
        request: &Request,
        of: &Meta,
        change: impl FnOnce(&mut DynamicObject),
    ) -> Result<Option<DynamicObject>, Failure> {
        let Some(object) = self.changed(of, change)? else { return Ok(None) };
        let written = self.api(&of.namespace).update_status(&object, &WriteOptions::default()).await;
        self.heard(request, written)
    }

    /// The object of the version that was read, if there is no newer one.
    fn changed(
        &self,
        of: &Meta,
        change: impl FnOnce(&mut DynamicObject),
    ) -> Result<Option<DynamicObject>, Failure> {
        let Some(object) = self.objects.get(&of.key())? else { return Ok(None) };
        if object.resource_version() != of.resource_version {
            return Ok(None);
        }
        let mut object = DynamicObject::clone(&object);
        // What comes in a list does not say so of itself.
        object.set(&["apiVersion"], self.resource.api_version().into());
        object.set(&["kind"], self.resource.kind.into());
        change(&mut object);
        Ok(Some(object))
    }

    fn heard(
        &self,
        request: &Request,
        written: Result<DynamicObject, RequestError>,
    ) -> Result<Option<DynamicObject>, Failure> {
        match written {
            Ok(object) => {
                request.wrote(self.store(), object.resource_version());
                Ok(Some(object))
            }
            Err(error) if error.is_conflict() || error.is_not_found() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}
