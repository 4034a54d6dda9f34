//! `watchkeeper tree`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod running;

use running::Running;
use serde_json::{Value, json};
use watchkeeper_testkit::{BlockingCluster, Fault, TestCluster, Verb};

/// A deployment with two replica sets and their pods, in the middle of a rollout.
struct Shop {
    cluster: BlockingCluster,
}

impl Shop {
    fn open() -> Self {
        let shop = Self { cluster: TestCluster::blocking().unwrap() };
        let labels = json!({"app": "web"});
        let template =
            json!({"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
        let spec = |replicas: i64| json!({"replicas": replicas, "selector": {"matchLabels": labels}, "template": template});
        let web = shop.create("apps/v1", "Deployment", "web", None, json!({"spec": spec(2)}));
        shop.create("apps/v1", "ReplicaSet", "web-1", Some(&web), json!({"spec": spec(0)}));
        let new = shop.create("apps/v1", "ReplicaSet", "web-2", Some(&web), json!({"spec": spec(2)}));
        for name in ["web-2-a", "web-2-b"] {
            shop.create("v1", "Pod", name, Some(&new), json!({"spec": template["spec"]}));
        }
        shop.create("v1", "ConfigMap", "settings", Some(&web), json!({}));
        shop.create("v1", "Secret", "lone", None, json!({}));
        shop
    }

    fn create(&self, api_version: &str, kind: &str, name: &str, owner: Option<&Value>, more: Value) -> Value {
        let mut object = more;
        object["apiVersion"] = api_version.into();
        object["kind"] = kind.into();
        object["metadata"] = json!({"name": name});
        if let Some(owner) = owner {
            object["metadata"]["ownerReferences"] = json!([{
                "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"],
                "uid": owner["metadata"]["uid"], "controller": kind != "ConfigMap",
            }]);
        }
        self.cluster.block_on(self.cluster.create(object)).unwrap()
    }

    /// Returns the output without ages, and standard error.
    fn tree(&self, arguments: &[&str]) -> (Vec<String>, Vec<String>) {
        let (status, out, errors) =
            Running::start(self.cluster.kubeconfig_path(), &[&["tree"], arguments].concat()).ended();
        assert_eq!(status.code(), Some(0), "{errors:?}");
        let cut = |line: &String| {
            line.rsplit_once(' ').map_or(line.as_str(), |(line, _)| line).trim_end().to_owned()
        };
        (out.iter().map(cut).collect(), errors)
    }

    fn complaint(&self, arguments: &[&str]) -> String {
        let (status, out, errors) = Running::start(self.cluster.kubeconfig_path(), arguments).ended();
        assert_eq!((status.code(), out), (Some(1), vec![]), "{errors:?}");
        errors.join("\n")
    }
}

const WEB: [&str; 7] = [
    "NAME                   HEALTH        STATUS",
    "Deployment/web         progressing   0/2 ready, 0 updated",
    "|-ConfigMap/settings   -             -",
    "|-ReplicaSet/web-1     healthy       0/0 ready",
    "`-ReplicaSet/web-2     progressing   0/2 ready",
    "  |-Pod/web-2-a        progressing   0/1 ready",
    "  `-Pod/web-2-b        progressing   0/1 ready",
];

#[test]
fn owned_objects_are_drawn_below_their_owner() {
    let shop = Shop::open();
    assert_eq!(shop.tree(&["deployment/web"]), (WEB.map(str::to_owned).to_vec(), vec![]));
    assert_eq!(shop.tree(&["deploy", "web"]).0, WEB);
    let pod = shop.tree(&["pod/web-2-b"]).0;
    assert_eq!(pod[1..], ["Pod/web-2-b   progressing   0/1 ready"]);
    assert_eq!(shop.tree(&["pod/web-2-b", "--up"]).0, WEB, "its topmost owner is the deployment");
}

#[test]
fn without_an_argument_the_whole_namespace_is_shown() {
    let shop = Shop::open();
    let forest = shop.tree(&[]).0;
    assert_eq!(forest[1..7], WEB[1..]);
    assert_eq!(forest[7..], ["Secret/lone            -             -"]);
    let (status, out, errors) =
        Running::start(shop.cluster.kubeconfig_path(), &["tree", "-n", "nowhere"]).ended();
    assert_eq!((status.code(), out), (Some(0), vec![]));
    assert_eq!(errors, ["No resources found in nowhere namespace."]);
}

#[test]
fn trees_can_be_json_or_yaml() {
    let shop = Shop::open();
    let (_, out, _) =
        Running::start(shop.cluster.kubeconfig_path(), &["tree", "deploy/web", "-o", "json"]).ended();
    let root: Value = serde_json::from_str(&out.join("\n")).unwrap();
    assert_eq!(
        (&root["group"], &root["resource"], &root["health"]),
        (&json!("apps"), &json!("deployments"), &json!("progressing"))
    );
    assert_eq!(root["children"][2]["children"][1]["name"], "web-2-b");
    let (_, out, _) =
        Running::start(shop.cluster.kubeconfig_path(), &["tree", "pod/web-2-a", "-o", "yaml"]).ended();
    for line in ["below: unknown", "children: []", "health: progressing"] {
        assert!(out.contains(&line.to_owned()), "{out:?}");
    }
}

#[test]
fn resources_that_may_not_be_listed_are_skipped_and_reported() {
    let shop = Shop::open();
    shop.cluster.faults().add(Fault::on(Verb::List).resource("configmaps").answer(403));
    shop.cluster.faults().add(Fault::on(Verb::List).resource("leases").answer(403));
    let (out, errors) = shop.tree(&["deploy/web"]);
    assert_eq!(out.len(), WEB.len() - 1, "{out:?}");
    assert_eq!(
        errors,
        [
            "watchkeeper: skipped resources that cannot be listed (Forbidden): configmaps, leases.coordination.k8s.io"
        ]
    );
}

#[test]
fn invalid_roots_are_reported_on_one_line() {
    let shop = Shop::open();
    assert_eq!(
        shop.complaint(&["tree", "deploy/none"]),
        "Error from server (NotFound): deployments.apps \"none\" not found"
    );
    assert_eq!(shop.complaint(&["tree", "pods"]), "error: no object specified; for example: deployment/web");
    assert!(shop.complaint(&["tree", "deploy/web", "-o", "wide"]).contains("allowed formats are: json,yaml"));
}
