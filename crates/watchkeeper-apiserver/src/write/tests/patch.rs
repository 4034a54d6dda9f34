use crate::http::FieldValidation;

use super::*;

#[tokio::test]
async fn each_patch_type_changes_the_object() {
    let server = Server::start().await;
    server.post("deployments", deployment("a")).await.unwrap();
    let merge = json!({"spec": {"replicas": 3}});
    let reply = server.patch("deployments/a", PatchType::Merge, merge).await.unwrap();
    assert_eq!(
        (&reply.body["spec"]["replicas"], &reply.body["metadata"]["generation"]),
        (&json!(3), &json!(2))
    );
    let json = json!([{"op": "replace", "path": "/spec/replicas", "value": 4}]);
    let reply = server.patch("deployments/a", PatchType::Json, json).await.unwrap();
    assert_eq!(reply.body["spec"]["replicas"], 4);
    let strategic = json!({"spec": {"template": {"spec": {"containers": [{"name": "d", "image": "j"}]}}}});
    let reply = server.patch("deployments/a", PatchType::Strategic, strategic).await.unwrap();
    assert_eq!(reply.body["spec"]["template"]["spec"]["containers"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_patch_of_a_missing_object_is_a_404() {
    let server = Server::start().await;
    let status = server.patch("configmaps/a", PatchType::Merge, json!({})).await.unwrap_err();
    assert!(status.is_not_found());
}

#[tokio::test]
async fn a_patch_with_a_resource_version_is_conditional() {
    let server = Server::start().await;
    server.post("configmaps", config_map("a")).await.unwrap();
    let patch = json!({"metadata": {"resourceVersion": "1"}, "data": {"k": "w"}});
    let status = server.patch("configmaps/a", PatchType::Merge, patch).await.unwrap_err();
    assert!(status.is_conflict() && status.message.contains("the object has been modified"));
}

#[tokio::test]
async fn a_patch_cannot_change_the_identity() {
    let server = Server::start().await;
    server.post("configmaps", config_map("a")).await.unwrap();
    for patch in [json!({"metadata": {"name": "b"}}), json!({"metadata": null}), json!({"kind": "Secret"})] {
        let status = server.patch("configmaps/a", PatchType::Merge, patch).await.unwrap_err();
        assert!(matches!(status.code, 400 | 422), "{status:?}");
    }
    let patch = json!({"metadata": {"uid": "zz"}});
    let status = server.patch("configmaps/a", PatchType::Merge, patch).await.unwrap_err();
    let text = "ConfigMap \"a\" is invalid: metadata.uid: Invalid value: \"zz\": field is immutable";
    assert_eq!(status.message, text);
    let patch = json!({"data": {"k": 1}});
    let status = server.patch("configmaps/a", PatchType::Merge, patch).await.unwrap_err();
    let text = "json: cannot unmarshal number into Go struct field ConfigMap.data of type string";
    assert!(status.code == 422 && status.message.ends_with(text), "{}", status.message);
    let patch = json!({"dat": {"b": [1]}, "data": null});
    let options = WriteOptions { field_validation: FieldValidation::Strict, ..server.options() };
    let refused = server.patch_with("configmaps/a", PatchType::Strategic, &patch.to_string(), &options).await;
    let text = "patch: Invalid value: \"map[dat:map[b:[1]] data:<nil>]\": strict decoding error: unknown field \"dat\"";
    let status = refused.unwrap_err();
    assert!(status.message.ends_with(text), "{}", status.message);
    let uid = server.stored("configmaps/a").await.unwrap()["metadata"]["uid"].clone();
    let patch = json!({"metadata": {"uid": null, "creationTimestamp": null}});
    let reply = server.patch("configmaps/a", PatchType::Merge, patch).await.unwrap();
    assert_eq!(reply.body["metadata"]["uid"], uid);
}

#[tokio::test]
async fn a_failed_test_is_a_422_without_details() {
    let server = Server::start().await;
    server.post("configmaps", config_map("a")).await.unwrap();
    let patch = json!([{"op": "test", "path": "/data/k", "value": "other"}]);
    let status = server.patch("configmaps/a", PatchType::Json, patch).await.unwrap_err();
    let text = "the server rejected our request due to an error in our request";
    assert_eq!((status.code, status.message.as_str(), status.is_invalid()), (422, text, true));
}

#[tokio::test]
async fn unknown_fields_in_a_patch_cause_warnings_or_errors() {
    let server = Server::start().await;
    server.post("configmaps", config_map("a")).await.unwrap();
    let patch = r#"{"bogus": 1, "data": {"k": "w", "k": "x"}}"#;
    let mut options = WriteOptions::default();
    let reply = server.patch_with("configmaps/a", PatchType::Merge, patch, &options).await.unwrap();
    assert_eq!(reply.warnings, ["duplicate field \"data.k\"", "unknown field \"bogus\""]);
    assert_eq!((reply.body.get("bogus"), &reply.body["data"]["k"]), (None, &json!("x")));
    options.field_validation = FieldValidation::Strict;
    let status = server.patch_with("configmaps/a", PatchType::Merge, patch, &options).await.unwrap_err();
    assert_eq!(status.code, 422);
    assert!(status.message.contains("strict decoding error: "), "{}", status.message);
    options.field_validation = FieldValidation::Ignore;
    let reply = server.patch_with("configmaps/a", PatchType::Merge, patch, &options).await.unwrap();
    assert_eq!(reply.warnings, [""; 0]);
}

#[tokio::test]
async fn a_patch_that_changes_nothing_keeps_the_version_and_a_dry_run_too() {
    let server = Server::start().await;
    server.post("configmaps", config_map("a")).await.unwrap();
    let before = server.revision().await;
    server.patch("configmaps/a", PatchType::Strategic, json!({"data": {"k": "v"}})).await.unwrap();
    let reply =
        server.dry().patch("configmaps/a", PatchType::Merge, json!({"data": {"k": "w"}})).await.unwrap();
    assert_eq!((&reply.body["data"]["k"], server.revision().await), (&json!("w"), before));
}

#[tokio::test]
async fn a_patch_of_the_status_changes_nothing_else() {
    let server = Server::start().await;
    server.post("pods", pod("a")).await.unwrap();
    let patch = json!({"spec": {"nodeName": "x"}, "status": {"phase": "Running"}});
    let reply = server.patch("pods/a/status", PatchType::Strategic, patch).await.unwrap();
    assert_eq!(
        (&reply.body["status"]["phase"], reply.body["spec"].get("nodeName")),
        (&json!("Running"), None)
    );
}
