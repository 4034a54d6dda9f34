//! The embedded server, the service over it, and writes to it.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use watchkeeper_client::Client;
use watchkeeper_client::config::Config;
use watchkeeper_client::dynamic::{DynamicApi, DynamicObject};
use watchkeeper_client::kubeconfig::{Overrides, Sources};
use watchkeeper_client::rest::PatchKind;
use watchkeeper_testkit::TestCluster;
use watchkeeper_web::Service;
use watchkeeper_web::listen::{Options, Server};
use watchkeeper_web::stream::Limits;

use crate::judge::Judge;
use crate::reader::Reader;

pub(crate) struct World {
    pub(crate) cluster: TestCluster,
    pub(crate) client: Client,
    pub(crate) service: Service,
    pub(crate) address: SocketAddr,
    server: JoinHandle<()>,
    stop: CancellationToken,
}

impl World {
    pub(crate) async fn start() -> Self {
        Self::limited(Limits::default()).await
    }

    pub(crate) async fn limited(limits: Limits) -> Self {
        Self::of(limits, Options::default()).await
    }

    pub(crate) async fn of(limits: Limits, options: Options) -> Self {
        let (cluster, client) = Self::cluster().await;
        Self::over(cluster, client.clone(), client, limits, options).await
    }

    /// Creates a world with an authorizer that can revoke permissions.
    pub(crate) async fn judged(options: Options) -> (Self, Judge) {
        let (cluster, client) = Self::cluster().await;
        let (judge, judged) = Judge::before(&client, cluster.token()).await;
        (Self::over(cluster, client, judged, Limits::default(), options).await, judge)
    }

    pub(crate) async fn cluster() -> (TestCluster, Client) {
        let cluster = TestCluster::start().await.unwrap();
        let file = Sources::File(cluster.kubeconfig_path().to_owned());
        let client = Client::new(&Config::load(&file, &Overrides::default()).unwrap()).unwrap();
        (cluster, client)
    }

    /// Creates a world whose service uses its own client.
    pub(crate) async fn over(
        cluster: TestCluster,
        client: Client,
        served: Client,
        limits: Limits,
        options: Options,
    ) -> Self {
        let service = Service::new(&served);
        service.streams().limit(limits);
        service.start();
        let server = Server::bind(&service, options).await.unwrap();
        let (address, stop) = (server.address(), CancellationToken::new());
        let server = tokio::spawn(server.run(stop.clone().cancelled_owned()));
        Self { cluster, client, service, address, server, stop }
    }

    pub(crate) async fn stop(self) {
        self.service.stop().await;
        self.stop.cancel();
        self.server.await.unwrap();
        self.cluster.stop().await;
    }

    pub(crate) fn namespace(&self) -> &str {
        self.cluster.namespace()
    }

    /// Returns `namespace/name`.
    pub(crate) fn key(&self, name: &str) -> String {
        format!("{}/{name}", self.namespace())
    }

    pub(crate) fn maps(&self) -> DynamicApi {
        self.client.dynamic(&"v1".parse().unwrap(), "configmaps").namespace(self.namespace())
    }

    pub(crate) async fn create(&self, name: &str, app: &str) -> Value {
        let mut map = DynamicObject::new("v1", "ConfigMap", name);
        map.set(&["metadata", "labels", "app"], app.into());
        map.set(&["data", "of"], name.into());
        serde_json::to_value(self.maps().create(&map, &Default::default()).await.unwrap()).unwrap()
    }

    pub(crate) async fn label(&self, name: &str, app: &str) {
        self.merge(name, &json!({"metadata": {"labels": {"app": app}}})).await;
    }

    pub(crate) async fn merge(&self, name: &str, patch: &Value) {
        self.maps().patch(name, PatchKind::Merge, patch, &Default::default()).await.unwrap();
    }

    pub(crate) async fn delete(&self, name: &str) {
        self.maps().delete(name, &Default::default()).await.unwrap();
    }

    /// Returns the server's objects, by key.
    pub(crate) async fn served(&self) -> BTreeMap<String, Value> {
        let list = self.maps().list(&Default::default()).await.unwrap();
        let items = list.items.iter().map(|item| serde_json::to_value(item).unwrap());
        items.map(|item| (self.key(item["metadata"]["name"].as_str().unwrap()), item)).collect()
    }

    /// Opens a stream with these subscriptions.
    pub(crate) async fn open(&self, subs: &[Value]) -> Reader {
        let query: Vec<_> = subs.iter().map(|sub| format!("sub={}", escaped(&sub.to_string()))).collect();
        Reader::open(self.address, &format!("?{}", query.join("&")), None).await
    }

    /// Replaces the subscriptions of a stream; returns the status and body of the response.
    pub(crate) async fn put(&self, stream: &str, body: &str) -> (u16, Value) {
        self.put_with(stream, body, "").await
    }

    /// As [`put`](Self::put), with these header lines.
    pub(crate) async fn put_with(&self, stream: &str, body: &str, lines: &str) -> (u16, Value) {
        let length = body.len();
        let request = format!(
            "PUT /v1/stream/{stream} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\nConnection: close\r\n{lines}\r\n{body}"
        );
        let mut connection = TcpStream::connect(self.address).await.unwrap();
        connection.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).await.unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), serde_json::from_str(body).unwrap())
    }

    pub(crate) async fn subscribe(&self, stream: &str, subs: &[Value]) {
        let (status, answer) = self.put(stream, &json!({"subscriptions": subs}).to_string()).await;
        assert_eq!((status, &answer["code"]), (200, &20000.into()), "{answer}");
    }
}

/// Creates a subscription to the config maps of the namespace, except those of the server itself.
pub(crate) fn maps(world: &World, id: &str, labels: &str) -> Value {
    json!({"id": id, "resource": "configmaps", "group": "core", "version": "v1", "namespace": world.namespace(),
           "labelSelector": labels})
}

pub(crate) fn escaped(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}
