//! The manifest in `deploy/`, on the embedded cluster and on the real server, and the permissions of its service account.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use tempfile::TempDir;
use watchkeeper_apiserver::server::ApiServer;
use watchkeeper_cluster::Cluster as EmbeddedCluster;
use watchkeeper_oracle::{Cluster, Kubectl};

const MANIFEST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/watchkeeper.yaml");
const ACCOUNT: &str = "--as=system:serviceaccount:watchkeeper:watchkeeper";

#[tokio::test(flavor = "multi_thread")]
async fn the_deployment_becomes_available_on_the_embedded_cluster() {
    let server = ApiServer::builder().start().await.unwrap();
    let embedded = EmbeddedCluster::builder().start(&server).await.unwrap();
    let home = TempDir::new().unwrap();
    let kubeconfig = home.path().join("kubeconfig");
    server.kubeconfig().write(&kubeconfig).unwrap();
    let kubectl = Kubectl::new(&kubeconfig, home.path()).unwrap();
    let applied = kubectl.stdout(["apply", "-f", MANIFEST], "").await.unwrap();
    assert_eq!(applied.lines().count(), 6, "{applied}");
    assert!(applied.lines().all(|line| line.ends_with(" created")), "{applied}");
    let again = kubectl.stdout(["apply", "-f", MANIFEST], "").await.unwrap();
    assert!(again.lines().all(|line| line.ends_with(" unchanged")), "{again}");
    let rollout = ["-n", "watchkeeper", "rollout", "status", "deployment/watchkeeper", "--timeout=60s"];
    let rolled = kubectl.stdout(rollout, "").await.unwrap();
    assert!(rolled.contains("successfully rolled out"), "{rolled}");
    embedded.stop().await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_service_account_can_read_every_built_in_resource_except_secrets() {
    let cluster = Cluster::start().await.unwrap();
    let kubectl = cluster.kubectl();
    let created = kubectl.stdout(["create", "namespace", "watchkeeper"], "").await.unwrap();
    assert!(created.ends_with(" created\n"), "{created}");
    // A dry run passes all admission plugins.
    let dry_run = kubectl.stdout(["apply", "--dry-run=server", "-f", MANIFEST], "").await.unwrap();
    assert_eq!(dry_run.lines().filter(|line| line.ends_with("(server dry run)")).count(), 6, "{dry_run}");
    let applied = kubectl.run(["apply", "-f", MANIFEST], "").await.unwrap();
    // The namespace enforces the restricted pod security standard.
    assert!(applied.code == Some(0) && !applied.error.contains("would violate"), "{applied:?}");

    let resources = kubectl.stdout(["api-resources", "--verbs=list", "-o", "name"], "").await.unwrap();
    assert!(resources.lines().count() > 50, "{resources}");
    let can = async |verb: &str, resource: &str| {
        // kubectl takes the part after a slash as the name of an object.
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        let subresource = format!("--subresource={subresource}");
        let arguments = ["auth", "can-i", verb, resource, &subresource, "--all-namespaces", ACCOUNT];
        kubectl.run(arguments, "").await.unwrap().out.trim() == "yes"
    };
    let mut forbidden = Vec::new();
    for resource in resources.lines() {
        if !can("list", resource).await {
            forbidden.push(resource);
        }
    }
    assert_eq!(forbidden, ["secrets"]);
    for (verb, resource, expected) in [
        ("watch", "pods", true),
        ("get", "secrets", false),
        ("watch", "secrets", false),
        ("create", "tokenreviews.authentication.k8s.io", true),
        ("create", "subjectaccessreviews.authorization.k8s.io", true),
        ("create", "pods", false),
        ("update", "deployments.apps", false),
        ("delete", "namespaces", false),
        ("create", "serviceaccounts/token", false),
        ("create", "pods/exec", false),
        ("get", "pods/exec", false),
        ("get", "nodes/proxy", false),
        ("impersonate", "users", false),
        ("escalate", "clusterroles.rbac.authorization.k8s.io", false),
    ] {
        assert_eq!(can(verb, resource).await, expected, "{verb} {resource}");
    }
}
