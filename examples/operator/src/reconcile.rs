//! Reconcile: applies a website's deployment and registration, and writes its status.
//!
//! Input: the cache, which may be behind the server.
//! Output: writes to the server, and events.
//!
//! Invariants:
//! - `reconcile.W1`: a website has the finalizer before anything is registered for it, and loses it only after the
//!   registration was deleted.
//! - `reconcile.W2`: objects that are up to date are not written, and events are recorded only for writes.

use std::sync::Arc;

use kube_core::ResourceExt as _;
use watchkeeper_cache::Reader;
use watchkeeper_controller::events::{Event, EventRecorder, Reference};
use watchkeeper_controller::{Action, Controller, Error, Finalizer, Finalizing, Request};
use watchkeeper_core::ObjectKey;
use watchkeeper_kinds::api::apps::v1::Deployment;
use watchkeeper_kinds::api::core::v1::ConfigMap;
use watchkeeper_kinds::{Api, Client, TypedFactory};

use crate::deployment::{deployment, difference, is_of};
use crate::ensure::ensure;
use crate::registry::{self, REGISTRY, registration, registrations};
use crate::status::status;
use crate::website::Website;

/// Keeps a website until its registration is deleted (`reconcile.W1`).
pub const FINALIZER: &str = "watchkeeper.example/registration";

/// The state that all calls share.
#[derive(Debug)]
pub struct Context {
    client: Client,
    finalizer: Finalizer<Website>,
    recorder: EventRecorder,
    deployments: Reader<Deployment>,
    registrations: Reader<ConfigMap>,
}

/// Returns the controller of websites, their deployments and their registrations.
pub fn controller(factory: &TypedFactory) -> Controller {
    Controller::new("websites", &factory.of::<Website>().informer())
        .owns(&factory.apps_v1().deployments().informer())
        .watches(&registrations(factory).informer(), registry::website_of)
        .concurrency(4)
}

/// Reconciles one website.
///
/// # Errors
/// Returns the error of a request; the call is then retried.
pub async fn reconcile(request: Request, context: Arc<Context>) -> Result<Action, Error> {
    let Some(website) = request.object::<Website>()? else {
        // A late write may have come after the cleanup: by a former leader, or based on a stale cache.
        return context.unregister(request.key()).await;
    };
    let act = async |step| match step {
        Finalizing::Apply(website) => context.apply(request.key(), website).await,
        Finalizing::Cleanup(_) => context.unregister(request.key()).await,
    };
    context.finalizer.run(website, act).await
}

impl Context {
    /// Creates the context. The factory must come from [`informers`](crate::informers()).
    pub fn new(client: &Client, factory: &TypedFactory, recorder: &EventRecorder) -> Self {
        Self {
            client: client.clone(),
            finalizer: Finalizer::new(FINALIZER, &Api::<Website>::all(client)),
            recorder: recorder.clone(),
            deployments: factory.apps_v1().deployments().lister(),
            registrations: registrations(factory).lister(),
        }
    }

    async fn apply(&self, key: &ObjectKey, website: Arc<Website>) -> Result<Action, Error> {
        let registrations = Api::namespaced(&self.client, REGISTRY);
        let registered = self.registrations.namespace(REGISTRY).get(&registry::name_of(key))?;
        ensure(&registrations, registered.as_deref(), &registration(key, &website)).await?;

        let before = self.deployments.get(key)?;
        if before.as_ref().is_some_and(|before| !is_of(before, &website)) {
            return Err("a deployment of this name exists, and is not controlled by this website".into());
        }
        let namespace = website.namespace().unwrap_or_default();
        let deployments = Api::namespaced(&self.client, &namespace);
        let written = ensure(&deployments, before.as_deref(), &deployment(&website)?).await?;
        if let Some(written) = &written {
            let (reason, message) = difference(before.as_deref(), written);
            let event = Event::normal(reason, message).action("Reconcile");
            self.recorder.record(&Reference::of_object(&*website)?, event);
        }

        let status = Some(status(&website, written.as_ref().or(before.as_deref())));
        if website.status != status {
            // With the resource version that was read: a status for an older spec is rejected.
            let website = Website { status, ..Arc::unwrap_or_clone(website) };
            Api::namespaced(&self.client, &namespace).update_status(&website, &Default::default()).await?;
        }
        Ok(Action::await_change())
    }

    async fn unregister(&self, key: &ObjectKey) -> Result<Action, Error> {
        let registrations = Api::<ConfigMap>::namespaced(&self.client, REGISTRY);
        match registrations.delete(&registry::name_of(key), &Default::default()).await {
            Err(error) if !error.is_not_found() => Err(error.into()),
            _ => Ok(Action::await_change()),
        }
    }
}
