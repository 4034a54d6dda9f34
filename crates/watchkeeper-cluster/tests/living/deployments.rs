//! Deployments and their replica sets.

use std::collections::HashMap;

use serde_json::{Value, json};
use watchkeeper_cache::delta::Delta;
use watchkeeper_cache::handler::{Filter, RawEvent, RawEvents};
use watchkeeper_client::dynamic::DynamicObject;
use watchkeeper_wire::Kind;

use crate::by_hand::{is_child_of, is_ready, name, template};
use crate::living::{Living, Of, PODS};
use crate::replica_sets::REPLICA_SETS;

const DEPLOYMENTS: Of = Of("apps/v1/deployments", "Deployment");
const EVENTS: Of = Of("v1/events", "Event");
const SHOP: &str = "shop";
const HASH: &str = "pod-template-hash";
const REVISION: &str = "deployment.kubernetes.io/revision";
const HISTORY: &str = "deployment.kubernetes.io/revision-history";

/// Returns a deployment `web`, with more fields in its spec.
fn web(replicas: i32, more: &Value) -> Value {
    let mut spec = json!({
        "replicas": replicas,
        "selector": {"matchLabels": {"app": "web"}},
        "template": template("web", "web:1"),
    });
    for (field, value) in more.as_object().unwrap() {
        spec[field] = value.clone();
    }
    json!({"metadata": {"name": "web"}, "spec": spec})
}

fn rolling(surge: i32, unavailable: i32) -> Value {
    let rolling = json!({"maxSurge": surge, "maxUnavailable": unavailable});
    json!({"type": "RollingUpdate", "rollingUpdate": rolling})
}

fn image(image: &str) -> Value {
    json!({"spec": {"template": {"spec": {"containers": [{"name": "web", "image": image}]}}}})
}

/// Returns the conditions in short form, sorted.
fn summary(deployment: &Value) -> Vec<String> {
    let conditions = deployment["status"]["conditions"].as_array();
    let text = |each: &Value, field: &str| each[field].as_str().unwrap_or_default().to_owned();
    let short = |each: &Value| {
        let [kind, status, reason, message] =
            ["type", "status", "reason", "message"].map(|name| text(each, name));
        format!("{kind} {status} {reason}: {message}")
    };
    let mut all: Vec<String> = conditions.into_iter().flatten().map(short).collect();
    all.sort();
    all
}

fn revision(object: &Value) -> &str {
    object["metadata"]["annotations"][REVISION].as_str().unwrap_or_default()
}

impl Living {
    async fn until_web(&self, is_so: impl Fn(&Value) -> bool) -> Value {
        self.until(&DEPLOYMENTS, SHOP, "web", |web| web.is_some_and(&is_so)).await;
        self.get(&DEPLOYMENTS, SHOP, "web").await.unwrap()
    }

    /// Waits until all pods have the newest template and are available.
    async fn until_rolled(&self, revision_wanted: &str) -> Value {
        self.until_web(|web| {
            let (status, wanted) = (&web["status"], &web["spec"]["replicas"]);
            let counts = ["replicas", "updatedReplicas", "readyReplicas", "availableReplicas"];
            revision(web) == revision_wanted
                && counts.iter().all(|count| status[count] == *wanted)
                && status["observedGeneration"] == web["metadata"]["generation"]
                && status["terminatingReplicas"] == 0
                && summary(web).iter().any(|each| each.starts_with("Progressing True NewReplicaSetAvailable"))
        })
        .await
    }

    /// Waits until the replica sets have these desired sizes, by image.
    async fn until_sizes(&self, expected: &[(&str, i64)]) {
        let expected: HashMap<&str, i64> = expected.iter().copied().collect();
        self.until_all(&REPLICA_SETS, |all| {
            let sizes = all.iter().map(|(_, set)| {
                let image = set["spec"]["template"]["spec"]["containers"][0]["image"].as_str().unwrap();
                (image, set["spec"]["replicas"].as_i64().unwrap())
            });
            sizes.collect::<HashMap<_, _>>() == expected
        })
        .await;
    }

    async fn set_of(&self, image: &str) -> Value {
        let mut sets = self.list(&REPLICA_SETS, SHOP).await;
        sets.retain(|set| set["spec"]["template"]["spec"]["containers"][0]["image"] == image);
        assert_eq!(sets.len(), 1, "{sets:?}");
        sets.remove(0)
    }

    async fn patch_web(&self, patch: Value) {
        self.patch(&DEPLOYMENTS, SHOP, "web", patch).await;
    }
}

#[tokio::test]
async fn a_deployment_creates_pods_that_become_available() {
    let living = Living::start().await;
    living.namespace(SHOP).await;
    let mut deployment = web(3, &json!({}));
    deployment["metadata"]["annotations"] = json!({"team": "shop"});
    living.create(&DEPLOYMENTS, SHOP, deployment).await;
    let unavailable =
        "Available False MinimumReplicasUnavailable: Deployment does not have minimum availability.";
    let web = living.until_web(|web| web["status"]["updatedReplicas"] == 3).await;
    let set = living.set_of("web:1").await;
    let progressing =
        format!("Progressing True ReplicaSetUpdated: ReplicaSet {:?} is progressing.", name(&set));
    assert_eq!(summary(&web), [unavailable, &progressing]);
    assert_eq!(web["status"]["unavailableReplicas"], 3);

    let _kubelet = living.manual_kubelet();
    let web = living.until_rolled("1").await;
    let hash = set["metadata"]["labels"][HASH].as_str().unwrap();
    assert_eq!(name(&set), format!("web-{hash}"));
    assert!(is_child_of(&set, &web));
    assert_eq!(set["spec"]["selector"]["matchLabels"], json!({"app": "web", HASH: hash}));
    let annotations = json!({
        "team": "shop", REVISION: "1", "deployment.kubernetes.io/desired-replicas": "3",
        "deployment.kubernetes.io/max-replicas": "4",
    });
    assert_eq!(set["metadata"]["annotations"], annotations);
    let available = "Available True MinimumReplicasAvailable: Deployment has minimum availability.";
    let progressed = format!(
        "Progressing True NewReplicaSetAvailable: ReplicaSet {:?} has successfully progressed.",
        name(&set)
    );
    assert_eq!(summary(&web), [available, &progressed]);
    for pod in living.list(&PODS, SHOP).await {
        assert_eq!(pod["metadata"]["labels"], json!({"app": "web", HASH: hash}));
    }
    living.stop().await;
}

#[tokio::test]
async fn scaling_is_recorded_in_events() {
    let living = Living::start().await;
    living.namespace(SHOP).await;
    living.create(&DEPLOYMENTS, SHOP, web(2, &json!({}))).await;
    living.until_web(|web| web["status"]["updatedReplicas"] == 2).await;
    living.patch_web(json!({"spec": {"replicas": 0}})).await;
    let set = living.set_of("web:1").await;
    let set = name(&set);
    let expected = [
        ("deployment-controller", "ScalingReplicaSet", format!("Scaled up replica set {set} from 0 to 2"), 1),
        (
            "deployment-controller",
            "ScalingReplicaSet",
            format!("Scaled down replica set {set} from 2 to 0"),
            1,
        ),
        ("replicaset-controller", "SuccessfulCreate", format!("Created pod: {set}-"), 2),
        ("replicaset-controller", "SuccessfulDelete", format!("Deleted pod: {set}-"), 2),
    ];
    living
        .until_all(&EVENTS, |all| {
            let here = |event: &&Value| event["metadata"]["namespace"] == SHOP && event["type"] == "Normal";
            let events: Vec<&Value> = all.iter().map(|(_, event)| event).filter(here).collect();
            expected.iter().all(|(component, reason, message, count)| {
                let is_so = |event: &&&Value| {
                    let (kind, name) = match *component {
                        "deployment-controller" => ("Deployment", "web"),
                        _ => ("ReplicaSet", set),
                    };
                    event["source"]["component"] == *component
                        && event["reason"] == *reason
                        && event["message"].as_str().is_some_and(|text| text.starts_with(message))
                        && event["involvedObject"]["kind"] == kind
                        && event["involvedObject"]["name"] == name
                };
                events.iter().filter(is_so).count() == *count
            })
        })
        .await;
    living.stop().await;
}

/// Returns the highest total of desired replicas and the lowest number of ready pods over all events.
async fn extremes(mut sets: RawEvents, mut pods: RawEvents, living: &Living) -> (i64, usize) {
    // The end of both streams is marked by these objects.
    let marker = json!({"metadata": {"name": "marker"}, "spec": {"replicas": 0,
        "selector": {"matchLabels": {"app": "marker"}}, "template": template("marker", "marker")}});
    living.create(&REPLICA_SETS, SHOP, marker).await;
    let mut pod = template("marker", "marker");
    pod["metadata"] = json!({"name": "marker"});
    living.create(&PODS, SHOP, pod).await;

    let (mut wanted, mut most) = (HashMap::new(), 0);
    while let Some((key, set)) = state(&mut sets, &Kind::new("apps", "v1", "ReplicaSet")).await {
        wanted.insert(key, set.and_then(|set| set["spec"]["replicas"].as_i64()).unwrap_or_default());
        most = most.max(wanted.values().sum());
    }
    let (mut serving, mut least, mut is_full) = (HashMap::new(), usize::MAX, false);
    while let Some((key, pod)) = state(&mut pods, &Kind::new("", "v1", "Pod")).await {
        let serves =
            pod.is_some_and(|pod| is_ready(&pod) && pod["metadata"].get("deletionTimestamp").is_none());
        serving.insert(key, serves);
        let count = serving.values().filter(|serves| **serves).count();
        is_full |= count == 4;
        if is_full {
            least = least.min(count);
        }
    }
    (most, least)
}

/// Returns the next object observed, `None` inside if it was deleted, or `None` at the marker.
async fn state(events: &mut RawEvents, kind: &Kind) -> Option<(String, Option<Value>)> {
    let RawEvent::Event(event) = events.next().await.unwrap() else { panic!("events were missed") };
    let head = &event.newest().metadata;
    if head.key().name() == "marker" {
        return None;
    }
    let is_gone = matches!(event, Delta::Deleted { .. });
    let object: DynamicObject = watchkeeper_wire::decode(&event.newest().encoded, kind).unwrap();
    Some((head.key().to_string(), (!is_gone).then(|| object.into())))
}

#[tokio::test]
async fn a_new_template_rolls_out_and_can_be_rolled_back() {
    let living = Living::start().await;
    living.namespace(SHOP).await;
    let _kubelet = living.manual_kubelet();
    living.create(&DEPLOYMENTS, SHOP, web(4, &json!({"strategy": rolling(1, 1)}))).await;
    living.until_rolled("1").await;
    living.until_all(&REPLICA_SETS, |sets| sets.len() == 1).await;
    let events = |of| living.informer(of).raw_events(Filter::namespace(SHOP), 100_000);
    let (sets, pods) = (events(&REPLICA_SETS), events(&PODS));

    living.patch_web(image("web:2")).await;
    living.until_rolled("2").await;
    let first = living.set_of("web:1").await;
    assert_eq!((&first["spec"]["replicas"], revision(&first)), (&json!(0), "1"));
    assert_eq!(revision(&living.set_of("web:2").await), "2");

    // As `kubectl rollout undo` does.
    living.patch_web(image("web:1")).await;
    living.until_rolled("3").await;
    let again = living.set_of("web:1").await;
    assert_eq!(again["metadata"]["uid"], first["metadata"]["uid"]);
    assert_eq!((&again["spec"]["replicas"], revision(&again)), (&json!(4), "3"));
    assert_eq!(again["metadata"]["annotations"][HISTORY], "1");
    assert_eq!(living.list(&REPLICA_SETS, SHOP).await.len(), 2);

    let (most, least) = extremes(sets, pods, &living).await;
    assert_eq!(most, 5, "4 with a surge of 1");
    assert!(least >= 3, "{least} ready");
    living.stop().await;
}

#[tokio::test]
async fn recreate_waits_for_the_last_old_pod() {
    let living = Living::start().await;
    living.namespace(SHOP).await;
    // On a node, so that their deletion takes time.
    let mut on_a_node = template("web", "web:1");
    on_a_node["spec"]["nodeName"] = "elsewhere".into();
    let spec = json!({"strategy": {"type": "Recreate"}, "template": on_a_node});
    living.create(&DEPLOYMENTS, SHOP, web(2, &spec)).await;
    living.until_pods(SHOP, |pods| pods.len() == 2).await;
    let old = living.list(&PODS, SHOP).await;
    living.patch_web(image("web:2")).await;
    living.until_sizes(&[("web:1", 0)]).await;
    living.until_web(|web| web["status"]["terminatingReplicas"] == 2).await;
    living.remove(&old[0]).await;
    let web = living.until_web(|web| web["status"]["terminatingReplicas"] == 1).await;
    assert_eq!(web["status"].get("updatedReplicas"), None);
    living.until_sizes(&[("web:1", 0)]).await;
    living.remove(&old[1]).await;
    living.until_sizes(&[("web:1", 0), ("web:2", 2)]).await;
    let _kubelet = living.manual_kubelet();
    living.until_rolled("2").await;
    living.stop().await;
}

#[tokio::test]
async fn scaling_during_a_rollout_is_proportional() {
    let living = Living::start().await;
    living.namespace(SHOP).await;
    let kubelet = living.manual_kubelet();
    living.create(&DEPLOYMENTS, SHOP, web(10, &json!({"strategy": rolling(3, 2)}))).await;
    living.until_rolled("1").await;
    drop(kubelet);
    // The new pods never become ready.
    living.patch_web(image("web:2")).await;
    living.until_sizes(&[("web:1", 8), ("web:2", 5)]).await;
    living.patch_web(json!({"spec": {"replicas": 20}})).await;
    living.until_sizes(&[("web:1", 14), ("web:2", 9)]).await;
    living.patch_web(json!({"spec": {"replicas": 0}})).await;
    living.until_sizes(&[("web:1", 0), ("web:2", 0)]).await;
    let web = living.until_web(|web| web["status"].get("replicas").is_none()).await;
    assert_eq!(web["status"]["conditions"].as_array().unwrap().len(), 2);
    living.stop().await;
}

#[tokio::test]
async fn a_paused_deployment_scales_but_does_not_roll_out() {
    let living = Living::start().await;
    living.namespace(SHOP).await;
    let _kubelet = living.manual_kubelet();
    living.create(&DEPLOYMENTS, SHOP, web(2, &json!({}))).await;
    living.until_rolled("1").await;
    let mut patch = image("web:2");
    patch["spec"]["paused"] = true.into();
    patch["spec"]["replicas"] = 3.into();
    living.patch_web(patch).await;
    living.until_sizes(&[("web:1", 3)]).await;
    let web = living.until_web(|web| web["status"]["availableReplicas"] == 3).await;
    assert_eq!(web["status"].get("updatedReplicas"), None);
    assert_eq!(summary(&web)[1], "Progressing Unknown DeploymentPaused: Deployment is paused");
    living.patch_web(json!({"spec": {"paused": false}})).await;
    living.until_rolled("2").await;
    living.until_sizes(&[("web:1", 0), ("web:2", 3)]).await;
    living.stop().await;
}

#[tokio::test]
async fn the_revision_history_limit_is_respected() {
    let living = Living::start().await;
    living.namespace(SHOP).await;
    let _kubelet = living.manual_kubelet();
    living.create(&DEPLOYMENTS, SHOP, web(1, &json!({"revisionHistoryLimit": 1}))).await;
    living.until_rolled("1").await;
    for number in 2..=4 {
        living.patch_web(image(&format!("web:{number}"))).await;
        living.until_rolled(&number.to_string()).await;
    }
    living.until_sizes(&[("web:3", 0), ("web:4", 1)]).await;
    living.stop().await;
}

#[tokio::test]
async fn a_stuck_rollout_exceeds_its_progress_deadline() {
    let living = Living::start().await;
    living.namespace(SHOP).await;
    let mut spec = json!({"progressDeadlineSeconds": 1, "template": template("web", "web:1")});
    spec["template"]["spec"]["priorityClassName"] = "urgent".into();
    living.create(&DEPLOYMENTS, SHOP, web(1, &spec)).await;
    let web = living
        .until_web(|web| summary(web).iter().any(|each| each.contains("ProgressDeadlineExceeded")))
        .await;
    let set = living.set_of("web:1").await;
    let timed_out = format!(
        "Progressing False ProgressDeadlineExceeded: ReplicaSet {:?} has timed out progressing.",
        name(&set)
    );
    let failed = format!(
        "ReplicaFailure True FailedCreate: pods \"{}-\" is forbidden: no PriorityClass with name urgent was found",
        name(&set)
    );
    assert_eq!(summary(&web)[1..], [timed_out, failed]);
    living.stop().await;
}

#[tokio::test]
async fn a_replica_set_with_the_same_template_is_adopted() {
    let living = Living::start().await;
    living.namespace(SHOP).await;
    let set = json!({
        "metadata": {"name": "by-hand", "labels": {"app": "web"}},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template("web", "web:1")},
    });
    living.create(&REPLICA_SETS, SHOP, set).await;
    let _kubelet = living.manual_kubelet();
    let web = living.create(&DEPLOYMENTS, SHOP, web(3, &json!({}))).await;
    living.until(&REPLICA_SETS, SHOP, "by-hand", |set| set.is_some_and(|set| is_child_of(set, &web))).await;
    living.until_rolled("1").await;
    let set = living.set_of("web:1").await;
    assert_eq!((name(&set), &set["spec"]["replicas"]), ("by-hand", &json!(3)));
    // A replica set that is no longer selected is released and replaced.
    living.patch(&REPLICA_SETS, SHOP, "by-hand", json!({"metadata": {"labels": {"app": "other"}}})).await;
    let is_free = |set: &Value| set["metadata"].get("ownerReferences").is_none();
    living.until(&REPLICA_SETS, SHOP, "by-hand", |set| set.is_some_and(is_free)).await;
    living.until_all(&REPLICA_SETS, |sets| sets.iter().any(|(_, set)| is_child_of(set, &web))).await;
    living.stop().await;
}

#[tokio::test]
async fn a_name_collision_changes_the_hash() {
    let living = Living::start().await;
    living.namespace("first").await;
    living.namespace(SHOP).await;
    living.create(&DEPLOYMENTS, "first", web(1, &json!({}))).await;
    living.until_all(&REPLICA_SETS, |sets| sets.len() == 1).await;
    let taken = living.list(&REPLICA_SETS, "first").await.remove(0);
    let other = json!({
        "metadata": {"name": name(&taken)},
        "spec": {"replicas": 0, "selector": {"matchLabels": {"app": "other"}}, "template": template("other", "other")},
    });
    living.create(&REPLICA_SETS, SHOP, other).await;
    living.create(&DEPLOYMENTS, SHOP, web(1, &json!({}))).await;
    let web = living.until_web(|web| web["status"]["updatedReplicas"] == 1).await;
    assert_eq!(web["status"]["collisionCount"], 1);
    let set = living.set_of("web:1").await;
    assert!(is_child_of(&set, &web) && name(&set) != name(&taken));
    living.stop().await;
}

#[tokio::test]
async fn a_terminating_deployment_only_updates_its_status() {
    let living = Living::start().await;
    living.namespace(SHOP).await;
    let _kubelet = living.manual_kubelet();
    let mut deployment = web(2, &json!({}));
    deployment["metadata"]["finalizers"] = json!(["example.com/held"]);
    living.create(&DEPLOYMENTS, SHOP, deployment).await;
    living.until_rolled("1").await;
    living.delete(&DEPLOYMENTS, SHOP, "web", &Default::default()).await;
    living.patch_web(image("web:2")).await;
    living.until_web(|web| web["status"]["observedGeneration"] == web["metadata"]["generation"]).await;
    living.until_sizes(&[("web:1", 2)]).await;
    living.stop().await;
}
