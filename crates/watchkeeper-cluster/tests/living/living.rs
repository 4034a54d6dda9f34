//! A running cluster with a client, and helpers that wait for a state.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::time::Duration;

use serde_json::{Value, json};
use watchkeeper_apiserver::server::ApiServer;
use watchkeeper_cache::reader::Notification;
use watchkeeper_cache::wait::{Seen, until};
use watchkeeper_cache::{Informer, InformerFactory};
use watchkeeper_client::config::{Authorities, Authorization};
use watchkeeper_client::dynamic::{DeleteOptions, DynamicApi, DynamicObject, WriteOptions};
use watchkeeper_client::rest::PatchKind;
use watchkeeper_client::{Client, Config};
use watchkeeper_cluster::{Builder, Cluster};
use watchkeeper_core::{Collection, ObjectKey};

/// Time limit of every wait, generous for a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A running cluster.
pub(crate) struct Living {
    pub(crate) server: ApiServer,
    pub(crate) cluster: Cluster,
    pub(crate) client: Client,
    /// Informers for the test itself.
    factory: InformerFactory,
}

/// A resource as `v1/pods` or `apps/v1/deployments`, with its kind.
pub(crate) struct Of(pub(crate) &'static str, pub(crate) &'static str);

pub(crate) const NAMESPACES: Of = Of("v1/namespaces", "Namespace");
pub(crate) const SERVICE_ACCOUNTS: Of = Of("v1/serviceaccounts", "ServiceAccount");
pub(crate) const PODS: Of = Of("v1/pods", "Pod");
pub(crate) const NODES: Of = Of("v1/nodes", "Node");
pub(crate) const SERVICES: Of = Of("v1/services", "Service");
pub(crate) const ENDPOINTS: Of = Of("v1/endpoints", "Endpoints");
pub(crate) const ENDPOINT_SLICES: Of = Of("discovery.k8s.io/v1/endpointslices", "EndpointSlice");
pub(crate) const EVENTS: Of = Of("v1/events", "Event");
pub(crate) const CONFIG_MAPS: Of = Of("v1/configmaps", "ConfigMap");

impl Living {
    pub(crate) async fn start() -> Self {
        Self::with(Cluster::builder()).await
    }

    pub(crate) async fn with(builder: Builder) -> Self {
        let server = ApiServer::builder().start().await.unwrap();
        let cluster = builder.start(&server).await.unwrap();
        let mut config = Config::new(server.url().parse().unwrap());
        config.authorities = Authorities::Pem(server.ca_pem().unwrap().to_owned());
        config.authorization = Authorization::Token(server.token().into());
        let client = Client::new(&config).unwrap();
        let factory = InformerFactory::new(client.clone());
        Self { server, cluster, client, factory }
    }

    pub(crate) async fn stop(self) {
        self.factory.stop().await;
        self.cluster.stop().await;
        self.server.stop().await;
    }

    /// Returns an API handle for a namespace; an empty one means all namespaces, or cluster scope.
    pub(crate) fn api(&self, of: &Of, namespace: &str) -> DynamicApi {
        let (group_version, plural) = of.0.rsplit_once('/').unwrap();
        self.client.dynamic(&group_version.parse().unwrap(), plural).namespace(namespace)
    }

    pub(crate) async fn create(&self, of: &Of, namespace: &str, mut object: Value) -> Value {
        let (group_version, _) = of.0.rsplit_once('/').unwrap();
        object["apiVersion"] = group_version.into();
        object["kind"] = of.1.into();
        let object = DynamicObject::try_from(object).unwrap();
        self.api(of, namespace).create(&object, &WriteOptions::default()).await.unwrap().into()
    }

    /// Applies a merge patch.
    pub(crate) async fn patch(&self, of: &Of, namespace: &str, name: &str, patch: Value) -> Value {
        let api = self.api(of, namespace);
        api.patch(name, PatchKind::Merge, &patch, &WriteOptions::default()).await.unwrap().into()
    }

    pub(crate) async fn get(&self, of: &Of, namespace: &str, name: &str) -> Option<Value> {
        self.api(of, namespace).get_opt(name).await.unwrap().map(Value::from)
    }

    pub(crate) async fn list(&self, of: &Of, namespace: &str) -> Vec<Value> {
        let all = self.api(of, namespace).list(&Default::default()).await.unwrap();
        all.items.into_iter().map(Value::from).collect()
    }

    pub(crate) async fn delete(&self, of: &Of, namespace: &str, name: &str, options: &DeleteOptions) {
        self.api(of, namespace).delete(name, options).await.unwrap();
    }

    pub(crate) async fn namespace(&self, name: &str) {
        self.create(&NAMESPACES, "", json!({"metadata": {"name": name}})).await;
    }

    /// Waits for a condition on one object, which may be absent.
    pub(crate) async fn until(
        &self,
        of: &Of,
        namespace: &str,
        name: &str,
        is_so: impl Fn(Option<&Value>) -> bool,
    ) {
        let key = match namespace {
            "" => ObjectKey::cluster(name),
            namespace => ObjectKey::namespaced(namespace, name),
        };
        self.until_all(of, |all| is_so(all.iter().find(|(at, _)| *at == key).map(|(_, value)| value))).await;
    }

    /// Waits for a condition on all objects of a resource.
    pub(crate) async fn until_all(&self, of: &Of, is_so: impl Fn(&[(ObjectKey, Value)]) -> bool) {
        let informer = self.informer(of);
        let reader = informer.reader::<Value>(watchkeeper_cache::Keep::Encoded);
        let all = || -> Vec<(ObjectKey, Value)> {
            let now = informer.store().snapshot();
            let decode = |key: &ObjectKey| reader.get(key).unwrap();
            let keys = now.iter().map(|object| object.metadata.key().clone());
            keys.filter_map(|key| decode(&key).map(|value| (key, Value::clone(&value)))).collect()
        };
        // The cache is checked as a whole, whichever object has changed.
        let outcome =
            until(&informer, Some(TIMEOUT), |_: Seen<'_>| Ok::<_, Infallible>(is_so(&all()).then_some(())));
        if let Err(error) = outcome.await {
            panic!(
                "{} of {}: {error}\nthere is: {}",
                of.1,
                of.0,
                json!(all().iter().map(|(_, value)| value).collect::<Vec<_>>())
            );
        }
    }

    /// Waits until a condition holds for `count` objects. Evaluates each object once per change, so there may
    /// be many.
    pub(crate) async fn until_count(&self, of: &Of, count: usize, is_so: impl Fn(&Value) -> bool) {
        let informer = self.informer(of);
        informer.start();
        let reader = informer.reader::<Value>(watchkeeper_cache::Keep::Encoded);
        let mut changes = reader.changes(Default::default());
        let mut so = BTreeSet::new();
        let name = |object: &Value| object["metadata"]["name"].as_str().unwrap().to_owned();
        let counting = async {
            while so.len() < count {
                match changes.next().await.unwrap() {
                    Notification::Added { new, .. } | Notification::Updated { new, .. } if is_so(&new) => {
                        so.insert(name(&new));
                    }
                    Notification::Added { new: it, .. }
                    | Notification::Updated { new: it, .. }
                    | Notification::Deleted { old: it, .. } => {
                        so.remove(&name(&it));
                    }
                    Notification::Resync(_) => {}
                    Notification::Undecodable { error, .. } => panic!("{error}"),
                }
            }
        };
        let counted = tokio::time::timeout(TIMEOUT, counting).await;
        assert!(counted.is_ok(), "{} of {count} {}", so.len(), of.0);
    }

    pub(crate) fn informer(&self, of: &Of) -> Informer {
        let (group_version, plural) = of.0.rsplit_once('/').unwrap();
        let (group, version) = group_version.rsplit_once('/').unwrap_or(("", group_version));
        self.factory.informer(&Collection::new(group, version, plural, of.1))
    }
}
