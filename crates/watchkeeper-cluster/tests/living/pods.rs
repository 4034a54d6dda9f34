//! Pods on simulated nodes.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use watchkeeper_client::dynamic::DeleteOptions;
use watchkeeper_cluster::{Cluster, Script, Timings};

use crate::living::{EVENTS, Living, PODS};

async fn quick() -> Living {
    Living::with(Cluster::builder().timings(Timings::instant())).await
}

/// Returns a pod with one container and additional fields in its spec.
pub(crate) fn pod(name: &str, spec: Value, script: &Script) -> Value {
    let mut whole = json!({"containers": [{"name": "app", "image": "nginx:1.27"}]});
    let Value::Object(fields) = spec else { panic!("a spec is an object") };
    for (key, value) in fields {
        whole[key] = value;
    }
    json!({"metadata": {"name": name, "annotations": script.annotations()}, "spec": whole})
}

fn condition<'a>(pod: &'a Value, kind: &str) -> &'a Value {
    let conditions = pod["status"]["conditions"].as_array();
    conditions.and_then(|all| all.iter().find(|it| it["type"] == kind)).unwrap_or(&Value::Null)
}

pub(crate) fn is_ready(pod: Option<&Value>) -> bool {
    pod.is_some_and(|pod| condition(pod, "Ready")["status"] == "True")
}

#[tokio::test]
async fn a_pod_runs_on_a_node_with_an_address() {
    let living = quick().await;
    living.create(&PODS, "default", pod("web", json!({}), &Script::default())).await;
    living.until(&PODS, "default", "web", is_ready).await;
    let pod = living.get(&PODS, "default", "web").await.unwrap();
    let status = &pod["status"];
    assert_eq!(status["phase"], "Running");
    assert_eq!(status["qosClass"], "BestEffort");
    let kinds: Vec<&str> =
        status["conditions"].as_array().unwrap().iter().filter_map(|it| it["type"].as_str()).collect();
    for kind in ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"] {
        assert!(kinds.contains(&kind), "{kind} of {kinds:?}");
        assert_eq!(condition(&pod, kind)["status"], "True");
    }
    let container = &status["containerStatuses"][0];
    assert_eq!((&container["name"], &container["ready"]), (&json!("app"), &json!(true)));
    assert_eq!((&container["started"], &container["restartCount"]), (&json!(true), &json!(0)));
    assert!(container["imageID"].as_str().unwrap().starts_with("nginx@sha256:"));
    assert!(container["containerID"].as_str().unwrap().starts_with("containerd://"));
    assert!(container["state"]["running"]["startedAt"].is_string());
    assert_eq!(status["podIPs"], json!([{"ip": status["podIP"]}]));
    assert!(status["podIP"].as_str().unwrap().starts_with("10.128."));
    assert_eq!(status["hostIPs"], json!([{"ip": status["hostIP"]}]));
    assert!(status["startTime"].is_string());
    living.stop().await;
}

#[tokio::test]
async fn events_record_how_a_pod_is_started() {
    let living = quick().await;
    let failing = json!({"nodeSelector": {"no": "where"}});
    living.create(&PODS, "default", pod("nowhere", failing, &Script::default())).await;
    living.create(&PODS, "default", pod("web", json!({}), &Script::default())).await;
    for (pod, reason, event_type, message) in [
        ("nowhere", "FailedScheduling", "Warning", "nodes are available"),
        ("web", "Scheduled", "Normal", "Successfully assigned default/web to node-"),
        ("web", "Pulling", "Normal", "Pulling image \"nginx:1.27\""),
        ("web", "Pulled", "Normal", "Successfully pulled image \"nginx:1.27\" in "),
        ("web", "Created", "Normal", "Container created"),
        ("web", "Started", "Normal", "Container started"),
    ] {
        let matches = |event: &Value| {
            event["involvedObject"]["name"] == pod
                && event["reason"] == reason
                && event["type"] == event_type
                && event["message"].as_str().is_some_and(|text| text.contains(message))
        };
        living.until_all(&EVENTS, |events| events.iter().any(|(_, event)| matches(event))).await;
    }
    living.delete(&PODS, "default", "web", &DeleteOptions::default()).await;
    living
        .until_all(&EVENTS, |events| {
            events.iter().any(|(_, event)| event["message"] == "Stopping container app")
        })
        .await;
    living.stop().await;
}

#[tokio::test]
async fn init_containers_run_first_and_gates_delay_readiness() {
    let living = quick().await;
    let spec = json!({
        "initContainers": [
            {"name": "prepare", "image": "busybox"},
            {"name": "beside", "image": "proxy", "restartPolicy": "Always"},
        ],
        "readinessGates": [{"conditionType": "example.com/wired"}],
    });
    living.create(&PODS, "default", pod("web", spec, &Script::default())).await;
    let is_gated = |pod: Option<&Value>| {
        pod.is_some_and(|pod| {
            condition(pod, "ContainersReady")["status"] == "True"
                && condition(pod, "Ready")["reason"] == "ReadinessGatesNotReady"
        })
    };
    living.until(&PODS, "default", "web", is_gated).await;
    let pod = living.get(&PODS, "default", "web").await.unwrap();
    let inits = &pod["status"]["initContainerStatuses"];
    assert_eq!(inits[0]["state"]["terminated"]["reason"], "Completed");
    assert!(inits[1]["state"]["running"].is_object());

    let wired = json!({"status": {"conditions": [{"type": "example.com/wired", "status": "True"}]}});
    let api = living.api(&PODS, "default");
    let kind = watchkeeper_client::rest::PatchKind::Strategic;
    api.patch_status("web", kind, &wired, &Default::default()).await.unwrap();
    living.until(&PODS, "default", "web", is_ready).await;
    living.stop().await;
}

#[tokio::test]
async fn a_deleted_pod_is_stopped_before_it_is_removed() {
    let living = quick().await;
    living.create(&PODS, "default", pod("web", json!({}), &Script::default())).await;
    living.until(&PODS, "default", "web", is_ready).await;
    living.delete(&PODS, "default", "web", &DeleteOptions::default()).await;
    living.until(&PODS, "default", "web", |pod| pod.is_none()).await;

    let stubborn = Script::default().stop_after(std::time::Duration::from_secs(3_600));
    living.create(&PODS, "default", pod("stubborn", json!({}), &stubborn)).await;
    living.until(&PODS, "default", "stubborn", is_ready).await;
    let options = DeleteOptions { grace_period_seconds: Some(1), ..DeleteOptions::default() };
    living.delete(&PODS, "default", "stubborn", &options).await;
    living.until(&PODS, "default", "stubborn", |pod| pod.is_none()).await;

    // With a grace period of 0 it is removed at once.
    living.create(&PODS, "default", pod("stubborn", json!({}), &stubborn)).await;
    living.until(&PODS, "default", "stubborn", is_ready).await;
    let options = DeleteOptions { grace_period_seconds: Some(0), ..DeleteOptions::default() };
    living.delete(&PODS, "default", "stubborn", &options).await;
    assert!(living.get(&PODS, "default", "stubborn").await.is_none());
    living.stop().await;
}

#[tokio::test]
async fn pods_of_a_job_run_to_completion() {
    let living = quick().await;
    let mut job = pod("once", json!({"restartPolicy": "Never"}), &Script::default());
    job["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "batch/v1", "kind": "Job", "name": "work", "uid": "0a", "controller": true,
    }]);
    living.create(&PODS, "default", job).await;
    let failing = Script::default().exit_code(3);
    living.create(&PODS, "default", pod("failing", json!({"restartPolicy": "Never"}), &failing)).await;
    let has_ended = |phase: &'static str, code: i64| {
        move |pod: Option<&Value>| {
            pod.is_some_and(|pod| {
                let ended = &pod["status"]["containerStatuses"][0]["state"]["terminated"];
                pod["status"]["phase"] == phase && ended["exitCode"] == code
            })
        }
    };
    living.until(&PODS, "default", "once", has_ended("Succeeded", 0)).await;
    living.until(&PODS, "default", "failing", has_ended("Failed", 3)).await;
    let once = living.get(&PODS, "default", "once").await.unwrap();
    assert_eq!(condition(&once, "Ready")["reason"], "PodCompleted");
    living.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_pods_have_unique_addresses_and_are_spread_over_the_nodes() {
    const COUNT: usize = 1_000;
    let living = quick().await;
    for number in 0..COUNT {
        let pod = pod(&format!("web-{number}"), json!({}), &Script::default());
        living.create(&PODS, "default", pod).await;
    }
    living.until_count(&PODS, COUNT, |pod| is_ready(Some(pod))).await;
    let pods = living.list(&PODS, "default").await;
    let addresses: BTreeSet<&str> = pods.iter().filter_map(|pod| pod["status"]["podIP"].as_str()).collect();
    assert_eq!(addresses.len(), COUNT);
    for node in ["node-1", "node-2", "node-3"] {
        let there = pods.iter().filter(|pod| pod["spec"]["nodeName"] == node).count();
        assert!((333..=334).contains(&there), "{there} pods on {node}");
    }
    living.stop().await;
}
