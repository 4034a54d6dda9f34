//! The proxy in a plain axum router.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::net::SocketAddr;
use std::time::Duration;

use axum::{Extension, Router};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use watchkeeper_client::kubeconfig::{Overrides, Sources};
use watchkeeper_client::streams::{ExecOptions, Exit};
use watchkeeper_client::{Client, Config};
use watchkeeper_testkit::{Kubelet, TestCluster};
use watchkeeper_web::access::Identity;
use watchkeeper_web::proxy::{Proxy, ProxyPolicy};

/// Time limit of every wait.
const LONG: Duration = Duration::from_secs(60);

/// Serves a router with `axum::serve`.
async fn serve(router: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

fn proxy(cluster: &TestCluster, policy: ProxyPolicy) -> Proxy {
    let sources = Sources::File(cluster.kubeconfig_path().to_owned());
    let client = Client::new(&Config::load(&sources, &Overrides::default()).unwrap()).unwrap();
    Proxy::new(&client, policy).unwrap()
}

/// Sends a request with these header lines; returns the status and the body.
async fn get(address: SocketAddr, path: &str, lines: &str) -> (u16, Value) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{lines}\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut response = String::new();
    timeout(LONG, stream.read_to_string(&mut response)).await.expect("no end").unwrap();
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    let json = body.find('{').map_or(body, |start| &body[start..=body.rfind('}').unwrap()]);
    (head[9..12].parse().unwrap(), serde_json::from_str(json).unwrap_or_default())
}

#[tokio::test]
async fn a_plain_axum_router_passes_upgrades() {
    let cluster = TestCluster::start().await.unwrap();
    let kubelet = Kubelet::start(&cluster, "node-1").await.unwrap();
    let spec = json!({"nodeName": "node-1", "containers": [{"name": "main", "image": "app"}]});
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": spec});
    cluster.create(pod).await.unwrap();
    let proxy = proxy(&cluster, ProxyPolicy::default().allow_upgrades());
    let router = Router::new().nest_service("/cluster", proxy).layer(Extension(Identity::Local));
    let address = serve(router).await;

    let mut config = Config::new(format!("http://{address}/cluster").parse().unwrap());
    config.proxy = watchkeeper_client::config::Proxy::Direct;
    let pod = Client::new(&config).unwrap().pod(cluster.namespace(), "web");
    let mut process = pod.exec(["cat"], &ExecOptions { stdin: true, ..Default::default() }).await.unwrap();
    let (mut stdin, mut stdout) = (process.stdin().unwrap(), process.stdout().unwrap());
    let mut echo = [0; 9];
    for _ in 0..2 {
        stdin.write_all(b"to & fro\n").await.unwrap();
        timeout(LONG, stdout.read_exact(&mut echo)).await.expect("no echo").unwrap();
        assert_eq!(&echo, b"to & fro\n");
    }
    stdin.shutdown().await.unwrap();
    assert_eq!(timeout(LONG, process.wait()).await.expect("no end").unwrap(), Exit::Success);

    cluster.stop().await;
    kubelet.stop().await;
}

#[tokio::test]
async fn requests_need_credentials_and_a_path_of_the_api_server() {
    let cluster = TestCluster::start().await.unwrap();
    let proxy = proxy(&cluster, ProxyPolicy::default());
    let local = serve(Router::new().fallback_service(proxy.clone()).layer(Extension(Identity::Local))).await;
    let open = serve(Router::new().fallback_service(proxy)).await;

    let (status, version) = get(local, "/version", "").await;
    assert_eq!((status, version["major"].as_str()), (200, Some("1")));
    let (status, answer) = get(local, "/metrics", "").await;
    assert_eq!((status, &answer["message"]), (404, &json!("/metrics is not a path of the API server")));
    let (status, _) = get(local, "/api/v1/secrets", "").await;
    assert_eq!(status, 403);

    let (status, answer) = get(open, "/version", "").await;
    assert_eq!((status, &answer["reason"]), (401, &json!("Unauthorized")));
    let token = format!("Authorization: Bearer {}\r\n", cluster.token());
    assert_eq!(get(open, "/api/v1/namespaces", &token).await.0, 200);
    cluster.stop().await;
}
