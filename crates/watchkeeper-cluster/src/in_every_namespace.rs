//! Keeps one object in every namespace, and recreates it when it is deleted.

use serde::Deserialize;
use serde_json::Value;
use watchkeeper_cache::Reader;
use watchkeeper_client::dynamic::{DynamicApi, DynamicObject, WriteOptions};
use watchkeeper_client::rest::RequestError;
use watchkeeper_controller::{Action, Controller, Error, Request};
use watchkeeper_core::ObjectKey;

use crate::context::{ControllerContext, Reconcile};
use crate::resource::{NAMESPACES, Resource};
use crate::view::Meta;

/// The object that every namespace must have.
pub(crate) struct InEveryNamespace {
    pub(crate) resource: Resource,
    pub(crate) name: &'static str,
    /// The field that is restored when it is changed.
    pub(crate) content: Option<&'static str>,
    pub(crate) object: Value,
}

#[derive(Deserialize)]
struct Namespace {
    metadata: Meta,
}

impl InEveryNamespace {
    pub(crate) fn start(self, controller: &str, context: &mut ControllerContext) {
        let name = self.name;
        let namespace_of = move |object: &watchkeeper_core::Object| {
            let key = object.metadata.key();
            let namespace = key.namespace().filter(|_| key.name() == name);
            namespace.map(ObjectKey::cluster).into_iter().collect()
        };
        let controller = Controller::new(controller, &context.informer(NAMESPACES))
            .watches(&context.informer(self.resource), namespace_of);
        let namespaces = context.reader(NAMESPACES);
        let (objects, api) = (context.reader(self.resource), context.api(self.resource));
        context.run(controller, Keeper { wanted: self, namespaces, objects, api });
    }
}

struct Keeper {
    wanted: InEveryNamespace,
    namespaces: Reader<Namespace>,
    objects: Reader<DynamicObject>,
    api: DynamicApi,
}

impl Reconcile for Keeper {
    async fn reconcile(&self, request: Request) -> Result<Action, Error> {
        let namespace = request.key().name();
        let is_there =
            self.namespaces.get(namespace)?.is_some_and(|namespace| !namespace.metadata.is_terminating());
        if !is_there {
            return Ok(Action::await_change());
        }
        let present = self.objects.namespace(namespace).get(self.wanted.name)?;
        let api = self.api.clone().namespace(namespace);
        let written = match present {
            None => {
                let object = DynamicObject::try_from(self.wanted.object.clone())?;
                api.create(&object, &WriteOptions::default()).await
            }
            Some(present) => {
                let Some(field) = self.wanted.content else { return Ok(Action::await_change()) };
                let wanted = &self.wanted.object[field];
                if present.get(&[field]) == Some(wanted) {
                    return Ok(Action::await_change());
                }
                let mut object = DynamicObject::clone(&present);
                object.set(&[field], wanted.clone());
                api.update(&object, &WriteOptions::default()).await
            }
        };
        match written {
            Ok(_) => {}
            // Another client wrote first: its change triggers the next call.
            Err(error) if is_outdated(&error) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(Action::await_change())
    }
}

fn is_outdated(error: &RequestError) -> bool {
    error.is_already_exists() || error.is_conflict() || error.is_not_found()
}
