//! Examples of defaults, kind by kind; `oracle/tests/defaults.rs` compares them with kube-apiserver.

use serde_json::{Value, json};

use super::TABLE;
use crate::registry;

fn defaulted(group: &str, version: &str, kind: &str, object: Value) -> Value {
    let Value::Object(mut fields) = object else { panic!("not an object") };
    TABLE.apply(group, version, kind, &mut fields);
    let once = fields.clone();
    TABLE.apply(group, version, kind, &mut fields);
    assert_eq!(fields, once, "defaults.D2");
    fields.into()
}

fn spec(group: &str, version: &str, kind: &str, sent: impl Into<Value>) -> Value {
    let object = json!({"metadata": {"name": "a"}, "spec": sent.into()});
    defaulted(group, version, kind, object)["spec"].take()
}

#[test]
fn the_table_names_kinds_that_are_served() {
    for name in TABLE.kinds() {
        let words: Vec<&str> = name.split(' ').collect();
        let [group, version, kind] = words[..] else { panic!("{name}") };
        let group = if group == "-" { "" } else { group };
        assert!(registry::builtin().by_kind(group, version, kind).is_some(), "{name}");
    }
}

#[test]
fn a_pod_gets_all_that_a_kubelet_needs() {
    let sent = json!({
        "hostNetwork": true,
        "serviceAccount": "robot",
        "containers": [{
            "name": "a",
            "image": "nginx",
            "ports": [{"containerPort": 80}],
            "resources": {"limits": {"cpu": "1"}},
            "livenessProbe": {"httpGet": {"port": 80}},
        }],
        "volumes": [{"name": "v"}, {"name": "s", "secret": {"secretName": "s"}}],
    });
    let expected = json!({
        "hostNetwork": true,
        "serviceAccount": "robot",
        "serviceAccountName": "robot",
        "enableServiceLinks": true,
        "dnsPolicy": "ClusterFirst",
        "restartPolicy": "Always",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
        "schedulerName": "default-scheduler",
        "containers": [{
            "name": "a",
            "image": "nginx",
            "imagePullPolicy": "Always",
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
            "ports": [{"containerPort": 80, "hostPort": 80, "protocol": "TCP"}],
            "resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}},
            "livenessProbe": {
                "httpGet": {"port": 80, "path": "/", "scheme": "HTTP"},
                "timeoutSeconds": 1,
                "periodSeconds": 10,
                "successThreshold": 1,
                "failureThreshold": 3,
            },
        }],
        "volumes": [
            {"name": "v", "emptyDir": {}},
            {"name": "s", "secret": {"secretName": "s", "defaultMode": 420}},
        ],
    });
    assert_eq!(spec("", "v1", "Pod", sent), expected);
}

#[test]
fn limits_of_a_template_do_not_become_requests() {
    let template = json!({"spec": {"containers": [{"name": "a", "resources": {"limits": {"cpu": "1"}}}]}});
    let set = spec("apps", "v1", "ReplicaSet", json!({"template": template}));
    assert_eq!(set["replicas"], 1);
    assert_eq!(set["template"]["spec"]["restartPolicy"], "Always");
    assert_eq!(set["template"]["spec"]["containers"][0]["resources"], json!({"limits": {"cpu": "1"}}));
}

#[test]
fn a_strategy_is_completed_by_its_type() {
    let rolling = spec("apps", "v1", "Deployment", json!({}))["strategy"].take();
    let expected =
        json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}});
    assert_eq!(rolling, expected);
    let recreated = spec("apps", "v1", "Deployment", json!({"strategy": {"type": "Recreate"}}));
    assert_eq!(recreated["strategy"], json!({"type": "Recreate"}));
    let sent = json!({"updateStrategy": {"type": "RollingUpdate"}});
    let bare = spec("apps", "v1", "StatefulSet", sent);
    assert_eq!(bare["updateStrategy"], json!({"type": "RollingUpdate"}));
}

#[test]
fn a_service_is_completed_by_its_type() {
    let plain = spec("", "v1", "Service", json!({"ports": [{"port": 80, "targetPort": 0}]}));
    assert_eq!(plain["ports"], json!([{"port": 80, "protocol": "TCP", "targetPort": 80}]));
    assert_eq!(plain["type"], "ClusterIP");
    assert_eq!(plain["internalTrafficPolicy"], "Cluster");
    assert_eq!(plain["externalTrafficPolicy"], Value::Null);
    let name = spec("", "v1", "Service", json!({"type": "ExternalName", "externalName": "a.example"}));
    assert_eq!(name, json!({"type": "ExternalName", "externalName": "a.example", "sessionAffinity": "None"}));
    let sticky = spec("", "v1", "Service", json!({"sessionAffinity": "ClientIP"}));
    assert_eq!(sticky["sessionAffinityConfig"], json!({"clientIP": {"timeoutSeconds": 10800}}));
}

#[test]
fn a_job_runs_once_by_default() {
    let job = spec("batch", "v1", "Job", json!({}));
    assert_eq!(
        (&job["completions"], &job["parallelism"], &job["backoffLimit"]),
        (&json!(1), &json!(1), &json!(6))
    );
    let queue = spec("batch", "v1", "Job", json!({"parallelism": 3, "backoffLimitPerIndex": 1}));
    assert_eq!((&queue["completions"], &queue["backoffLimit"]), (&Value::Null, &json!(i32::MAX)));
    let careful = spec("batch", "v1", "Job", json!({"podFailurePolicy": {"rules": []}}));
    assert_eq!(careful["podReplacementPolicy"], "Failed");
}

#[test]
fn scaling_rules_are_completed_if_one_is_set() {
    let sent = json!({"behavior": {"scaleDown": {"selectPolicy": "Disabled"}}});
    let completed = spec("autoscaling", "v2", "HorizontalPodAutoscaler", sent)["behavior"].take();
    assert_eq!(completed["scaleDown"]["selectPolicy"], "Disabled");
    assert_eq!(completed["scaleUp"]["stabilizationWindowSeconds"], 0);
    let silent = spec("autoscaling", "v2", "HorizontalPodAutoscaler", json!({}));
    assert_eq!(silent["behavior"], Value::Null);
    assert_eq!(silent["metrics"][0]["resource"]["target"]["averageUtilization"], 80);
}

#[test]
fn limits_of_containers_default_to_each_other() {
    let sent = json!({"limits": [{"type": "Container", "max": {"cpu": "2"}, "min": {"memory": "1Mi"}}]});
    let limit = spec("", "v1", "LimitRange", sent)["limits"][0].take();
    assert_eq!(limit["default"], json!({"cpu": "2"}));
    assert_eq!(limit["defaultRequest"], json!({"cpu": "2", "memory": "1Mi"}));
}

#[test]
fn the_address_of_a_pod_and_its_addresses_agree() {
    for (sent, expected) in [
        (json!({"podIP": "1.1.1.1"}), "1.1.1.1"),
        (json!({"podIPs": [{"ip": "1.1.1.2"}, {"ip": "::1"}]}), "1.1.1.2"),
        (json!({"podIP": "1.1.1.3", "podIPs": [{"ip": "1.1.1.4"}]}), "1.1.1.3"),
    ] {
        let status = defaulted("", "v1", "Pod", json!({"status": sent}))["status"].take();
        assert_eq!((&status["podIP"], &status["podIPs"][0]["ip"]), (&json!(expected), &json!(expected)));
    }
}

#[test]
fn string_data_of_a_secret_becomes_data() {
    let sent = json!({"data": {"a": "MQ==", "b": "Mg=="}, "stringData": {"a": "9", "c": ""}});
    let expected = json!({"type": "Opaque", "data": {"a": "OQ==", "b": "Mg==", "c": ""}});
    assert_eq!(defaulted("", "v1", "Secret", sent), expected);
}
