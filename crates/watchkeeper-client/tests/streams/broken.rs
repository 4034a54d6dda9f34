//! Broken streams and rejected requests.

use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use watchkeeper_client::streams::{ExecOptions, StreamError};

use crate::world::{World, some, until};

#[tokio::test]
async fn a_lost_connection_is_an_error_not_an_end() {
    let world = World::start().await;
    let options = ExecOptions { stdin: true, ..Default::default() };
    let mut process = world.pod.exec(["cat"], &options).await.unwrap();
    let (mut stdin, mut stdout) = (process.stdin().unwrap(), process.stdout().unwrap());
    stdin.write_all(b"so far").await.unwrap();
    assert_eq!(some(&mut stdout, 6).await, "so far");
    world.kubelet.cut_streams();
    let error = stdout.read_u8().await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "{error}");
    let error = process.wait().await.unwrap_err();
    assert!(matches!(error, StreamError::Lost { .. }), "{error}");
    let request = format!("GET /api/v1/namespaces/{}/pods/web/exec", world.cluster.namespace());
    assert_eq!(error.to_string(), format!("{request}: connection lost"));
    assert!(stdin.write_all(b"more").await.is_err());
    world.wait_until_idle().await;
    world.stop().await;
}

#[tokio::test]
async fn a_lost_forward_is_an_error_for_each_port() {
    let world = World::start().await;
    let mut forward = world.pod.port_forward(&[80]).await.unwrap();
    let mut port = forward.port(80).unwrap();
    until(|| world.kubelet.open_streams() == 1).await;
    world.kubelet.cut_streams();
    assert_eq!(port.read_u8().await.unwrap_err().kind(), std::io::ErrorKind::ConnectionReset);
    assert!(matches!(forward.wait().await.unwrap_err(), StreamError::Lost { .. }));
    world.stop().await;
}

#[tokio::test]
async fn a_rejection_carries_the_servers_status() {
    let world = World::start().await;
    let exec = async |pod: &str, options: &ExecOptions| {
        let pod = world.client.pod(world.cluster.namespace(), pod);
        pod.exec(["cat"], options).await.unwrap_err()
    };
    let error = exec("nobody", &ExecOptions::default()).await;
    assert!(error.status().unwrap().is_not_found());
    assert_eq!(error.to_string(), "pods \"nobody\" not found");

    let side = ExecOptions { container: Some("side".into()), ..Default::default() };
    assert_eq!(exec("web", &side).await.to_string(), "container side is not valid for pod web");

    // The kubelet's error is passed on unchanged.
    let nothing = ExecOptions { stdout: false, stderr: false, ..Default::default() };
    let error = exec("web", &nothing).await;
    assert_eq!(error.status().unwrap().code, 400, "{error}");

    let waiting = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "waiting"},
        "spec": {"containers": [{"name": "main", "image": "app"}]}});
    world.cluster.create(waiting).await.unwrap();
    let error = exec("waiting", &ExecOptions::default()).await;
    assert_eq!(error.to_string(), "pod waiting does not have a host assigned");
    world.wait_until_idle().await;
    world.stop().await;
}

#[tokio::test]
async fn an_unreachable_kubelet_is_named() {
    let world = World::start().await;
    let World { cluster, kubelet, client, pod } = world;
    let node = cluster.object("v1", "Node", "node-1").await.unwrap().unwrap();
    let port = node["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"].as_u64().unwrap();
    kubelet.stop().await;
    let error = pod.exec(["cat"], &ExecOptions::default()).await.unwrap_err();
    let refused = format!("dial tcp 127.0.0.1:{port}: connect: connection refused");
    assert_eq!(error.to_string(), format!("error dialing backend: {refused}"));
    assert_eq!(error.status().unwrap().code, 500);
    let error = pod.log(&Default::default()).await.unwrap_err();
    let url = format!("https://127.0.0.1:{port}/containerLogs/{}/web/main", cluster.namespace());
    assert_eq!(error.to_string(), format!("Get \"{url}\": {refused}"));
    drop((client, pod));
    cluster.stop().await;
}

#[tokio::test]
async fn a_stopping_server_ends_a_running_process() {
    let world = World::start().await;
    let mut process = world.pod.exec(["hang"], &ExecOptions::default()).await.unwrap();
    let mut stdout = process.stdout().unwrap();
    until(|| world.kubelet.open_streams() == 1).await;
    let World { cluster, kubelet, client, pod } = world;
    let stopped = tokio::time::timeout(Duration::from_secs(5), cluster.stop()).await;
    stopped.expect("a stream does not block the shutdown");
    assert!(stdout.read_u8().await.is_err());
    assert!(process.wait().await.is_err());
    until(|| kubelet.open_streams() == 0).await;
    drop((client, pod));
    kubelet.stop().await;
}
