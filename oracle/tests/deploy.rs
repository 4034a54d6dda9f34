//! What `deploy/` has: the manifest in a cluster of ours and in a real one, and what its service account may read.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use tempfile::TempDir;
use watchkeeper_apiserver::server::ApiServer;
use watchkeeper_cluster::Cluster as Living;
use watchkeeper_oracle::{Cluster, Kubectl};

const MANIFEST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/watchkeeper.yaml");
const ACCOUNT: &str = "--as=system:serviceaccount:watchkeeper:watchkeeper";

#[tokio::test(flavor = "multi_thread")]
async fn the_deployment_becomes_available_on_a_cluster_of_ours() {
    let server = ApiServer::builder().start().await.unwrap();
    let living = Living::builder().start(&server).await.unwrap();
    let home = TempDir::new().unwrap();
    let kubeconfig = home.path().join("kubeconfig");
    server.kubeconfig().write(&kubeconfig).unwrap();
    let kubectl = Kubectl::new(&kubeconfig, home.path()).unwrap();
    let applied = kubectl.says(["apply", "-f", MANIFEST], "").await.unwrap();
    assert_eq!(applied.lines().count(), 6, "{applied}");
    assert!(applied.lines().all(|line| line.ends_with(" created")), "{applied}");
    let again = kubectl.says(["apply", "-f", MANIFEST], "").await.unwrap();
    assert!(again.lines().all(|line| line.ends_with(" unchanged")), "{again}");
    let rollout = ["-n", "watchkeeper", "rollout", "status", "deployment/watchkeeper", "--timeout=60s"];
    let rolled = kubectl.says(rollout, "").await.unwrap();
    assert!(rolled.contains("successfully rolled out"), "{rolled}");
    living.stop().await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_service_account_may_read_all_that_is_built_in_except_secrets() {
    let cluster = Cluster::start().await.unwrap();
    let kubectl = cluster.kubectl();
    let tried = kubectl.says(["create", "namespace", "watchkeeper"], "").await.unwrap();
    assert!(tried.ends_with(" created\n"), "{tried}");
    // Every admission plugin has its say.
    let tried = kubectl.says(["apply", "--dry-run=server", "-f", MANIFEST], "").await.unwrap();
    assert_eq!(tried.lines().filter(|line| line.ends_with("(server dry run)")).count(), 6, "{tried}");
    let applied = kubectl.run(["apply", "-f", MANIFEST], "").await.unwrap();
    // The namespace enforces the strictest of the pod security standards.
    assert!(applied.code == Some(0) && !applied.error.contains("would violate"), "{applied:?}");

    let resources = kubectl.says(["api-resources", "--verbs=list", "-o", "name"], "").await.unwrap();
    assert!(resources.lines().count() > 50, "{resources}");
    let can = async |verb: &str, resource: &str| {
        // What stands after a slash is a name to kubectl.
        let (resource, below) = resource.split_once('/').unwrap_or((resource, ""));
        let below = format!("--subresource={below}");
        let asked = ["auth", "can-i", verb, resource, &below, "--all-namespaces", ACCOUNT];
        kubectl.run(asked, "").await.unwrap().out.trim() == "yes"
    };
    let mut refused = Vec::new();
    for resource in resources.lines() {
        if !can("list", resource).await {
            refused.push(resource);
        }
    }
    assert_eq!(refused, ["secrets"]);
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
