//! A deployment with two revisions on the embedded server, read through informers.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::time::Duration;

use serde_json::{Value, json};
use watchkeeper_cache::InformerFactory;
use watchkeeper_testkit::TestCluster;
use watchkeeper_web::workload::{Workload, WorkloadError, Workloads};

struct World {
    cluster: TestCluster,
}

impl World {
    async fn create(&self, kind: &str, mut object: Value) -> String {
        object["apiVersion"] =
            if kind.ends_with("Set") || kind == "Deployment" { "apps/v1" } else { "v1" }.into();
        object["kind"] = kind.into();
        let created = self.cluster.create(object).await.unwrap();
        created["metadata"]["uid"].as_str().unwrap().to_owned()
    }

    async fn deployment(&self, name: &str, revision: &str) -> String {
        let spec = json!({"replicas": 2, "selector": {"matchLabels": {"app": name}}, "template": template(name, "new")});
        let metadata = json!({"name": name, "annotations": {"deployment.kubernetes.io/revision": revision}});
        self.create("Deployment", json!({"metadata": metadata, "spec": spec})).await
    }

    async fn set(&self, app: &str, hash: &str, revision: &str, owner: (&str, bool)) {
        let owner = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": app, "uid": owner.0, "controller": owner.1});
        let annotations = json!({"deployment.kubernetes.io/revision": revision});
        let metadata =
            json!({"name": format!("{app}-{hash}"), "annotations": annotations, "ownerReferences": [owner]});
        let selector = json!({"matchLabels": {"app": app, "pod-template-hash": hash}});
        let spec = json!({"replicas": 2, "selector": selector, "template": template(app, hash)});
        self.create("ReplicaSet", json!({"metadata": metadata, "spec": spec})).await;
    }

    async fn pod(&self, app: &str, hash: &str, name: &str) -> String {
        let mut pod = template(app, hash);
        pod["metadata"]["name"] = name.into();
        pod["spec"]["nodeName"] = "node-1".into();
        self.create("Pod", pod).await
    }

    async fn event(&self, name: &str, about: &str, message: &str, times: Value) {
        let mut event =
            json!({"metadata": {"name": name}, "message": message, "reason": "Because", "type": "Normal"});
        event["involvedObject"] = json!({"apiVersion": "v1", "kind": "Pod", "namespace": self.cluster.namespace(), "name": "x", "uid": about});
        event.as_object_mut().unwrap().extend(times.as_object().unwrap().clone());
        self.create("Event", event).await;
    }

    async fn look(&self, name: &str) -> Result<Workload, WorkloadError> {
        let factory = InformerFactory::new(self.cluster.server().sources());
        let workloads = Workloads::new(&factory);
        factory.start();
        factory.wait_until_ready(Duration::from_secs(30)).await.unwrap();
        let found = workloads.get(self.cluster.namespace(), name);
        factory.stop().await;
        found
    }
}

fn template(app: &str, hash: &str) -> Value {
    let containers =
        json!([{"name": "main", "image": format!("{app}:{hash}")}, {"name": "side", "image": "side:1"}]);
    json!({"metadata": {"labels": {"app": app, "pod-template-hash": hash}}, "spec": {"containers": containers}})
}

#[tokio::test]
async fn workloads_have_the_current_set_its_pods_and_last_events() {
    let world = World { cluster: TestCluster::start().await.unwrap() };
    let uid = world.deployment("web", "2").await;
    world.set("web", "old", "1", (&uid, true)).await;
    world.set("web", "new", "2", (&uid, true)).await;
    world.set("web", "other", "2", ("11111111-2222-3333-4444-555555555555", true)).await;
    world.set("web", "adopted", "2", (&uid, false)).await;
    world.pod("web", "old", "web-old-1").await;
    let first = world.pod("web", "new", "web-new-1").await;
    world.pod("web", "new", "web-new-2").await;
    let (morning, noon) = ("2026-01-01T06:00:00Z", "2026-01-01T12:00:00Z");
    world.event("z", &first, "came", json!({"firstTimestamp": morning, "lastTimestamp": morning})).await;
    world.event("a", &first, "went", json!({"firstTimestamp": morning, "lastTimestamp": noon})).await;
    world.event("b", "another", "else", json!({"lastTimestamp": "2026-02-01T00:00:00Z"})).await;

    let web = world.look("web").await.unwrap();
    assert_eq!(
        (web.replicas, web.replica_set.as_deref(), web.revision.as_deref()),
        (2, Some("web-new"), Some("2"))
    );
    let shown: Vec<_> = web.pods.iter().map(|pod| (pod.name.as_str(), pod.message.as_str())).collect();
    assert_eq!(
        shown,
        [("web-new-1", "went"), ("web-new-2", "")],
        "the newest event of the pod by time, not by name"
    );
    let pod = &web.pods[0];
    assert_eq!((pod.node.as_str(), pod.phase.as_str(), pod.ready), ("node-1", "Pending", false));
    assert_eq!(pod.images, ["web:new", "side:1"]);
    assert!(!pod.created.is_empty());
    world.cluster.stop().await;
}

#[tokio::test]
async fn a_deployment_without_a_set_has_no_pods_and_a_missing_one_is_an_error() {
    let world = World { cluster: TestCluster::start().await.unwrap() };
    world.deployment("web", "1").await;
    world.pod("web", "new", "web-new-1").await;
    let web = world.look("web").await.unwrap();
    assert_eq!((web.replica_set, web.pods), (None, vec![]));
    let error = world.look("wbe").await.unwrap_err().to_string();
    assert_eq!(error, format!("deployment wbe not found in namespace {}", world.cluster.namespace()));
    world.cluster.stop().await;
}
