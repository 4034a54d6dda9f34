//! Claims about validation, object by object. Whether the words are those of the real server is for the oracle.

use serde_json::{Value, json};

use super::{changed_object, new_object};
use crate::registry;

/// What is said of a new object, each as `path: message`.
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
fn what_is_filled_in_by_default_is_not_asked_for() {
    assert_eq!(refusals("", "pods", &pod()), [""; 0]);
    assert_eq!(refusals("apps", "deployments", &deployment()), [""; 0]);
    let service = json!({"metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]}});
    assert_eq!(refusals("", "services", &service), [""; 0]);
}

#[test]
fn faults_of_metadata_come_with_those_of_the_spec() {
    let mut pod = pod();
    pod["metadata"]["name"] = json!("A");
    pod["spec"]["containers"][0]["image"] = json!("");
    pod["spec"]["restartPolicy"] = json!("Sometimes");
    let said = refusals("", "pods", &pod);
    assert!(
        said[0].starts_with("metadata.name: Invalid value: \"A\": a lowercase RFC 1123 subdomain"),
        "{said:?}"
    );
    assert_eq!(
        said[1..],
        [
            "spec.containers[0].image: Required value",
            r#"spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never""#,
        ]
    );
}

#[test]
fn a_template_is_looked_at_below_its_workload() {
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
fn of_a_pod_only_a_few_fields_may_change() {
    let mut changed = pod();
    changed["spec"]["containers"][0]["image"] = json!("j");
    changed["spec"]["activeDeadlineSeconds"] = json!(5);
    changed["spec"]["tolerations"] = json!([{"key": "a", "operator": "Exists"}]);
    assert_eq!(changes("", "pods", &pod(), &changed), [""; 0]);
    changed["spec"]["hostname"] = json!("h");
    let said = changes("", "pods", &pod(), &changed);
    assert!(said[0].starts_with("spec: Forbidden: pod updates may not change fields other than"), "{said:?}");
}

#[test]
fn selectors_and_what_is_immutable_stay() {
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
