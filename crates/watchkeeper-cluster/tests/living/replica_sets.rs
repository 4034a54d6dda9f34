//! Replica sets and their pods.

use serde_json::{Value, json};
use watchkeeper_cache::delta::Delta;
use watchkeeper_cache::handler::{Filter, RawEvent};

use crate::by_hand::{is_child_of, is_ready, name, template};
use crate::living::{Living, Of, PODS};

pub(crate) const REPLICA_SETS: Of = Of("apps/v1/replicasets", "ReplicaSet");
const PRIORITY_CLASSES: Of = Of("scheduling.k8s.io/v1/priorityclasses", "PriorityClass");
const SHOP: &str = "shop";

fn web(replicas: i32, template: &Value) -> Value {
    json!({
        "metadata": {"name": "web"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template},
    })
}

/// Waits for a status, apart from its conditions.
async fn until_status(living: &Living, expected: Value) {
    let is_so = |set: Option<&Value>| {
        let mut status = set.map(|set| set["status"].clone()).unwrap_or_default();
        if let Some(fields) = status.as_object_mut() {
            fields.remove("conditions");
        }
        status == expected
    };
    living.until(&REPLICA_SETS, SHOP, "web", is_so).await;
}

async fn scale(living: &Living, replicas: i32) {
    living.patch(&REPLICA_SETS, SHOP, "web", json!({"spec": {"replicas": replicas}})).await;
}

#[tokio::test]
async fn the_desired_number_of_pods_exists() {
    let living = Living::start().await;
    living.namespace(SHOP).await;
    let set = living.create(&REPLICA_SETS, SHOP, web(3, &template("web", "web:1"))).await;
    let counted = |generation, count| {
        json!({"replicas": count, "fullyLabeledReplicas": count, "terminatingReplicas": 0,
               "observedGeneration": generation})
    };
    until_status(&living, counted(1, 3)).await;
    let pods = living.list(&PODS, SHOP).await;
    assert_eq!(pods.len(), 3);
    for pod in &pods {
        assert!(is_child_of(pod, &set) && name(pod).starts_with("web-") && name(pod).len() == 9, "{pod}");
        assert_eq!(pod["metadata"]["ownerReferences"][0]["controller"], true);
        assert_eq!(pod["spec"]["containers"][0]["image"], "web:1");
    }

    let first: Vec<&str> = pods.iter().map(name).collect();
    for pod in &pods {
        living.set_ready(pod, true).await;
    }
    let mut ready = counted(1, 3);
    ready["readyReplicas"] = 3.into();
    ready["availableReplicas"] = 3.into();
    until_status(&living, ready.clone()).await;
    scale(&living, 5).await;
    living.until_pods(SHOP, |pods| pods.len() == 5).await;

    // Pods that are not ready go first, and only they.
    scale(&living, 3).await;
    ready["observedGeneration"] = 3.into();
    until_status(&living, ready).await;
    let left = living.list(&PODS, SHOP).await;
    assert_eq!(left.iter().map(name).collect::<Vec<_>>(), first);
    scale(&living, 0).await;
    until_status(&living, json!({"replicas": 0, "terminatingReplicas": 0, "observedGeneration": 4})).await;
    assert!(living.list(&PODS, SHOP).await.is_empty());
    living.stop().await;
}

#[tokio::test]
async fn failed_and_deleted_pods_are_replaced() {
    let living = Living::start().await;
    living.namespace(SHOP).await;
    // On a node, so that their deletion takes time.
    let mut on_a_node = template("web", "web:1");
    on_a_node["spec"]["nodeName"] = "elsewhere".into();
    living.create(&REPLICA_SETS, SHOP, web(2, &on_a_node)).await;
    living.until_pods(SHOP, |pods| pods.len() == 2).await;
    let first = living.list(&PODS, SHOP).await;

    // A failed pod stays and does not count.
    living.set_status(&first[0], json!({"phase": "Failed"})).await;
    living.until_pods(SHOP, |pods| pods.len() == 3).await;
    // A deleted pod is replaced at once, and counted as terminating while it exists.
    living.delete(&PODS, SHOP, name(&first[1]), &Default::default()).await;
    living.until_pods(SHOP, |pods| pods.len() == 4).await;
    let mut expected =
        json!({"replicas": 2, "fullyLabeledReplicas": 2, "terminatingReplicas": 1, "observedGeneration": 1});
    until_status(&living, expected.clone()).await;
    living.remove(&first[1]).await;
    expected["terminatingReplicas"] = 0.into();
    until_status(&living, expected).await;
    assert_eq!(living.list(&PODS, SHOP).await.len(), 3);
    living.stop().await;
}

#[tokio::test]
async fn matching_pods_are_adopted_and_others_released() {
    let living = Living::start().await;
    living.namespace(SHOP).await;
    let mut pod = template("web", "web:0");
    pod["metadata"]["name"] = "orphan".into();
    living.create(&PODS, SHOP, pod.clone()).await;
    let set = living.create(&REPLICA_SETS, SHOP, web(2, &template("web", "web:1"))).await;
    living.until(&PODS, SHOP, "orphan", |pod| pod.is_some_and(|pod| is_child_of(pod, &set))).await;
    living.until_pods(SHOP, |pods| pods.len() == 2).await;

    living.patch(&PODS, SHOP, "orphan", json!({"metadata": {"labels": {"app": "debug"}}})).await;
    let is_free = |pod: &Value| pod["metadata"].get("ownerReferences").is_none();
    living.until(&PODS, SHOP, "orphan", |pod| pod.is_some_and(is_free)).await;
    living.until_pods(SHOP, |pods| pods.iter().filter(|pod| is_child_of(pod, &set)).count() == 2).await;

    // A matching pod is adopted although there are enough, and then one is surplus.
    pod["metadata"]["name"] = "late".into();
    living.create(&PODS, SHOP, pod).await;
    living
        .until_pods(SHOP, |pods| {
            let children = pods.iter().filter(|pod| is_child_of(pod, &set)).count();
            children == 2 && pods.len() == 3
        })
        .await;
    living.stop().await;
}

#[tokio::test]
async fn many_pods_are_created_exactly_once() {
    let living = Living::start().await;
    living.namespace(SHOP).await;
    living.until_pods(SHOP, |pods| pods.is_empty()).await;
    let mut events = living.informer(&PODS).raw_events(Filter::namespace(SHOP), 10_000);
    let is_counted =
        |count: i32| move |set: Option<&Value>| set.is_some_and(|set| set["status"]["replicas"] == count);
    living.create(&REPLICA_SETS, SHOP, web(100, &template("web", "web:1"))).await;
    living.until(&REPLICA_SETS, SHOP, "web", is_counted(100)).await;
    scale(&living, 40).await;
    living.until(&REPLICA_SETS, SHOP, "web", is_counted(40)).await;
    let (mut came, mut went) = (0, 0);
    while (came, went) != (100, 60) {
        match events.next().await.unwrap() {
            RawEvent::Event(Delta::Added { .. }) => came += 1,
            RawEvent::Event(Delta::Deleted { .. }) => went += 1,
            _ => {}
        }
        assert!(came <= 100 && went <= 60, "{came} created, {went} deleted");
    }
    assert_eq!(living.list(&PODS, SHOP).await.len(), 40);
    living.stop().await;
}

#[tokio::test]
async fn a_pod_is_available_after_min_ready_seconds() {
    let living = Living::start().await;
    living.namespace(SHOP).await;
    let mut set = web(1, &template("web", "web:1"));
    set["spec"]["minReadySeconds"] = 2.into();
    living.create(&REPLICA_SETS, SHOP, set).await;
    living.until_pods(SHOP, |pods| pods.len() == 1).await;
    let pod = &living.list(&PODS, SHOP).await[0];
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let now = watchkeeper_core::Timestamp { seconds: now.as_secs().try_into().unwrap(), nanos: 0 };
    let ready = json!({"type": "Ready", "status": "True", "lastTransitionTime": now.to_string()});
    living.set_status(pod, json!({"phase": "Running", "conditions": [ready]})).await;
    let status = |ready: i64, available: i64| {
        move |set: Option<&Value>| {
            let status = &set.unwrap()["status"];
            status["readyReplicas"] == ready && status["availableReplicas"].as_i64().unwrap_or(0) == available
        }
    };
    living.until(&REPLICA_SETS, SHOP, "web", status(1, 0)).await;
    living.until(&REPLICA_SETS, SHOP, "web", status(1, 1)).await;
    living.stop().await;
}

#[tokio::test]
async fn a_failure_condition_lasts_until_it_is_resolved() {
    let living = Living::start().await;
    living.namespace(SHOP).await;
    let mut missing = template("web", "web:1");
    missing["spec"]["priorityClassName"] = "urgent".into();
    living.create(&REPLICA_SETS, SHOP, web(1, &missing)).await;
    let has_failed = |set: Option<&Value>| {
        let failure = &set.unwrap()["status"]["conditions"][0];
        let message = "pods \"web-\" is forbidden: no PriorityClass with name urgent was found";
        failure["type"] == "ReplicaFailure"
            && failure["status"] == "True"
            && failure["reason"] == "FailedCreate"
            && failure["message"] == message
    };
    living.until(&REPLICA_SETS, SHOP, "web", has_failed).await;
    living.create(&PRIORITY_CLASSES, "", json!({"metadata": {"name": "urgent"}, "value": 1})).await;
    living.until_pods(SHOP, |pods| pods.len() == 1).await;
    let is_over = |set: Option<&Value>| {
        let status = &set.unwrap()["status"];
        status.get("conditions").is_none() && status["replicas"] == 1
    };
    living.until(&REPLICA_SETS, SHOP, "web", is_over).await;
    living.stop().await;
}

#[tokio::test]
async fn a_terminating_replica_set_only_updates_its_status() {
    let living = Living::start().await;
    living.namespace(SHOP).await;
    let mut set = web(2, &template("web", "web:1"));
    set["metadata"]["finalizers"] = json!(["example.com/held"]);
    living.create(&REPLICA_SETS, SHOP, set).await;
    living
        .until(&REPLICA_SETS, SHOP, "web", |set| set.is_some_and(|set| set["status"]["replicas"] == 2))
        .await;
    living.delete(&REPLICA_SETS, SHOP, "web", &Default::default()).await;
    let pods = living.list(&PODS, SHOP).await;
    living.remove(&pods[0]).await;
    living
        .until(&REPLICA_SETS, SHOP, "web", |set| set.is_some_and(|set| set["status"]["replicas"] == 1))
        .await;
    let left = living.list(&PODS, SHOP).await;
    assert_eq!(left.iter().map(name).collect::<Vec<_>>(), [name(&pods[1])]);
    assert!(!is_ready(&left[0]));
    living.stop().await;
}
