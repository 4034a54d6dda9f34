//! Related objects: trees, workloads, events.

use serde_json::{Value, json};
use watchkeeper_client::rest::PatchKind;

use crate::world::{PODS, World, pod};

fn owned(mut object: Value, kind: &str, owner: &Value) -> Value {
    let api_version = if kind == "Pod" || kind == "Service" { "v1" } else { "apps/v1" };
    object["metadata"]["ownerReferences"] = json!([{"apiVersion": api_version, "kind": kind, "controller": true,
        "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}]);
    object
}

fn workload(kind: &str, name: &str) -> Value {
    let labels = json!({"app": "web"});
    let annotations = json!({"deployment.kubernetes.io/revision": "1"});
    json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name, "annotations": annotations},
        "spec": {"replicas": 1, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}})
}

/// Creates a deployment with a replica set and a pod.
pub(crate) async fn shop() -> (World, [Value; 3]) {
    let world = World::of(&[]).await;
    let deployment = world.create(workload("Deployment", "web"), ("apps", "v1", "deployments")).await;
    let set = owned(workload("ReplicaSet", "web-1"), "Deployment", &deployment);
    let set = world.create(set, ("apps", "v1", "replicasets")).await;
    let pod = world.create(owned(pod("web-1-a", "web", "n1"), "ReplicaSet", &set), PODS).await;
    (world, [deployment, set, pod])
}

/// Formats a tree, one line per node: `kind name health [children]`.
fn drawn(node: &Value, depth: usize, out: &mut String) {
    let text = |field: &str| node[field].as_str().unwrap().to_owned();
    out.push_str(&format!("{}{} {} {}\n", " ".repeat(depth), text("kind"), text("name"), text("health")));
    for child in node["children"].as_array().unwrap() {
        drawn(child, depth + 1, out);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn trees_contain_owned_objects() {
    let (world, [deployment, _, pod]) = shop().await;
    let here = world.namespace();
    let tree = async |path: String| {
        let mut out = String::new();
        drawn(&world.get(&path).await.data(), 0, &mut out);
        out
    };
    let whole = tree(format!("/v1/tree/apps/v1/deployments/{here}/web")).await;
    assert_eq!(
        whole,
        "Deployment web progressing\n ReplicaSet web-1 progressing\n  Pod web-1-a progressing\n"
    );
    assert_eq!(tree(format!("/v1/tree/core/v1/pods/{here}/web-1-a?up=true")).await, whole);
    let below = tree(format!("/v1/tree/core/v1/pods/{here}/web-1-a")).await;
    assert_eq!(below, "Pod web-1-a progressing\n");

    let data = world.get(&format!("/v1/tree/apps/v1/deployments/{here}/web")).await.data();
    assert_eq!(data["uid"], deployment["metadata"]["uid"]);
    assert_eq!(data["created"], deployment["metadata"]["creationTimestamp"]);
    let leaf = &data["children"][0]["children"][0];
    assert_eq!(
        (&leaf["group"], &leaf["version"], &leaf["resource"]),
        (&json!(""), &json!("v1"), &json!("pods"))
    );
    assert_eq!((&leaf["namespace"], &leaf["uid"]), (&json!(here), &pod["metadata"]["uid"]));

    // A resource that becomes cached is included.
    let config = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "notes"}});
    world.create(owned(config, "Pod", &pod), ("", "v1", "configmaps")).await;
    let below = tree(format!("/v1/tree/core/v1/pods/{here}/web-1-a")).await;
    assert_eq!(below.lines().count(), 2, "{below}");

    let absent = world.get(&format!("/v1/tree/core/v1/pods/{here}/web-9")).await.failure(404);
    assert_eq!(absent, format!("pod {here}/web-9 not found"));
    world.get(&format!("/v1/tree/core/v1/pods/{here}/web-1-a?up=yes")).await.failure(400);
    world.get(&format!("/v1/tree/core/v1/pods/{here}/web-1-a?down=true")).await.failure(400);
    world.get("/v1/tree/core/v1/pods/-/web-1-a").await.failure(400);
    world.get(&format!("/v1/tree/core/v1/pots/{here}/web-1-a")).await.failure(404);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn workloads_are_deployments_with_their_pods() {
    let (world, _) = shop().await;
    let here = world.namespace();
    let data = world.get(&format!("/v1/workloads/{here}/web")).await.data();
    assert_eq!(
        (&data["deployment"], &data["replicaSet"], &data["revision"]),
        (&json!("web"), &json!("web-1"), &json!("1"))
    );
    assert_eq!(data["pods"][0]["name"], "web-1-a");
    assert_eq!(data["pods"][0]["images"], json!(["web:1", "side:2"]));
    let absent = world.get(&format!("/v1/workloads/{here}/db")).await.failure(404);
    assert_eq!(absent, format!("deployment db not found in namespace {here}"));
    world.get(&format!("/v1/workloads/{here}/web?x=1")).await.failure(400);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_loop_has_the_same_health_everywhere() {
    let (world, _) = shop().await;
    let here = world.namespace();
    let status = json!({"status": {"phase": "Running", "conditions": [{"type": "ContainersReady", "status": "True"}],
        "containerStatuses": [{"name": "main", "image": "i", "imageID": "", "ready": true, "restartCount": 4,
            "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]}});
    let pods = world.client.dynamic(&"v1".parse().unwrap(), "pods").namespace(here);
    let changed = pods.patch_status("web-1-a", PatchKind::Merge, &status, &Default::default()).await.unwrap();
    world.seen(PODS, &serde_json::to_value(changed).unwrap()).await;

    let tree = world.get(&format!("/v1/tree/apps/v1/deployments/{here}/web")).await.data();
    let pod = &tree["children"][0]["children"][0];
    let listed = &world.get(&format!("/v1/workloads/{here}/web")).await.data()["pods"][0];
    for verdict in [pod, listed] {
        assert_eq!(
            (&verdict["health"], &verdict["status"]),
            (&json!("degraded"), &json!("1/2 ready, CrashLoopBackOff"))
        );
    }
    // The deployment itself is progressing; the worst health below it is a field of its own.
    assert_eq!((&tree["health"], &tree["below"]), (&json!("progressing"), &json!("degraded")));
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_newest_first() {
    let world = World::of(&[]).await;
    let here = world.namespace().to_owned();
    let other = world.cluster.fresh_namespace().await.unwrap();
    for (at, (namespace, uid)) in
        [(&here, "u1"), (&here, "u2"), (&other, "u1"), (&here, "u1")].into_iter().enumerate()
    {
        let about =
            json!({"apiVersion": "v1", "kind": "Pod", "namespace": namespace, "name": "web", "uid": uid});
        let time = format!("2026-01-0{}T00:00:00Z", 1 + (at * 3) % 4);
        let event = json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": format!("e{at}"), "namespace": namespace},
            "involvedObject": about, "type": "Warning", "reason": "BackOff", "message": "m", "count": 2,
            "firstTimestamp": time, "lastTimestamp": time, "source": {"component": "kubelet"}});
        world.create(event, ("", "v1", "events")).await;
    }
    let listed = async |query: &str| -> String {
        let data = world.get(&format!("/v1/events{query}")).await.data();
        let names: Vec<&str> =
            data.as_array().unwrap().iter().map(|event| event["name"].as_str().unwrap()).collect();
        names.join(" ")
    };
    assert_eq!(listed("").await, "e1 e2 e3 e0");
    assert_eq!(listed("?limit=2").await, "e1 e2");
    assert_eq!(listed("?uid=u1").await, "e2 e3 e0");
    assert_eq!(listed("?uid=none").await, "");
    assert_eq!(listed(&format!("?namespace={here}")).await, "e1 e3 e0");
    assert_eq!(listed(&format!("?namespace={here}&uid=u1")).await, "e3 e0");
    let newest = world.get("/v1/events?limit=1").await.data();
    let expected = json!([{"namespace": here, "name": "e1", "type": "Warning", "reason": "BackOff", "message": "m", "count": 2,
        "first": "2026-01-04T00:00:00Z", "last": "2026-01-04T00:00:00Z", "source": "kubelet",
        "about": {"kind": "Pod", "namespace": here, "name": "web", "uid": "u2"}}]);
    assert_eq!(newest, expected);
    world.get("/v1/events?limit=many").await.failure(400);
    world.get("/v1/events?name=a").await.failure(400);
    world.stop().await;
}
