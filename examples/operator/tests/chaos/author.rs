//! Author: creates, changes and deletes websites, and interferes with the operator's objects.

use std::collections::BTreeMap;

use fastrand::Rng;
use operator_example::registry::{self, REGISTRY};
use operator_example::{Website, WebsiteSpec};
use serde_json::json;
use watchkeeper_client::rest::{PatchKind, RequestError};
use watchkeeper_core::ObjectKey;
use watchkeeper_kinds::api::apps::v1::Deployment;
use watchkeeper_kinds::api::core::v1::ConfigMap;
use watchkeeper_kinds::{Api, Client};

/// Number of website names.
const NAMES: u64 = 50;

/// Writes websites, and knows the desired state.
pub(crate) struct Author {
    client: Client,
    namespace: String,
    random: Rng,
    wanted: BTreeMap<String, WebsiteSpec>,
}

impl Author {
    pub(crate) fn new(client: &Client, namespace: &str, random: Rng) -> Self {
        let (client, namespace) = (client.clone(), namespace.to_owned());
        Self { client, namespace, random, wanted: BTreeMap::new() }
    }

    /// Returns the desired specs by name.
    pub(crate) fn wanted(&self) -> &BTreeMap<String, WebsiteSpec> {
        &self.wanted
    }

    /// Creates all websites.
    pub(crate) async fn create_all(&mut self) {
        for number in 0..NAMES {
            self.create(&format!("site-{number}")).await;
        }
    }

    /// Performs one random action on one website.
    pub(crate) async fn act(&mut self) {
        let name = format!("site-{}", self.random.u64(..NAMES));
        if !self.wanted.contains_key(&name) {
            return self.create(&name).await;
        }
        match self.random.u64(..12) {
            0..3 => self.delete(&name).await,
            3..9 => self.change(&name).await,
            9 => self.change_deployment(&name).await,
            10 => {
                let deployments = Api::<Deployment>::namespaced(&self.client, &self.namespace);
                ignore_not_found(deployments.delete(&name, &Default::default()).await);
            }
            _ => {
                let registrations = Api::<ConfigMap>::namespaced(&self.client, REGISTRY);
                let name = registry::name_of(&ObjectKey::namespaced(&self.namespace, &name));
                ignore_not_found(registrations.delete(&name, &Default::default()).await);
            }
        }
    }

    async fn create(&mut self, name: &str) {
        let spec = WebsiteSpec {
            image: format!("website:{}", self.random.u64(..100)),
            replicas: i32::try_from(self.random.u64(..10)).unwrap(),
            message: format!("message {}", self.random.u64(..1000)),
        };
        let website = Website::new(name, spec.clone());
        match self.websites().create(&website, &Default::default()).await {
            Err(error) if error.is_already_exists() => {} // its predecessor is still being deleted
            created => {
                assert_eq!(created.unwrap().spec, spec);
                self.wanted.insert(name.to_owned(), spec);
            }
        }
    }

    async fn change(&mut self, name: &str) {
        let number = self.random.u64(..1000);
        let change = match self.random.u64(..3) {
            0 => json!({"image": format!("website:{number}")}),
            1 => json!({"replicas": number % 10}),
            _ => json!({"message": format!("message {number}")}),
        };
        let patch = json!({"spec": change});
        let changed = self.websites().patch(name, PatchKind::Merge, &patch, &Default::default()).await;
        self.wanted.insert(name.to_owned(), changed.unwrap().spec);
    }

    async fn delete(&mut self, name: &str) {
        self.websites().delete(name, &Default::default()).await.unwrap();
        self.wanted.remove(name);
    }

    /// Changes a field that the operator has applied.
    async fn change_deployment(&self, name: &str) {
        let deployments = Api::<Deployment>::namespaced(&self.client, &self.namespace);
        let patch = json!({"spec": {"replicas": 77}});
        ignore_not_found(deployments.patch(name, PatchKind::Merge, &patch, &Default::default()).await);
    }

    fn websites(&self) -> Api<Website> {
        Api::namespaced(&self.client, &self.namespace)
    }
}

/// Ignores objects that the operator has not created yet.
fn ignore_not_found<T>(outcome: Result<T, RequestError>) {
    match outcome {
        Err(error) if error.is_not_found() => {}
        outcome => drop(outcome.unwrap()),
    }
}
