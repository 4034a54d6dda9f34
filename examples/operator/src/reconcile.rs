//! Reconcile: brings one website into order.
//!
//! From: the cache, which may be behind the server.
//! To:   the server. What is written is noted, so that the next call does not see less than this one wrote.
//!
//! - W1: a website is held before anything is registered for it, and let go after that was taken back.
//! - W2: nothing is written that is there already, and nothing is told that was not done.

use std::sync::Arc;

use kube_core::ResourceExt;
use watchkeeper_cache::Reader;
use watchkeeper_controller::events::{Occurrence, Recorder, Reference};
use watchkeeper_controller::{Action, Controller, Failure, Finalizer, Finalizing, Reconcile, Request};
use watchkeeper_kinds::k8s_openapi::api::apps::v1::Deployment;
use watchkeeper_kinds::k8s_openapi::api::core::v1::ConfigMap;
use watchkeeper_kinds::{Api, Client, TypedFactory};

use crate::deployment::{deployment, difference, is_of};
use crate::ensure::ensure;
use crate::registry::{self, REGISTRY, registration, registrations};
use crate::status::status;
use crate::website::Website;

/// Keeps a website until what is registered for it has been taken back (W1).
pub const FINALIZER: &str = "watchkeeper.example/registration";

/// Brings websites into order.
#[derive(Debug, Clone)]
pub struct Websites {
    client: Client,
    finalizer: Finalizer<Website>,
    recorder: Recorder,
    websites: Reader<Website>,
    deployments: Reader<Deployment>,
    registrations: Reader<ConfigMap>,
}

impl Websites {
    /// Creates the reconciler. The factory must come from [`informers`](crate::informers()); the recorder receives an
    /// event for each change.
    pub fn new(client: &Client, factory: &TypedFactory, recorder: &Recorder) -> Self {
        let websites = factory.of::<Website>().lister();
        Self {
            client: client.clone(),
            finalizer: Finalizer::new(FINALIZER, &Api::<Website>::all(client), websites.store()),
            recorder: recorder.clone(),
            websites,
            deployments: factory.apps_v1().deployments().lister(),
            registrations: registrations(factory).lister(),
        }
    }

    /// What calls it: whenever a website, its deployment or its registration may have changed.
    pub fn controller(factory: &TypedFactory) -> Controller {
        Controller::new("websites", &factory.of::<Website>().informer())
            .owns(&factory.apps_v1().deployments().informer())
            .watches(&registrations(factory).informer(), registry::website_of)
            .concurrency(4)
    }
}

impl Reconcile for Websites {
    async fn reconcile(&self, request: Request) -> Result<Action, Failure> {
        let Some(website) = self.websites.get(request.key())? else {
            // It is gone. A write for it may have come late: a former leader's, or one by a cache that was behind.
            if self.registered(&request)?.is_some() {
                self.unregister(&request).await?;
            }
            return Ok(Action::Done);
        };
        let act = async |website| match website {
            Finalizing::Apply(website) => self.bring_about(&request, website).await,
            Finalizing::Cleanup(_) => self.unregister(&request).await, // whatever the cache says
        };
        self.finalizer.run(&request, website, act).await
    }
}

impl Websites {
    /// Makes what is there what is wanted, and says so.
    async fn bring_about(&self, request: &Request, website: Arc<Website>) -> Result<Action, Failure> {
        let registrations = Api::namespaced(&self.client, REGISTRY);
        let wanted = registration(request.key(), &website);
        let registered = self.registered(request)?;
        if let Some(written) = ensure(&registrations, registered.as_deref(), &wanted).await? {
            wrote(request, &self.registrations, &written);
        }

        let there = self.deployments.get(request.key())?;
        if there.as_ref().is_some_and(|there| !is_of(there, &website)) {
            let taken = "the deployment of this name is somebody else's";
            self.tell(&website, Occurrence::warning("Taken", taken))?;
            return Err(Failure::retry(taken));
        }
        let deployments = Api::namespaced(&self.client, request.key().namespace().unwrap_or_default());
        let written = ensure(&deployments, there.as_deref(), &deployment(&website)?).await?;
        if let Some(written) = &written {
            wrote(request, &self.deployments, written);
            self.tell(&website, difference(there.as_deref(), written))?;
        }
        self.say(request, website, written.as_ref().or(there.as_deref())).await
    }

    /// Writes the status, where it says something new.
    async fn say(
        &self,
        request: &Request,
        website: Arc<Website>,
        deployment: Option<&Deployment>,
    ) -> Result<Action, Failure> {
        let status = Some(status(&website, deployment));
        if website.status != status {
            let websites = Api::namespaced(&self.client, request.key().namespace().unwrap_or_default());
            // In the version that was read: what is said of an older one is refused.
            let said = Website { status, ..Arc::unwrap_or_clone(website) };
            let written = websites.update_status(&said, &Default::default()).await?;
            wrote(request, &self.websites, &written);
        }
        Ok(Action::Done)
    }

    fn tell(&self, website: &Website, what: Occurrence) -> Result<(), Failure> {
        self.recorder.record(&Reference::of_object(website)?, what.action("Reconcile"));
        Ok(())
    }

    fn registered(&self, request: &Request) -> Result<Option<Arc<ConfigMap>>, Failure> {
        Ok(self.registrations.namespace(REGISTRY).get(&registry::name_of(request.key()))?)
    }

    async fn unregister(&self, request: &Request) -> Result<Action, Failure> {
        let registrations = Api::<ConfigMap>::namespaced(&self.client, REGISTRY);
        match registrations.delete(&registry::name_of(request.key()), &Default::default()).await {
            Err(error) if !error.is_not_found() => Err(error.into()),
            _ => Ok(Action::Done),
        }
    }
}

/// The next call for this key waits until the cache has this.
fn wrote<K: ResourceExt>(request: &Request, cache: &Reader<K>, written: &K) {
    request.wrote(cache.store(), written.resource_version().unwrap_or_default().as_str());
}
