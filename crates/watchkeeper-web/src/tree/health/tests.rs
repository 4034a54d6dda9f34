use proptest::prelude::*;
use serde_json::json;

use super::*;

/// Formats a condition as `healthy: 3/3 ready`.
fn formatted(group: &str, kind: &str, object: &Value) -> String {
    let condition = assess(group, kind, object);
    format!("{}: {}", condition.health.as_str(), condition.status)
}

#[test]
fn deleted_and_unobserved_objects_are_progressing() {
    let gone =
        json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}, "status": {"phase": "Failed"}});
    assert_eq!(formatted("", "Pod", &gone), "progressing: Terminating");
    let unseen =
        json!({"metadata": {"generation": 3}, "status": {"observedGeneration": 2, "readyReplicas": 1}});
    assert_eq!(formatted("apps", "Deployment", &unseen), "progressing: not observed by its controller yet");
    assert_eq!(formatted("x.io", "Thing", &unseen), "progressing: not observed by its controller yet");
}

#[test]
fn deployments_are_healthy_when_the_rollout_is_complete() {
    let deployment =
        |status: Value| formatted("apps", "Deployment", &json!({"spec": {"replicas": 3}, "status": status}));
    let counts = |all: i64, updated: i64, ready: i64, available: i64| json!({"replicas": all, "updatedReplicas": updated, "readyReplicas": ready, "availableReplicas": available});
    assert_eq!(deployment(counts(3, 3, 3, 3)), "healthy: 3/3 ready");
    assert_eq!(deployment(counts(3, 3, 3, 2)), "progressing: 3/3 ready");
    assert_eq!(deployment(counts(4, 3, 3, 3)), "progressing: 3/3 ready, 1 old");
    assert_eq!(deployment(counts(4, 1, 3, 3)), "progressing: 3/3 ready, 1 updated");
    let mut stuck = counts(4, 3, 2, 2);
    stuck["conditions"] =
        json!([{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}]);
    assert_eq!(deployment(stuck), "degraded: 2/3 ready, ProgressDeadlineExceeded");
    let mut refused = counts(0, 0, 0, 0);
    refused["conditions"] = json!([{"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate"}]);
    assert_eq!(deployment(refused), "degraded: 0/3 ready, FailedCreate");
    assert_eq!(formatted("apps", "Deployment", &json!({})), "progressing: 0/1 ready, 0 updated");
    assert_eq!(
        formatted("other.io", "Deployment", &json!({})),
        "unknown: ",
        "a kind of the same name in another group"
    );
}

#[test]
fn replica_counts_decide_the_health_of_sets() {
    let set = |kind: &str, spec: Value, status: Value| {
        formatted("apps", kind, &json!({"spec": spec, "status": status}))
    };
    assert_eq!(set("ReplicaSet", json!({"replicas": 0}), json!({})), "healthy: 0/0 ready");
    assert_eq!(
        set("ReplicaSet", json!({"replicas": 2}), json!({"readyReplicas": 2})),
        "progressing: 2/2 ready"
    );
    let both = json!({"readyReplicas": 2, "availableReplicas": 2});
    assert_eq!(set("ReplicaSet", json!({"replicas": 2}), both), "healthy: 2/2 ready");

    let rolling =
        json!({"readyReplicas": 3, "updatedReplicas": 1, "currentRevision": "a", "updateRevision": "b"});
    assert_eq!(
        set("StatefulSet", json!({"replicas": 3}), rolling.clone()),
        "progressing: 3/3 ready, 1 updated"
    );
    let partition = json!({"replicas": 3, "updateStrategy": {"rollingUpdate": {"partition": 2}}});
    assert_eq!(set("StatefulSet", partition, rolling.clone()), "healthy: 3/3 ready");
    let on_delete = json!({"replicas": 3, "updateStrategy": {"type": "OnDelete"}});
    assert_eq!(set("StatefulSet", on_delete, rolling), "healthy: 3/3 ready");
    assert_eq!(
        set("StatefulSet", json!({"replicas": 3}), json!({"readyReplicas": 2})),
        "progressing: 2/3 ready"
    );

    let daemons = |updated: i64, available: i64| json!({"desiredNumberScheduled": 2, "numberReady": 2, "updatedNumberScheduled": updated, "numberAvailable": available});
    assert_eq!(set("DaemonSet", json!({}), daemons(2, 2)), "healthy: 2/2 ready");
    assert_eq!(set("DaemonSet", json!({}), daemons(1, 2)), "progressing: 2/2 ready, 1 updated");
    assert_eq!(set("DaemonSet", json!({}), daemons(2, 1)), "progressing: 2/2 ready");
}

#[test]
fn jobs_succeed_or_fail() {
    let job =
        |spec: Value, status: Value| formatted("batch", "Job", &json!({"spec": spec, "status": status}));
    let is = |name: &str, reason: &str| json!({"conditions": [{"type": name, "status": "True", "reason": reason}]});
    assert_eq!(job(json!({}), is("Complete", "")), "healthy: Complete");
    assert_eq!(job(json!({}), is("Failed", "BackoffLimitExceeded")), "degraded: BackoffLimitExceeded");
    assert_eq!(job(json!({"suspend": true}), json!({})), "healthy: Suspended");
    assert_eq!(
        job(json!({"completions": 5}), json!({"succeeded": 2, "failed": 1, "active": 1})),
        "progressing: 2/5 done, 1 failed"
    );
}

#[test]
fn cron_jobs_have_the_health_of_their_last_run() {
    let cron = |status: Value| formatted("batch", "CronJob", &json!({"spec": {}, "status": status}));
    let (early, late) = ("2026-01-01T00:00:00Z", "2026-01-01T00:00:09Z");
    assert_eq!(cron(json!({})), "healthy: not run yet");
    assert_eq!(cron(json!({"active": [{}], "lastScheduleTime": early})), "progressing: 1 active");
    let good = json!({"lastScheduleTime": early, "lastSuccessfulTime": late});
    assert_eq!(cron(good), "healthy: last run succeeded");
    let bad = json!({"lastScheduleTime": late, "lastSuccessfulTime": early});
    assert_eq!(cron(bad), "degraded: last run did not succeed");
    assert_eq!(formatted("batch", "CronJob", &json!({"spec": {"suspend": true}})), "healthy: Suspended");
}

#[test]
fn pods_are_healthy_when_ready_and_degraded_with_a_reason() {
    let pod = |status: Value| {
        formatted("", "Pod", &json!({"metadata": {}, "spec": {"containers": [{}]}, "status": status}))
    };
    let state = |state: Value, ready: bool| {
        let conditions = [json!({"type": "ContainersReady", "status": if ready { "True" } else { "False" }})];
        json!({"phase": "Running", "containerStatuses": [{"ready": ready, "state": state}], "conditions": conditions})
    };
    let waiting = |reason: &str| state(json!({"waiting": {"reason": reason}}), false);
    assert_eq!(pod(state(json!({"running": {}}), true)), "healthy: 1/1 ready");
    assert_eq!(pod(state(json!({"running": {}}), false)), "progressing: 0/1 ready");
    assert_eq!(pod(waiting("ContainerCreating")), "progressing: 0/1 ready");
    assert_eq!(pod(waiting("CrashLoopBackOff")), "degraded: 0/1 ready, CrashLoopBackOff");
    assert_eq!(pod(waiting("ImagePullBackOff")), "degraded: 0/1 ready, ImagePullBackOff");
    assert_eq!(
        pod(state(json!({"terminated": {"exitCode": 1, "reason": "Error"}}), false)),
        "degraded: 0/1 ready, Error"
    );
    let init = json!({"phase": "Pending", "initContainerStatuses": [{"state": {"waiting": {"reason": "ErrImagePull"}}}]});
    assert_eq!(pod(init), "degraded: 0/1 ready, ErrImagePull");
    assert_eq!(pod(json!({"phase": "Succeeded"})), "healthy: Completed");
    assert_eq!(pod(json!({"phase": "Failed", "reason": "Evicted"})), "degraded: Evicted");
    assert_eq!(pod(json!({"phase": "Failed"})), "degraded: Failed");
    assert_eq!(pod(json!({"phase": "Unknown"})), "unknown: Unknown");
    let unplaced = |reason: &str| json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "reason": reason}]});
    assert_eq!(pod(unplaced("Unschedulable")), "degraded: Unschedulable");
    assert_eq!(pod(unplaced("SchedulingGated")), "progressing: SchedulingGated");
}

#[test]
fn pods_wait_for_their_readiness_gates() {
    let status = json!({
        "phase": "Running",
        "containerStatuses": [{"ready": true, "state": {"running": {}}}],
        "conditions": [{"type": "ContainersReady", "status": "True"}],
    });
    let spec = json!({"containers": [{}], "readinessGates": [{"conditionType": "load"}]});
    let pod = json!({"metadata": {}, "spec": spec, "status": status});
    assert_eq!(formatted("", "Pod", &pod), "progressing: 1/1 ready");
}

#[test]
fn services_volumes_nodes_and_namespaces_have_a_health() {
    let balanced = |ingress: Value| json!({"spec": {"type": "LoadBalancer"}, "status": {"loadBalancer": {"ingress": ingress}}});
    assert_eq!(formatted("", "Service", &json!({"spec": {"type": "NodePort"}})), "healthy: NodePort");
    assert_eq!(formatted("", "Service", &balanced(json!([]))), "progressing: waiting for its load balancer");
    assert_eq!(formatted("", "Service", &balanced(json!([{"ip": "1.2.3.4"}]))), "healthy: LoadBalancer");
    let phase = |phase: &str| json!({"status": {"phase": phase}});
    assert_eq!(formatted("", "PersistentVolumeClaim", &phase("Bound")), "healthy: Bound");
    assert_eq!(formatted("", "PersistentVolumeClaim", &phase("Pending")), "progressing: Pending");
    assert_eq!(formatted("", "PersistentVolumeClaim", &phase("Lost")), "degraded: Lost");
    assert_eq!(formatted("", "Namespace", &phase("Active")), "healthy: Active");
    assert_eq!(formatted("", "Namespace", &phase("Terminating")), "progressing: Terminating");
    let node = |conditions: &[(&str, &str)], spec: Value| {
        let conditions: Vec<Value> =
            conditions.iter().map(|(name, status)| json!({"type": name, "status": status})).collect();
        formatted("", "Node", &json!({"spec": spec, "status": {"conditions": conditions}}))
    };
    assert_eq!(node(&[("Ready", "True")], json!({})), "healthy: Ready");
    assert_eq!(
        node(&[("Ready", "True")], json!({"unschedulable": true})),
        "healthy: Ready, SchedulingDisabled"
    );
    assert_eq!(node(&[("Ready", "Unknown")], json!({})), "degraded: NotReady");
    assert_eq!(
        node(&[("Ready", "True"), ("DiskPressure", "True")], json!({})),
        "degraded: Ready, DiskPressure"
    );
    assert_eq!(node(&[], json!({})), "unknown: ");
}

#[test]
fn other_kinds_are_assessed_by_their_conditions() {
    let thing = |conditions: &[(&str, &str, &str)]| {
        let conditions: Vec<Value> = conditions
            .iter()
            .map(|(name, status, reason)| json!({"type": name, "status": status, "reason": reason}))
            .collect();
        formatted("x.io", "Thing", &json!({"status": {"conditions": conditions, "phase": "Fine"}}))
    };
    assert_eq!(thing(&[]), "unknown: Fine");
    assert_eq!(thing(&[("Ready", "True", "AllGood")]), "healthy: Ready");
    assert_eq!(thing(&[("Available", "True", ""), ("Progressing", "True", "")]), "healthy: Available");
    assert_eq!(thing(&[("Available", "True", ""), ("Ready", "False", "")]), "degraded: not Ready");
    assert_eq!(thing(&[("Ready", "False", "NoDisk")]), "degraded: not Ready: NoDisk");
    assert_eq!(thing(&[("Ready", "Unknown", "Asking")]), "progressing: not Ready: Asking");
    assert_eq!(
        thing(&[("Ready", "False", "Later"), ("Reconciling", "True", "")]),
        "progressing: not Ready: Later"
    );
    assert_eq!(thing(&[("Ready", "True", ""), ("Stalled", "True", "BadSpec")]), "degraded: BadSpec");
    let old = json!({"metadata": {"generation": 2}, "status": {"conditions": [{"type": "Ready", "status": "True", "observedGeneration": 1}]}});
    assert_eq!(formatted("x.io", "Thing", &old), "progressing: not observed by its controller yet");
}

/// Generates any JSON with the field names that the rules read.
fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        prop_oneof![Just(i64::MIN), Just(i64::MAX), -3..3i64].prop_map(Value::from),
        prop_oneof![Just("True"), Just("Ready"), Just("Pending"), Just("LoadBalancer"), Just("")]
            .prop_map(Value::from),
    ];
    let names = [
        "metadata",
        "spec",
        "status",
        "replicas",
        "conditions",
        "type",
        "updateStrategy",
        "rollingUpdate",
        "partition",
        "containerStatuses",
        "state",
        "waiting",
        "terminated",
        "exitCode",
        "phase",
        "updatedReplicas",
        "generation",
        "observedGeneration",
        "readinessGates",
        "conditionType",
    ];
    leaf.prop_recursive(5, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec((prop::sample::select(names.to_vec()), inner), 0..6).prop_map(|fields| {
                fields
                    .into_iter()
                    .map(|(name, value)| (name.to_owned(), value))
                    .collect::<serde_json::Map<_, _>>()
                    .into()
            }),
        ]
    })
}

proptest! {
    #[test]
    fn assess_never_fails_and_degraded_has_a_status(object in anything()) { // health.H4
        for (group, kind) in [
            ("apps", "Deployment"), ("apps", "ReplicaSet"), ("apps", "StatefulSet"), ("apps", "DaemonSet"),
            ("batch", "Job"), ("batch", "CronJob"), ("", "Pod"), ("", "Service"), ("", "PersistentVolumeClaim"),
            ("", "Node"), ("", "Namespace"), ("x.io", "Thing"),
        ] {
            let condition = assess(group, kind, &object);
            prop_assert!(condition.health != Health::Degraded || !condition.status.is_empty(), "{kind}: {object}");
        }
    }
}
