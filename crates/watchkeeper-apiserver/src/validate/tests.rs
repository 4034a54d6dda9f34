//! Examples of validation; the oracle compares the messages with kube-apiserver's.

use serde_json::{Value, json};

use super::{changed_object, new_object};
use crate::registry;

/// Returns the faults of a new object, each as `path: message`.
fn refusals(group: &str, name: &str, object: &Value) -> Vec<String> {
    let resource = registry::builtin().get(group, "v1", name).unwrap();
    let causes = new_object(resource, object.as_object().unwrap());
    causes.iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect()
}

fn changes(group: &str, name: &str, old: &Value, new: &Value) -> Vec<String> {
    let resource = registry::builtin().get(group, "v1", name).unwrap();
    let causes = changed_object(resource, None, old.as_object().unwrap(), new.as_object().unwrap());
    causes.iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect()
}

fn pod() -> Value {
    json!({"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}]}})
}

fn deployment() -> Value {
    json!({"metadata": {"name": "a"}, "spec": {
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": pod()["spec"]},
    }})
}

#[test]
fn fields_with_defaults_may_be_absent() {
    assert_eq!(refusals("", "pods", &pod()), [""; 0]);
    assert_eq!(refusals("apps", "deployments", &deployment()), [""; 0]);
    let service = json!({"metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]}});
    assert_eq!(refusals("", "services", &service), [""; 0]);
}

#[test]
fn faults_of_metadata_and_spec_are_reported_together() {
    let mut pod = pod();
    pod["metadata"]["name"] = json!("A");
    pod["spec"]["containers"][0]["image"] = json!("");
    pod["spec"]["restartPolicy"] = json!("Sometimes");
    let reported = refusals("", "pods", &pod);
    assert!(
        reported[0].starts_with("metadata.name: Invalid value: \"A\": a lowercase RFC 1123 subdomain"),
        "{reported:?}"
    );
    assert_eq!(
        reported[1..],
        [
            "spec.containers[0].image: Required value",
            r#"spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never""#,
        ]
    );
}

#[test]
fn a_pod_template_is_validated_with_its_workload() {
    let mut deployment = deployment();
    deployment["spec"]["selector"]["matchLabels"]["app"] = json!("db");
    deployment["spec"]["template"]["spec"]["containers"] = json!([]);
    assert_eq!(
        refusals("apps", "deployments", &deployment),
        [
            r#"spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template `labels`"#,
            "spec.template.spec.containers: Required value",
        ]
    );
}

#[test]
fn only_a_few_fields_of_a_pod_may_change() {
    let mut changed = pod();
    changed["spec"]["containers"][0]["image"] = json!("j");
    changed["spec"]["activeDeadlineSeconds"] = json!(5);
    changed["spec"]["tolerations"] = json!([{"key": "a", "operator": "Exists"}]);
    assert_eq!(changes("", "pods", &pod(), &changed), [""; 0]);
    changed["spec"]["hostname"] = json!("h");
    let reported = changes("", "pods", &pod(), &changed);
    assert!(
        reported[0].starts_with("spec: Forbidden: pod updates may not change fields other than"),
        "{reported:?}"
    );
}

#[test]
fn selectors_and_immutable_objects_cannot_change() {
    let mut changed = deployment();
    changed["spec"]["selector"]["matchLabels"]["app"] = json!("db");
    changed["spec"]["template"]["metadata"]["labels"]["app"] = json!("db");
    assert_eq!(
        changes("apps", "deployments", &deployment(), &changed),
        [r#"spec.selector: Invalid value: {"matchLabels":{"app":"db"}}: field is immutable"#]
    );
    let sealed = json!({"metadata": {"name": "a"}, "immutable": true, "data": {"k": "v"}});
    let opened = json!({"metadata": {"name": "a"}, "data": {"k": "w"}});
    assert_eq!(
        changes("", "configmaps", &sealed, &opened),
        [
            "immutable: Forbidden: field is immutable when `immutable` is set",
            "data: Forbidden: field is immutable when `immutable` is set",
        ]
    );
}
