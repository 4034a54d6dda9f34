//! Scheduling of pods.

use serde_json::{Value, json};
use watchkeeper_cluster::{Cluster, Script, Timings};

use crate::living::{Living, NODES, PODS};
use crate::pods::{is_ready, pod};

async fn quick(nodes: u32) -> Living {
    Living::with(Cluster::builder().nodes(nodes).timings(Timings::instant())).await
}

/// Waits until all nodes are schedulable.
async fn nodes_are_open(living: &Living, count: usize) {
    let is_open = |node: &Value| node["spec"]["taints"].as_array().is_none_or(Vec::is_empty);
    living
        .until_all(&NODES, |nodes| nodes.len() == count && nodes.iter().all(|(_, node)| is_open(node)))
        .await;
}

fn refusal(pod: Option<&Value>) -> Option<&str> {
    let conditions = pod?["status"]["conditions"].as_array()?;
    let scheduled = conditions.iter().find(|it| it["type"] == "PodScheduled")?;
    (scheduled["status"] == "False" && scheduled["reason"] == "Unschedulable")
        .then(|| scheduled["message"].as_str())?
}

#[tokio::test]
async fn simulated_nodes_report_their_status() {
    let living = quick(2).await;
    nodes_are_open(&living, 2).await;
    let node = living.get(&NODES, "", "node-2").await.unwrap();
    let labels = &node["metadata"]["labels"];
    assert_eq!(
        (&labels["kubernetes.io/hostname"], &labels["kubernetes.io/os"]),
        (&json!("node-2"), &json!("linux"))
    );
    let conditions: Vec<String> = node["status"]["conditions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| format!("{}={}", it["type"].as_str().unwrap(), it["status"].as_str().unwrap()))
        .collect();
    assert_eq!(conditions, ["MemoryPressure=False", "DiskPressure=False", "PIDPressure=False", "Ready=True"]);
    assert_eq!(node["status"]["addresses"][0], json!({"type": "InternalIP", "address": "172.18.0.3"}));
    assert!(node["status"]["nodeInfo"]["kubeletVersion"].as_str().unwrap().starts_with("v1."));
    assert_eq!(node["spec"]["podCIDR"], "10.128.64.0/18");
    living.stop().await;
}

#[tokio::test]
async fn a_pod_waits_until_a_node_is_schedulable() {
    let living = quick(2).await;
    nodes_are_open(&living, 2).await;
    for node in ["node-1", "node-2"] {
        living.patch(&NODES, "", node, json!({"spec": {"unschedulable": true}})).await;
    }
    living.until_all(&NODES, |nodes| nodes.iter().all(|(_, node)| !node["spec"]["taints"].is_null())).await;
    living.create(&PODS, "default", pod("web", json!({}), &Script::default())).await;
    let expected = "0/2 nodes are available: 2 node(s) were unschedulable. preemption: 0/2 nodes are available: \
                    2 Preemption is not helpful for scheduling.";
    living.until(&PODS, "default", "web", |pod| refusal(pod) == Some(expected)).await;
    living.patch(&NODES, "", "node-2", json!({"spec": {"unschedulable": null}})).await;
    living.until(&PODS, "default", "web", is_ready).await;
    let pod = living.get(&PODS, "default", "web").await.unwrap();
    assert_eq!(pod["spec"]["nodeName"], "node-2");
    living.stop().await;
}

#[tokio::test]
async fn taints_selectors_and_resources_are_respected() {
    let living = quick(2).await;
    nodes_are_open(&living, 2).await;
    let dedicated = json!([{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}]);
    living.patch(&NODES, "", "node-1", json!({"spec": {"taints": dedicated}})).await;
    living
        .until(&NODES, "", "node-1", |node| node.is_some_and(|node| !node["spec"]["taints"].is_null()))
        .await;
    let at = |node: &str| json!({"kubernetes.io/hostname": node});
    let tolerations = json!([{"key": "dedicated", "operator": "Exists"}]);
    let asking =
        |cpu: &str| json!([{"name": "app", "image": "nginx", "resources": {"requests": {"cpu": cpu}}}]);
    for (name, spec) in [
        ("kept-away", json!({"nodeSelector": at("node-1")})),
        ("tolerant", json!({"nodeSelector": at("node-1"), "tolerations": tolerations})),
        ("elsewhere", json!({})),
        ("greedy", json!({"containers": asking("1001")})),
        ("nowhere", json!({"nodeSelector": at("node-7")})),
        ("gated", json!({"schedulingGates": [{"name": "example.com/wait"}]})),
    ] {
        living.create(&PODS, "default", pod(name, spec, &Script::default())).await;
    }
    let not_helpful = "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.";
    for (name, why) in [
        (
            "kept-away",
            "1 node(s) didn't match Pod's node affinity/selector, 1 node(s) had untolerated taint(s)",
        ),
        ("greedy", "1 Insufficient cpu, 1 node(s) had untolerated taint(s)"),
        (
            "nowhere",
            "1 node(s) didn't match Pod's node affinity/selector, 1 node(s) had untolerated taint(s)",
        ),
    ] {
        let expected = format!("0/2 nodes are available: {why}. {not_helpful}");
        living.until(&PODS, "default", name, |pod| refusal(pod) == Some(&*expected)).await;
    }
    for (name, node) in [("tolerant", "node-1"), ("elsewhere", "node-2")] {
        living
            .until(&PODS, "default", name, |pod| {
                is_ready(pod) && pod.is_some_and(|pod| pod["spec"]["nodeName"] == node)
            })
            .await;
    }
    let gated = living.get(&PODS, "default", "gated").await.unwrap();
    assert!(gated["spec"]["nodeName"].is_null());
    living.patch(&PODS, "default", "gated", json!({"spec": {"schedulingGates": null}})).await;
    living.until(&PODS, "default", "gated", is_ready).await;
    living.stop().await;
}
