//! A cluster, a ready service, and a client of it.

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use http::{HeaderMap, Method, Request, StatusCode};
use serde_json::{Value, json};
use tokio::time::timeout;
use tower_service::Service as _;
use watchkeeper_client::kubeconfig::{Overrides, Sources};
use watchkeeper_client::rest::Content;
use watchkeeper_client::{Client, Config};
use watchkeeper_core::{GroupVersion, ResourceVersion};
use watchkeeper_testkit::TestCluster;
use watchkeeper_web::access::Identity;
use watchkeeper_web::{Catalog, Service};

/// Time limit of every wait.
pub(crate) const LONG: Duration = Duration::from_secs(30);

pub(crate) struct World {
    pub(crate) cluster: TestCluster,
    pub(crate) client: Client,
    pub(crate) service: Service,
    router: Router,
}

pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|why| panic!("{why}: {}", self.text))
    }

    /// Returns the data of a success response.
    pub(crate) fn data(&self) -> Value {
        assert_eq!(self.status, StatusCode::OK, "{}", self.text);
        let mut whole = self.json();
        assert_eq!((&whole["code"], &whole["message"]), (&json!(20000), &json!("success")), "{whole}");
        whole["data"].take()
    }

    /// Returns the message of an error response.
    pub(crate) fn failure(&self, status: u16) -> String {
        assert_eq!(self.status, status, "{}", self.text);
        let whole = self.json();
        assert_eq!(whole["code"], 40000, "{whole}");
        assert_eq!(whole.as_object().unwrap().len(), 2, "{whole}");
        whole["message"].as_str().unwrap().to_owned()
    }
}

impl World {
    /// Creates a cluster with these objects and a ready service.
    pub(crate) async fn of(objects: &[Value]) -> Self {
        Self::with(objects, false).await
    }

    pub(crate) async fn with(objects: &[Value], secrets: bool) -> Self {
        let cluster = TestCluster::start().await.unwrap();
        for object in objects {
            cluster.create(object.clone()).await.unwrap();
        }
        let client = client(&cluster);
        let service = Service::over(Catalog::builder(&client).secrets(secrets).build());
        service.start();
        service.catalog().factory().wait_until_ready(LONG).await.unwrap();
        let router = service.router();
        Self { cluster, client, service, router }
    }

    /// Creates a service that is not started.
    pub(crate) fn idle(cluster: TestCluster) -> Self {
        let client = client(&cluster);
        let service = Service::new(&client);
        let router = service.router();
        Self { cluster, client, service, router }
    }

    pub(crate) fn namespace(&self) -> &str {
        self.cluster.namespace()
    }

    /// Creates an object, and waits until the cache has it.
    pub(crate) async fn create(&self, object: Value, names: (&str, &str, &str)) -> Value {
        let created = self.cluster.create(object).await.unwrap();
        self.seen(names, &created).await;
        created
    }

    /// Waits until the cache has this version of an object.
    pub(crate) async fn seen(&self, (group, version, resource): (&str, &str, &str), object: &Value) {
        let watched = self.service.catalog().watched(group, version, resource).await.unwrap();
        let version = ResourceVersion::from(object["metadata"]["resourceVersion"].as_str().unwrap());
        timeout(LONG, watched.informer.store().wait_for(&version)).await.unwrap();
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.ask(Method::GET, path, &[]).await
    }

    pub(crate) async fn ask(&self, method: Method, path: &str, headers: &[(&str, &str)]) -> Answer {
        let request = Request::builder().method(method).uri(path).extension(Identity::Local);
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        self.send(request.body(Body::empty()).unwrap()).await
    }

    /// Sends a request with another identity than local.
    pub(crate) async fn ask_as(&self, identity: &Identity, path: &str) -> Answer {
        let request = Request::get(path).extension(identity.clone());
        self.send(request.body(Body::empty()).unwrap()).await
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let response = timeout(LONG, self.router.clone().call(request)).await.unwrap().unwrap();
        let (head, body) = response.into_parts();
        let bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap();
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        Answer { status: head.status, headers: head.headers, text }
    }

    /// Lists from the API server, in the service's format: with types, without managedFields.
    pub(crate) async fn listed(
        &self,
        (group, version, resource): (&str, &str, &str),
        query: &[(&str, &str)],
    ) -> Vec<Value> {
        let rest = self.client.rest(&GroupVersion::new(group, version), Content::json());
        let request =
            query.iter().fold(rest.get().resource(resource), |request, (name, value)| match *name {
                "namespace" => request.namespace(value),
                name => request.param(name, *value),
            });
        let mut list: Value = serde_json::from_slice(&request.raw().await.unwrap()).unwrap();
        let kind = list["kind"].as_str().unwrap().strip_suffix("List").unwrap().to_owned();
        let api_version = list["apiVersion"].clone();
        let mut items = match list["items"].take() {
            Value::Array(items) => items,
            none => panic!("{none}"),
        };
        for item in &mut items {
            item["apiVersion"] = api_version.clone();
            item["kind"] = kind.clone().into();
            item["metadata"].as_object_mut().unwrap().remove("managedFields");
        }
        items
    }

    pub(crate) async fn stop(self) {
        self.service.stop().await;
        self.cluster.stop().await;
    }
}

fn client(cluster: &TestCluster) -> Client {
    let sources = Sources::File(cluster.kubeconfig_path().to_owned());
    Client::new(&Config::load(&sources, &Overrides::default()).unwrap()).unwrap()
}

pub(crate) const PODS: (&str, &str, &str) = ("", "v1", "pods");

pub(crate) fn pod(name: &str, app: &str, node: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": app, "name": name}},
           "spec": {"nodeName": node, "containers": [{"name": "c", "image": format!("{app}:1")}, {"name": "d", "image": "side:2"}]}})
}

/// Returns the names of objects, in order.
pub(crate) fn names(objects: &Value) -> Vec<&str> {
    objects.as_array().unwrap().iter().map(|object| object["metadata"]["name"].as_str().unwrap()).collect()
}
