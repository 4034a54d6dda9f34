//! What `deploy/` has: the manifest in a cluster of ours and in a real one, and what its service account may read.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::ffi::OsStr;
use std::path::Path;
use std::process::Output;

use tempfile::TempDir;
use tokio::process::Command;
use watchkeeper_apiserver::server::ApiServer;
use watchkeeper_cluster::Cluster as Living;
use watchkeeper_oracle::{Binaries, Cluster};

const MANIFEST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/watchkeeper.yaml");
const ACCOUNT: &str = "--as=system:serviceaccount:watchkeeper:watchkeeper";

/// Standard output of what must succeed.
fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

async fn kubectl(kubeconfig: &Path, arguments: impl IntoIterator<Item: AsRef<OsStr>>) -> Output {
    let mut command = Command::new(Binaries::get().unwrap().path("kubectl"));
    command.env("KUBECONFIG", kubeconfig).env("KUBECACHEDIR", kubeconfig.with_extension("cache"));
    command.args(arguments).kill_on_drop(true).output().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_deployment_becomes_available_on_a_cluster_of_ours() {
    let server = ApiServer::builder().start().await.unwrap();
    let living = Living::builder().start(&server).await.unwrap();
    let home = TempDir::new().unwrap();
    let kubeconfig = home.path().join("kubeconfig");
    server.kubeconfig().write(&kubeconfig).unwrap();
    let applied = said(&kubectl(&kubeconfig, ["apply", "-f", MANIFEST]).await);
    assert_eq!(applied.lines().count(), 6, "{applied}");
    assert!(applied.lines().all(|line| line.ends_with(" created")), "{applied}");
    let again = said(&kubectl(&kubeconfig, ["apply", "-f", MANIFEST]).await);
    assert!(again.lines().all(|line| line.ends_with(" unchanged")), "{again}");
    let rollout = ["-n", "watchkeeper", "rollout", "status", "deployment/watchkeeper", "--timeout=60s"];
    let rolled = said(&kubectl(&kubeconfig, rollout).await);
    assert!(rolled.contains("successfully rolled out"), "{rolled}");
    living.stop().await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_service_account_may_read_all_that_is_built_in_except_secrets() {
    let cluster = Cluster::start().await.unwrap();
    let tried = said(&cluster.kubectl(["create", "namespace", "watchkeeper"]).await.unwrap());
    assert!(tried.ends_with(" created\n"), "{tried}");
    // Every admission plugin has its say.
    let tried = said(&cluster.kubectl(["apply", "--dry-run=server", "-f", MANIFEST]).await.unwrap());
    assert_eq!(tried.lines().filter(|line| line.ends_with("(server dry run)")).count(), 6, "{tried}");
    let applied = cluster.kubectl(["apply", "-f", MANIFEST]).await.unwrap();
    said(&applied);
    // The namespace enforces the strictest of the pod security standards.
    let warned = String::from_utf8(applied.stderr).unwrap();
    assert!(!warned.contains("would violate"), "{warned}");

    let resources = ["api-resources", "--verbs=list", "-o", "name"];
    let resources = said(&cluster.kubectl(resources).await.unwrap());
    assert!(resources.lines().count() > 50, "{resources}");
    let can = async |verb: &str, resource: &str| {
        // What stands after a slash is a name to kubectl.
        let (resource, below) = resource.split_once('/').unwrap_or((resource, ""));
        let below = format!("--subresource={below}");
        let asked = ["auth", "can-i", verb, resource, &below, "--all-namespaces", ACCOUNT];
        let output = cluster.kubectl(asked).await.unwrap();
        String::from_utf8(output.stdout).unwrap().trim() == "yes"
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
