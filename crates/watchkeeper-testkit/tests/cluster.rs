//! A test cluster, through its public API.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;

use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use watchkeeper_apiserver::server::ApiServer;
use watchkeeper_core::{ListWatch as _, ResourceVersion, WatchEvent, WatchFrom, WatchRequest};
use watchkeeper_testkit::{Requests, TestCluster};

fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"k": "v"}})
}

/// Waits until nothing listens on an address.
async fn is_free(address: SocketAddr) {
    while TcpStream::connect(address).await.is_ok() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_cluster_has_a_namespace_and_a_private_kubeconfig_for_it() {
    let cluster = TestCluster::start().await.unwrap();
    let namespace = cluster.object("v1", "Namespace", cluster.namespace()).await.unwrap().unwrap();
    assert_eq!((&namespace["kind"], &namespace["status"]["phase"]), (&json!("Namespace"), &json!("Active")));
    let path = cluster.kubeconfig_path().to_owned();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let text = std::fs::read_to_string(&path).unwrap();
    for part in [cluster.url(), cluster.token(), &format!("namespace: {}", cluster.namespace())] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    assert!(cluster.ca_pem().unwrap().starts_with("-----BEGIN CERTIFICATE-----"));
    cluster.stop().await;
    assert!(!path.exists() && !path.parent().unwrap().exists());
}

#[tokio::test]
async fn objects_are_created_and_rejected_as_by_the_server() {
    let cluster = TestCluster::start().await.unwrap();
    let stored = cluster.create(config_map("a")).await.unwrap();
    assert_eq!((&stored["kind"], &stored["apiVersion"]), (&json!("ConfigMap"), &json!("v1")));
    assert_eq!(stored["metadata"]["namespace"], cluster.namespace());
    assert!(stored["metadata"]["uid"].is_string());
    assert_eq!(cluster.object("v1", "ConfigMap", "a").await.unwrap(), Some(stored));
    assert_eq!(cluster.object("v1", "ConfigMap", "b").await.unwrap(), None);

    let status = cluster.create(config_map("a")).await.unwrap_err();
    assert!(status.is_already_exists(), "{status}");
    let mut unknown = config_map("b");
    unknown["bogus"] = 1.into();
    assert_eq!(cluster.create(unknown).await.unwrap_err().code, 400);
    let status = cluster.create(json!({"apiVersion": "v1", "kind": "Widget"})).await.unwrap_err();
    assert_eq!(status.message, r#"no kind "Widget" is registered for version "v1""#);
    assert!(cluster.create(json!([])).await.is_err());

    let other = cluster.fresh_namespace().await.unwrap();
    assert_ne!(other, cluster.namespace());
    let mut elsewhere = config_map("a");
    elsewhere["metadata"]["namespace"] = other.as_str().into();
    assert_eq!(cluster.create(elsewhere).await.unwrap()["metadata"]["namespace"], other);
    cluster.stop().await;
}

#[tokio::test]
async fn clusters_are_independent() {
    let (one, two) = tokio::join!(TestCluster::start(), TestCluster::start());
    let (one, two) = (one.unwrap(), two.unwrap());
    assert_ne!(one.url(), two.url());
    assert_ne!(one.namespace(), two.namespace());
    assert_ne!(one.token(), two.token());
    one.create(config_map("a")).await.unwrap();
    assert_eq!(two.object("v1", "ConfigMap", "a").await.unwrap(), None);
    one.stop().await;
    two.create(config_map("a")).await.unwrap();
    two.stop().await;
}

#[tokio::test]
async fn a_cluster_that_is_dropped_leaves_nothing_behind() {
    let cluster = TestCluster::start().await.unwrap();
    let (address, directory) = (cluster.server().address(), cluster.directory().to_owned());
    std::fs::write(directory.join("mine"), "").unwrap();
    assert!(TcpStream::connect(address).await.is_ok());
    drop(cluster);
    assert!(!directory.exists());
    is_free(address).await;
}

#[tokio::test]
async fn an_in_process_watch_receives_created_objects() {
    let cluster = TestCluster::of(ApiServer::builder().plain_http()).await.unwrap();
    assert_eq!(cluster.ca_pem(), None);
    let source = cluster.server().source("", "v1", "configmaps", Some(cluster.namespace())).unwrap();
    let from: ResourceVersion = cluster.server().store().current().await.unwrap().into();
    let mut events = source.watch(WatchRequest::new(WatchFrom::After(from))).await.unwrap();
    cluster.create(config_map("a")).await.unwrap();
    let Some(Ok(WatchEvent::Added(object))) = events.next().await else { panic!("no event") };
    assert_eq!(object.metadata.key().name(), "a");
    assert_eq!(cluster.faults().open_watches(&Requests::any()), 0, "faults affect HTTP requests only");
    cluster.compact().await.unwrap();
    cluster.stop().await;
}

#[test]
fn a_blocking_cluster_needs_no_async_code() {
    let cluster = TestCluster::blocking().unwrap();
    let stored = cluster.block_on(cluster.create(config_map("a"))).unwrap();
    assert_eq!(stored["metadata"]["namespace"], cluster.namespace());
    let address = cluster.server().address();
    assert!(std::net::TcpStream::connect(address).is_ok());
    let path = cluster.kubeconfig_path().to_owned();
    cluster.stop();
    assert!(!path.exists() && std::net::TcpStream::connect(address).is_err());
}

#[tokio::test]
async fn a_blocking_cluster_can_be_dropped_in_async_code() {
    let cluster = tokio::task::spawn_blocking(TestCluster::blocking).await.unwrap().unwrap();
    let (address, path) = (cluster.server().address(), cluster.kubeconfig_path().to_owned());
    drop(cluster);
    assert!(!path.exists());
    is_free(address).await;
}
