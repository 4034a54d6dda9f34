//! Simulated failures of containers and nodes.

use std::time::Duration;

use serde_json::{Value, json};
use watchkeeper_cluster::{Cluster, Script, Timings};

use crate::living::{Living, NODES, PODS};
use crate::pods::{is_ready, pod};

/// Starts a cluster in which a simulated second takes a millisecond.
async fn hurried() -> Living {
    let mut timings = Timings::instant();
    timings.second = Duration::from_millis(1);
    Living::with(Cluster::builder().timings(timings)).await
}

/// Starts a cluster with one node, which is lost after two seconds without a heartbeat.
async fn missed(second: Duration) -> Living {
    let mut timings = Timings::instant();
    timings.second = second;
    timings.heartbeat = Duration::from_millis(200);
    timings.lost_after = Duration::from_secs(2);
    Living::with(Cluster::builder().nodes(1).timings(timings)).await
}

fn container(pod: Option<&Value>) -> &Value {
    pod.map_or(&Value::Null, |pod| &pod["status"]["containerStatuses"][0])
}

fn node_ready(node: Option<&Value>) -> &Value {
    let conditions = node.and_then(|node| node["status"]["conditions"].as_array());
    conditions.and_then(|all| all.iter().find(|it| it["type"] == "Ready")).unwrap_or(&Value::Null)
}

fn taints(node: Option<&Value>) -> Vec<String> {
    let taints = node.and_then(|node| node["spec"]["taints"].as_array()).cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    taints.iter().map(|taint| format!("{}:{}", text(&taint["key"]), text(&taint["effect"]))).collect()
}

#[tokio::test]
async fn a_crashing_container_is_restarted_with_backoff() {
    let living = hurried().await;
    let crashing = Script::default().exit_code(2);
    living.create(&PODS, "default", pod("crashing", json!({}), &crashing)).await;
    for restarts in [3, 5] {
        let is_backing_off = |pod: Option<&Value>| {
            let status = container(pod);
            status["state"]["waiting"]["reason"] == "CrashLoopBackOff"
                && status["lastState"]["terminated"]["exitCode"] == 2
                && status["restartCount"].as_i64().is_some_and(|count| count >= restarts)
        };
        living.until(&PODS, "default", "crashing", is_backing_off).await;
    }
    let pod = living.get(&PODS, "default", "crashing").await.unwrap();
    assert_eq!(pod["status"]["phase"], "Running");
    assert!(!is_ready(Some(&pod)));
    living.stop().await;
}

#[tokio::test]
async fn a_failed_image_pull_is_retried_until_the_image_changes() {
    let living = hurried().await;
    let containers = json!([{"name": "app", "image": "registry.invalid/app:1"}]);
    living.create(&PODS, "default", pod("web", json!({"containers": containers}), &Script::default())).await;
    living
        .until(&PODS, "default", "web", |pod| {
            container(pod)["state"]["waiting"]["reason"] == "ImagePullBackOff"
        })
        .await;
    let waiting = living.get(&PODS, "default", "web").await.unwrap();
    assert_eq!(waiting["status"]["phase"], "Pending");
    let fixed = json!({"spec": {"containers": [{"name": "app", "image": "nginx:1.27"}]}});
    let api = living.api(&PODS, "default");
    let kind = watchkeeper_client::rest::PatchKind::Strategic;
    api.patch("web", kind, &fixed, &Default::default()).await.unwrap();
    living.until(&PODS, "default", "web", is_ready).await;
    let running = living.get(&PODS, "default", "web").await.unwrap();
    assert_eq!(container(Some(&running))["image"], "nginx:1.27");
    living.stop().await;
}

#[tokio::test]
async fn scripts_delay_or_prevent_readiness() {
    let living = hurried().await;
    let never = Script::default().never_ready();
    let late =
        Script::default().ready_after(Duration::from_millis(50)).start_after(Duration::from_millis(50));
    living.create(&PODS, "default", pod("never", json!({}), &never)).await;
    living.create(&PODS, "default", pod("late", json!({}), &late)).await;
    living.until(&PODS, "default", "late", is_ready).await;
    let is_running = |pod: Option<&Value>| container(pod)["state"]["running"].is_object();
    living.until(&PODS, "default", "never", is_running).await;
    let never = living.get(&PODS, "default", "never").await.unwrap();
    assert_eq!((&never["status"]["phase"], is_ready(Some(&never))), (&json!("Running"), false));
    living.stop().await;
}

#[tokio::test]
async fn a_recovered_node_keeps_its_pods() {
    let living = missed(Duration::from_secs(1)).await;
    living.create(&PODS, "default", pod("web", json!({}), &Script::default())).await;
    living.until(&PODS, "default", "web", is_ready).await;
    living.cluster.lose_node("node-1").unwrap();
    let is_unknown = |node: Option<&Value>| {
        let ready = node_ready(node);
        ready["status"] == "Unknown" && ready["message"] == "Kubelet stopped posting node status."
    };
    living.until(&NODES, "", "node-1", is_unknown).await;
    living
        .until(&NODES, "", "node-1", |node| {
            taints(node).iter().any(|taint| taint == "node.kubernetes.io/unreachable:NoExecute")
        })
        .await;
    living.until(&PODS, "default", "web", |pod| pod.is_some() && !is_ready(pod)).await;
    living.cluster.restore_node("node-1").unwrap();
    let is_healthy = |node: Option<&Value>| node_ready(node)["status"] == "True" && taints(node).is_empty();
    living.until(&NODES, "", "node-1", is_healthy).await;
    living.until(&PODS, "default", "web", is_ready).await;
    let pod = living.get(&PODS, "default", "web").await.unwrap();
    assert_eq!(container(Some(&pod))["restartCount"], 0);
    assert!(living.cluster.lose_node("node-7").is_err());
    living.stop().await;
}

#[tokio::test]
async fn pods_of_a_lost_node_are_evicted() {
    let living = missed(Duration::from_millis(2)).await; // the toleration of 300 seconds takes 0.6 s
    living.create(&PODS, "default", pod("web", json!({}), &Script::default())).await;
    living.until(&PODS, "default", "web", is_ready).await;
    living.cluster.lose_node("node-1").unwrap();
    let is_going = |pod: Option<&Value>| {
        pod.is_some_and(|pod| {
            let conditions = pod["status"]["conditions"].as_array().unwrap();
            !pod["metadata"]["deletionTimestamp"].is_null()
                && conditions.iter().any(|it| it["reason"] == "DeletionByTaintManager")
        })
    };
    // Its kubelet is down, so the pod is not removed.
    living.until(&PODS, "default", "web", is_going).await;
    living.cluster.restore_node("node-1").unwrap();
    living.until(&PODS, "default", "web", |pod| pod.is_none()).await;
    living.stop().await;
}

#[tokio::test]
async fn pods_of_a_deleted_node_are_deleted() {
    let living = hurried().await;
    let there = json!({"nodeSelector": {"kubernetes.io/hostname": "node-2"}});
    living.create(&PODS, "default", pod("web", there, &Script::default())).await;
    living.until(&PODS, "default", "web", is_ready).await;
    living.delete(&NODES, "", "node-2", &Default::default()).await;
    living.until(&PODS, "default", "web", |pod| pod.is_none()).await;
    living.stop().await;
}
