//! Quiet: once changes stop, the actual state converges to the desired one.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kube_core::ResourceExt as _;
use operator_example::registry::{self, REGISTRY};
use operator_example::{FINALIZER, Website, WebsiteSpec};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::timeout;
use watchkeeper_cache::handler::SubscriptionOptions;
use watchkeeper_core::ObjectKey;
use watchkeeper_kinds::api::apps::v1::Deployment;
use watchkeeper_kinds::api::core::v1::ConfigMap;
use watchkeeper_kinds::api::meta::v1::ObjectMeta;
use watchkeeper_kinds::{Api, Client, Object as _, TypedFactory};

/// Time limit.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The actual state on the server, by name.
pub(crate) struct There {
    websites: BTreeMap<String, Website>,
    deployments: BTreeMap<String, Deployment>,
    registrations: BTreeMap<String, ConfigMap>,
}

/// Waits until the actual state is the desired one. The factory is that of the test.
pub(crate) async fn comes(
    client: &Client,
    factory: &TypedFactory,
    namespace: &str,
    wanted: &BTreeMap<String, WebsiteSpec>,
) -> There {
    let mut websites = factory.of::<Website>().subscribe(SubscriptionOptions::default());
    let mut deployments = factory.apps_v1().deployments().subscribe(SubscriptionOptions::default());
    let mut registrations = registry::registrations(factory).subscribe(SubscriptionOptions::default());
    factory.start();
    let mut wrong = Vec::new();
    let comes = async {
        loop {
            let there = There::read(client, namespace).await;
            wrong = there.differs_from(namespace, wanted);
            if wrong.is_empty() {
                return there;
            }
            tokio::select! {
                _ = websites.next() => {}
                _ = deployments.next() => {}
                _ = registrations.next() => {}
            }
        }
    };
    match timeout(TIMEOUT, comes).await {
        Ok(there) => there,
        Err(_) => panic!("after {TIMEOUT:?}:\n{}", wrong.join("\n")),
    }
}

impl There {
    pub(crate) async fn read(client: &Client, namespace: &str) -> Self {
        Self {
            websites: all(&Api::namespaced(client, namespace), Website::name_any).await,
            deployments: all(&Api::namespaced(client, namespace), |it: &Deployment| it.name().to_owned())
                .await,
            registrations: all(&Api::namespaced(client, REGISTRY), |it: &ConfigMap| it.name().to_owned())
                .await,
        }
    }

    /// Returns the resource version of every object.
    pub(crate) fn versions(&self) -> BTreeSet<(String, String)> {
        fn of<'a, K>(
            what: &'a str,
            all: &'a BTreeMap<String, K>,
            version: impl Fn(&K) -> String + 'a,
        ) -> impl Iterator<Item = (String, String)> + 'a {
            all.iter().map(move |(name, object)| (format!("{what}/{name}"), version(object)))
        }
        let ours = |metadata: &ObjectMeta| metadata.resource_version.to_string();
        of("website", &self.websites, |it| it.resource_version().unwrap_or_default())
            .chain(of("deployment", &self.deployments, move |it| ours(&it.metadata)))
            .chain(of("registration", &self.registrations, move |it| ours(&it.metadata)))
            .collect()
    }

    /// Returns the differences from the desired state.
    fn differs_from(&self, namespace: &str, wanted: &BTreeMap<String, WebsiteSpec>) -> Vec<String> {
        let mut wrong = Vec::new();
        let registered = |name: &str| registry::name_of(&ObjectKey::namespaced(namespace, name));
        let mut expect = |what: &str, there: Vec<&String>, wanted: Vec<String>| {
            let there: BTreeSet<String> = there.into_iter().cloned().collect();
            let wanted = wanted.into_iter().collect();
            wrong.extend(there.difference(&wanted).map(|name| format!("{what} {name} is left")));
            wrong.extend(wanted.difference(&there).map(|name| format!("{what} {name} is missing")));
        };
        expect("website", self.websites.keys().collect(), wanted.keys().cloned().collect());
        expect("deployment", self.deployments.keys().collect(), wanted.keys().cloned().collect());
        let registrations = self.registrations.keys().filter(|name| name.starts_with(namespace)).collect();
        expect("registration", registrations, wanted.keys().map(|name| registered(name)).collect());
        if wrong.is_empty() {
            for (name, spec) in wanted {
                let registration = &self.registrations[&registered(name)];
                let differ = differ(spec, &self.websites[name], &self.deployments[name], registration);
                wrong.extend(differ.into_iter().map(|it| format!("{name}: {it}")));
            }
        }
        wrong
    }
}

/// Returns how a website and its objects differ from its spec.
fn differ(
    spec: &WebsiteSpec,
    website: &Website,
    deployment: &Deployment,
    registration: &ConfigMap,
) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut same = |what: &str, is: Option<String>, wanted: Option<String>| {
        if is != wanted {
            wrong.push(format!("{what} is {is:?}, expected {wanted:?}"));
        }
    };
    let text = |text: &str| Some(text.to_owned());
    same("spec", Some(format!("{:?}", website.spec)), Some(format!("{spec:?}")));
    same("deletion", website.metadata.deletion_timestamp.as_ref().map(|it| format!("{it:?}")), None);
    same("finalizers", Some(website.finalizers().join(",")), text(FINALIZER));

    let owner = deployment.metadata.owner_references.iter().map(|owner| &*owner.uid).collect::<Vec<_>>();
    same("owner", Some(owner.join(",")), website.uid());
    let run = &deployment.spec;
    let container = &run.template.spec.containers[0];
    let message = container.env.iter().find(|it| it.name == "MESSAGE");
    same("image", text(&container.image), text(&spec.image));
    same("message", message.map(|it| it.value.to_string()), text(&spec.message));
    same("replicas", run.replicas.map(|it| it.to_string()), text(&spec.replicas.to_string()));

    let registered = registration.data.get("message").map(|it| it.to_string());
    same("registration", registered, text(&spec.message));

    let status = website.status.as_ref();
    let generation = |it: Option<i64>| it.map(|it| it.to_string());
    same(
        "generation",
        generation(status.map(|it| it.observed_generation)),
        generation(website.metadata.generation),
    );
    let ready = deployment.status.ready_replicas;
    same("ready", status.map(|it| it.ready_replicas.to_string()), text(&ready.to_string()));
    wrong
}

async fn all<K: Serialize + DeserializeOwned>(
    api: &Api<K>,
    name: impl Fn(&K) -> String,
) -> BTreeMap<String, K> {
    let list = api.list(&Default::default()).await.unwrap();
    list.items.into_iter().map(|object| (name(&object), object)).collect()
}
