//! Extraction of applied fields.

use serde_json::{Value, from_value, json, to_value};
use watchkeeper_kinds::api::apps::v1::Deployment;
use watchkeeper_kinds::apply::apps::v1::DeploymentApply;
use watchkeeper_kinds::apply::{ApplyConfiguration, ExtractError};

/// A deployment with fields applied by `ours`.
fn deployment(fields: &Value) -> Deployment {
    let others = json!({"f:metadata": {"f:labels": {"f:theirs": {}}}, "f:spec": {"f:replicas": {}}});
    let entry = |manager: &str, operation: &str, subresource: Option<&str>, fields: &Value| json!({"manager": manager, "operation": operation, "subresource": subresource, "fieldsV1": fields});
    from_value(json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "web", "namespace": "shop", "uid": "1", "generation": 3,
            "labels": {"ours": "1", "theirs": "2"},
            "finalizers": ["example.com/ours", "example.com/theirs"],
            "managedFields": [
                entry("ours", "Update", None, &others),
                entry("theirs", "Apply", None, &others),
                entry("ours", "Apply", Some("status"), &json!({"f:status": {"f:replicas": {}}})),
                entry("ours", "Apply", None, fields),
            ],
        },
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"spec": {"containers": [
                {"name": "side", "image": "side:1"},
                {
                    "name": "web", "image": "web:2", "imagePullPolicy": "Always",
                    "ports": [
                        {"containerPort": 80, "protocol": "TCP", "name": "http"},
                        {"containerPort": 80, "protocol": "UDP", "name": "quic"},
                    ],
                },
            ], "volumes": [{"name": "scratch", "emptyDir": {}}]}},
        },
        "status": {"replicas": 2, "readyReplicas": 1},
    }))
    .unwrap()
}

fn extracted(fields: &Value, manager: &str, subresource: &str) -> Value {
    let apply = DeploymentApply::extract(&deployment(fields), manager, subresource).unwrap();
    let mut apply = to_value(apply).unwrap();
    assert_eq!(apply["apiVersion"].take(), "apps/v1");
    assert_eq!(apply["kind"].take(), "Deployment");
    assert_eq!(apply["metadata"]["name"].take(), "web");
    assert_eq!(apply["metadata"]["namespace"].take(), "shop");
    json!([apply["metadata"]["labels"], apply["metadata"]["finalizers"], apply["spec"], apply["status"]])
}

#[test]
fn only_fields_of_the_manager_are_extracted() {
    let fields = json!({
        "f:metadata": {"f:labels": {"f:ours": {}}, "f:finalizers": {"v:\"example.com/ours\"": {}}},
        "f:spec": {"f:selector": {}},
    });
    let spec = json!({"selector": {"matchLabels": {"app": "web"}}});
    assert_eq!(extracted(&fields, "ours", ""), json!([{"ours": "1"}, ["example.com/ours"], spec, null]));
}

#[test]
fn elements_are_found_by_key_and_keep_their_order() {
    let containers = json!({
        "k:{\"name\":\"web\"}": {
            ".": {}, "f:name": {}, "f:image": {},
            "f:ports": {"k:{\"containerPort\":80,\"protocol\":\"UDP\"}": {".": {}, "f:containerPort": {}, "f:protocol": {}}},
        },
        "k:{\"name\":\"side\"}": {".": {}, "f:name": {}},
        "k:{\"name\":\"gone\"}": {".": {}, "f:name": {}},
    });
    let volumes = json!({"k:{\"name\":\"scratch\"}": {".": {}, "f:name": {}, "f:emptyDir": {}}});
    let pod = json!({"f:containers": containers, "f:volumes": volumes});
    let fields = json!({"f:spec": {"f:template": {"f:spec": pod}}});
    let pod = json!({
        "containers": [
            {"name": "side"},
            {"name": "web", "image": "web:2", "ports": [{"containerPort": 80, "protocol": "UDP"}]},
        ],
        "volumes": [{"name": "scratch", "emptyDir": {}}],
    });
    assert_eq!(extracted(&fields, "ours", ""), json!([null, null, {"template": {"spec": pod}}, null]));
}

#[test]
fn subresources_are_extracted_separately() {
    let fields = json!({"f:spec": {"f:replicas": {}}});
    assert_eq!(extracted(&fields, "ours", "status"), json!([null, null, null, {"replicas": 2}]));
    assert_eq!(extracted(&fields, "ours", ""), json!([null, null, {"replicas": 3}, null]));
}

#[test]
fn a_manager_without_fields_has_only_the_name() {
    for (manager, subresource) in [("nobody", ""), ("ours", "scale"), ("ours", "")] {
        assert_eq!(extracted(&json!({}), manager, subresource), json!([null, null, null, null]));
    }
    let apply = DeploymentApply::extract(&deployment(&json!({})), "nobody", "").unwrap();
    assert_eq!(apply, DeploymentApply::new("web", "shop"));
}

#[test]
fn an_object_without_managed_fields_is_an_error_with_advice() {
    let mut object = deployment(&json!({"f:spec": {"f:replicas": {}}}));
    object.metadata.managed_fields.clear();
    let error = DeploymentApply::extract(&object, "ours", "").unwrap_err();
    assert!(matches!(&error, ExtractError::NoManagedFields { object } if object == "shop/web"));
    assert_eq!(
        error.to_string(),
        "shop/web has no managedFields, which caches prune by default; get the object from the server, or keep them \
         in the cache"
    );
}

#[test]
fn invalid_field_names_are_errors() {
    for name in ["spec", "x:spec", "k:spec", "v:spec", "i:spec"] {
        let object = deployment(&json!({name: {}}));
        let error = DeploymentApply::extract(&object, "ours", "").unwrap_err();
        assert!(matches!(&error, ExtractError::Field(field) if field == name), "{error}");
    }
    let object = deployment(&json!({"f:spec": true}));
    assert!(DeploymentApply::extract(&object, "ours", "").is_err());
}
