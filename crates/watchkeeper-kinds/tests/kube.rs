//! kube-rs over our transport, against the embedded server.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;

use futures_util::{StreamExt as _, TryStreamExt as _, pin_mut};
use http_body_util::BodyExt as _;
use hyper_util::rt::TokioIo;
use kube_client::Api;
use kube_client::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube_runtime::watcher;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use watchkeeper_client::kubeconfig::{Overrides, Sources};
use watchkeeper_client::{Client, Config};
use watchkeeper_kinds::k8s_openapi::api::core::v1::ConfigMap;
use watchkeeper_testkit::TestCluster;

fn client_of(cluster: &TestCluster) -> Client {
    let sources = Sources::File(cluster.kubeconfig_path().to_owned());
    Client::new(&Config::load(&sources, &Overrides::default()).unwrap()).unwrap()
}

fn map(name: &str, value: &str) -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.to_owned());
    map.data = Some(BTreeMap::from([("k".to_owned(), value.to_owned())]));
    map
}

#[tokio::test]
async fn kube_writes_reads_and_watches_over_one_connection() {
    let cluster = TestCluster::start().await.unwrap();
    let client = client_of(&cluster);
    let kube = watchkeeper_kinds::kube_client(&client);
    assert_eq!(kube.default_namespace(), cluster.namespace());
    let maps: Api<ConfigMap> = Api::default_namespaced(kube);

    let created = maps.create(&PostParams::default(), &map("a", "1")).await.unwrap();
    assert_eq!(created.metadata.namespace.as_deref(), Some(cluster.namespace()));
    assert_eq!(maps.get("a").await.unwrap(), created);
    let again = maps.create(&PostParams::default(), &map("a", "1")).await.unwrap_err();
    assert!(matches!(again, kube_client::Error::Api(status) if status.is_already_exists()));
    let list = maps.list(&ListParams::default()).await.unwrap();
    assert_eq!(list.items, std::slice::from_ref(&created));

    let version = created.metadata.resource_version.unwrap();
    let changes = maps.watch(&WatchParams::default(), &version).await.unwrap();
    pin_mut!(changes);
    let patch = Patch::Merge(serde_json::json!({"data": {"k": "2"}}));
    let patched = maps.patch("a", &PatchParams::default(), &patch).await.unwrap();
    maps.delete("a", &DeleteParams::default()).await.unwrap();
    let Some(WatchEvent::Modified(seen)) = changes.try_next().await.unwrap() else {
        panic!("expected a modification")
    };
    assert_eq!(seen, patched);
    let Some(WatchEvent::Deleted(seen)) = changes.try_next().await.unwrap() else {
        panic!("expected a deletion")
    };
    assert_eq!(seen.metadata.name.as_deref(), Some("a"));
    assert_eq!(client.transport().connections(), 1);
    cluster.stop().await;
}

#[tokio::test]
async fn a_kube_watcher_shares_the_connection() {
    let cluster = TestCluster::start().await.unwrap();
    let client = client_of(&cluster);
    let maps: Api<ConfigMap> = Api::default_namespaced(watchkeeper_kinds::kube_client(&client));
    maps.create(&PostParams::default(), &map("a", "1")).await.unwrap();

    let events = watcher(maps.clone(), watcher::Config::default());
    pin_mut!(events);
    let mut seen = Vec::new();
    while seen.last().is_none_or(|last: &String| !last.starts_with("delete")) {
        match events.next().await.unwrap().unwrap() {
            watcher::Event::Init => seen.push("init".to_owned()),
            watcher::Event::InitApply(map) => seen.push(format!("initial {}", map.metadata.name.unwrap())),
            watcher::Event::InitDone => {
                seen.push("init done".to_owned());
                maps.create(&PostParams::default(), &map("b", "2")).await.unwrap();
            }
            watcher::Event::Apply(map) => {
                seen.push(format!("apply {}", map.metadata.name.unwrap()));
                maps.delete("b", &DeleteParams::default()).await.unwrap();
            }
            watcher::Event::Delete(map) => seen.push(format!("delete {}", map.metadata.name.unwrap())),
        }
    }
    assert_eq!(seen, ["init", "initial a", "init done", "apply b", "delete b"]);
    assert_eq!(client.transport().connections(), 1);
    cluster.stop().await;
}

/// An echo server over the upgrade protocol of kube-rs's `exec`.
async fn echo_server() -> std::net::SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let service =
            hyper::service::service_fn(|mut request: http::Request<hyper::body::Incoming>| async move {
                let protocol = request.headers()[http::header::UPGRADE].clone();
                let upgrade = hyper::upgrade::on(&mut request);
                tokio::spawn(async move {
                    let mut stream = TokioIo::new(upgrade.await.unwrap());
                    let mut received = [0; 5];
                    stream.read_exact(&mut received).await.unwrap();
                    stream.write_all(&received).await.unwrap();
                });
                http::Response::builder()
                    .status(101)
                    .header(http::header::CONNECTION, "Upgrade")
                    .header(http::header::UPGRADE, protocol)
                    .body(http_body_util::Empty::<bytes::Bytes>::new())
            });
        let connection =
            hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
        connection.with_upgrades().await.unwrap();
    });
    address
}

#[tokio::test]
async fn kube_takes_over_upgraded_connections() {
    let address = echo_server().await;
    let config = Config::new(format!("http://{address}").parse().unwrap());
    let kube = watchkeeper_kinds::kube_client(&Client::new(&config).unwrap());
    let request = http::Request::get("/api/v1/namespaces/a/pods/b/exec?command=cat")
        .header(http::header::CONNECTION, "Upgrade")
        .header(http::header::UPGRADE, "websocket")
        .body(kube_client::client::Body::empty())
        .unwrap();
    let response = kube.send(request).await.unwrap();
    assert_eq!(response.status(), 101);
    let mut stream = TokioIo::new(hyper::upgrade::on(response).await.unwrap());
    stream.write_all(b"hello").await.unwrap();
    let mut received = [0; 5];
    stream.read_exact(&mut received).await.unwrap();
    assert_eq!(&received, b"hello");
}

/// Logs and watches are delivered as they are written.
#[tokio::test]
async fn bodies_are_streamed() {
    let cluster = TestCluster::start().await.unwrap();
    let client = client_of(&cluster);
    let kube = watchkeeper_kinds::kube_client(&client);
    let path = format!("/api/v1/namespaces/{}/configmaps?watch=true", cluster.namespace());
    let request = http::Request::get(path).body(kube_client::client::Body::empty()).unwrap();
    let mut body = kube.send(request).await.unwrap().into_body();
    let maps: Api<ConfigMap> = Api::default_namespaced(kube);
    maps.create(&PostParams::default(), &map("a", "1")).await.unwrap();
    let frame = body.frame().await.unwrap().unwrap().into_data().unwrap();
    assert!(frame.starts_with(br#"{"type":"ADDED""#), "{frame:?}");
    cluster.stop().await;
}
