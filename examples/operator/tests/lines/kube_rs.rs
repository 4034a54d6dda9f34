//! The operator of `src/reconcile.rs`, written with kube-rs: for comparison.
//!
//! Unlike the original it writes the deployment and the registration in every call, reads the deployment from the
//! server, may read a website from before its last write, and does not clean up after late writes.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use kube_client::Client;
use kube_client::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube_core::{Resource as _, ResourceExt as _};
use kube_runtime::controller::{Action, Config, Controller};
use kube_runtime::events::{Event, EventType, Recorder, Reporter};
use kube_runtime::finalizer::{self, finalizer};
use kube_runtime::reflector::ObjectRef;
use kube_runtime::watcher;
use operator_example::deployment::{deployment, difference, is_of};
use operator_example::registry::{self, REGISTRY, registration};
use operator_example::{FINALIZER, MANAGER, Website, status};
use watchkeeper_core::ObjectKey;
use watchkeeper_kinds::k8s_openapi::api::apps::v1::Deployment;
use watchkeeper_kinds::k8s_openapi::api::core::v1::ConfigMap;
use watchkeeper_kinds::{ConversionError, api};

/// State shared by all calls.
pub(crate) struct Context {
    client: Client,
    recorder: Recorder,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Kube(#[from] kube_client::Error),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error(transparent)]
    Finalizer(#[from] Box<finalizer::Error<Error>>),
    #[error(transparent)]
    Conversion(#[from] ConversionError),
    #[error("a deployment of this name exists, and is not controlled by this website")]
    Taken,
}

/// Runs the controller until SIGTERM or SIGINT.
pub(crate) async fn run(client: Client) {
    let recorder = Recorder::new(client.clone(), Reporter::from(MANAGER.to_owned()));
    let registrations = Api::<ConfigMap>::namespaced(client.clone(), REGISTRY);
    let selected = watcher::Config::default().labels(registry::SELECTOR);
    Controller::new(Api::<Website>::all(client.clone()), watcher::Config::default())
        .owns(Api::<Deployment>::all(client.clone()), watcher::Config::default())
        .watches(registrations, selected, website_of)
        .with_config(Config::default().concurrency(4))
        .shutdown_on_signal()
        .run(reconcile, error_policy, Arc::new(Context { client, recorder }))
        .for_each(|_| std::future::ready(()))
        .await;
}

fn website_of(registration: ConfigMap) -> Option<ObjectRef<Website>> {
    let name = registration.name_any();
    name.split_once('.').map(|(namespace, name)| ObjectRef::new(name).within(namespace))
}

fn error_policy(_: Arc<Website>, _: &Error, _: Arc<Context>) -> Action {
    Action::requeue(Duration::from_secs(5))
}

async fn reconcile(website: Arc<Website>, context: Arc<Context>) -> Result<Action, Error> {
    let websites = Api::namespaced(context.client.clone(), &website.namespace().unwrap_or_default());
    let outcome = finalizer(&websites, FINALIZER, website, |event| async {
        match event {
            finalizer::Event::Apply(website) => context.apply(&websites, website).await,
            finalizer::Event::Cleanup(website) => context.unregister(&website).await,
        }
    });
    Ok(outcome.await.map_err(Box::new)?)
}

impl Context {
    async fn apply(&self, websites: &Api<Website>, website: Arc<Website>) -> Result<Action, Error> {
        let (name, namespace) = (website.name_any(), website.namespace().unwrap_or_default());
        let key = ObjectKey::namespaced(&namespace, &name);
        let apply = PatchParams::apply(MANAGER).force();
        let registrations = Api::<ConfigMap>::namespaced(self.client.clone(), REGISTRY);
        let registration = Patch::Apply(registration(&key, &website));
        registrations.patch(&registry::name_of(&key), &apply, &registration).await?;

        let deployments = Api::<Deployment>::namespaced(self.client.clone(), &namespace);
        let before = deployments.get_opt(&name).await?;
        // The functions that both operators call take the types of `watchkeeper_kinds`.
        let before = before.map(api::apps::v1::Deployment::try_from).transpose()?;
        if before.as_ref().is_some_and(|before| !is_of(before, &website)) {
            return Err(Error::Taken);
        }
        let written = deployments.patch(&name, &apply, &Patch::Apply(deployment(&website)?)).await?;
        let written = api::apps::v1::Deployment::try_from(written)?;
        if before.as_ref().map(|before| &before.metadata.generation) != Some(&written.metadata.generation) {
            let (reason, message) = difference(before.as_ref(), &written);
            let event = Event {
                type_: EventType::Normal,
                reason: reason.to_owned(),
                note: Some(message),
                action: "Reconcile".to_owned(),
                secondary: None,
            };
            self.recorder.publish(&event, &website.object_ref(&())).await?;
        }

        let status = Some(status(&website, Some(&written)));
        if website.status != status {
            let website = Website { status, ..Arc::unwrap_or_clone(website) };
            websites.replace_status(&name, &PostParams::default(), &website).await?;
        }
        Ok(Action::await_change())
    }

    async fn unregister(&self, website: &Website) -> Result<Action, Error> {
        let key = ObjectKey::namespaced(&website.namespace().unwrap_or_default(), &website.name_any());
        let registrations = Api::<ConfigMap>::namespaced(self.client.clone(), REGISTRY);
        match registrations.delete(&registry::name_of(&key), &DeleteParams::default()).await {
            Err(kube_client::Error::Api(status)) if status.is_not_found() => Ok(Action::await_change()),
            Err(error) => Err(error.into()),
            Ok(_) => Ok(Action::await_change()),
        }
    }
}
