use super::*;

#[tokio::test]
async fn a_new_object_gets_uid_time_and_version_and_keeps_its_fields() {
    let server = Server::start().await;
    let reply = server.post("configmaps", config_map("a")).await.unwrap();
    let metadata = &reply.body["metadata"];
    assert_eq!((reply.code, &reply.body["data"]), (201, &json!({"k": "v"})));
    assert_eq!((&metadata["name"], &metadata["namespace"]), (&json!("a"), &json!("default")));
    assert_eq!(metadata["uid"].as_str().unwrap().len(), 36);
    assert_eq!(metadata["creationTimestamp"].as_str().unwrap().len(), "2026-11-15T10:00:00Z".len());
    assert_eq!(metadata["resourceVersion"], server.revision().await.to_string());
    assert_eq!(reply.body.get("kind"), None);
    assert_eq!(server.stored("configmaps/a").await, Some(reply.body));
}

#[tokio::test]
async fn only_kinds_with_generations_begin_with_1() {
    // The others keep what was sent, as in kube-apiserver.
    let server = Server::start().await;
    let mut body = config_map("a");
    body["metadata"]["generation"] = 7.into();
    assert_eq!(server.post("configmaps", body).await.unwrap().body["metadata"]["generation"], 7);
    assert_eq!(server.post("deployments", deployment("a")).await.unwrap().body["metadata"]["generation"], 1);
}

#[tokio::test]
async fn a_taken_name_is_a_409() {
    let server = Server::start().await;
    server.post("deployments", deployment("a")).await.unwrap();
    for server in [server.dry(), server] {
        let status = server.post("deployments", deployment("a")).await.unwrap_err();
        assert_eq!(status.message, "deployments.apps \"a\" already exists");
        assert!(status.is_already_exists());
    }
}

#[tokio::test]
async fn a_malformed_name_is_a_422_with_the_message_of_its_kind() {
    let server = Server::start().await;
    let status = server.post("configmaps", config_map("Bad_Name")).await.unwrap_err();
    assert_eq!(status.code, 422);
    assert_eq!(
        status.message,
        r#"ConfigMap "Bad_Name" is invalid: metadata.name: Invalid value: "Bad_Name": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"#
    );
    let status = server.post("namespaces", json!({"metadata": {"name": "a.b"}})).await.unwrap_err();
    assert!(status.message.ends_with(r#"Invalid value: "a.b": must not contain dots"#), "{}", status.message);
    let roles = server.post("clusterroles", json!({"metadata": {"name": "system:node"}, "rules": []})).await;
    assert_eq!(roles.unwrap().code, 201);
}

#[tokio::test]
async fn an_object_without_a_name_is_a_422() {
    let server = Server::start().await;
    let status = server.post("configmaps", json!({"data": {}})).await.unwrap_err();
    assert_eq!(
        status.message,
        "ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName is required"
    );
}

#[tokio::test]
async fn generate_name_becomes_a_name() {
    let server = Server::start().await;
    let reply = server.post("configmaps", json!({"metadata": {"generateName": "web-"}})).await.unwrap();
    let name = reply.body["metadata"]["name"].as_str().unwrap();
    assert!(name.starts_with("web-") && name.len() == 9, "{name}");
    assert_eq!(reply.body["metadata"]["generateName"], "web-");
}

#[tokio::test]
async fn a_resource_version_on_a_new_object_is_refused() {
    let server = Server::start().await;
    let mut body = config_map("a");
    body["metadata"]["resourceVersion"] = "5".into();
    let status = server.post("configmaps", body).await.unwrap_err();
    assert_eq!(status.message, "resourceVersion should not be set on objects to be created");
    assert_eq!((status.code, status.reason.as_str()), (500, ""));
}

#[tokio::test]
async fn a_body_of_another_namespace_is_a_400() {
    let server = Server::start().await;
    let mut body = config_map("a");
    body["metadata"]["namespace"] = "other".into();
    let status = server.post("configmaps", body).await.unwrap_err();
    let text = "the namespace of the provided object does not match the namespace sent on the request";
    assert_eq!((status.code, status.message.as_str()), (400, text));
}

#[tokio::test]
async fn the_status_of_a_new_object_is_dropped_except_for_nodes() {
    let server = Server::start().await;
    let mut body = deployment("a");
    body["status"] = json!({"replicas": 9});
    let reply = server.post("deployments", body).await.unwrap();
    assert_eq!(reply.body["status"].get("replicas"), None);
    let node = json!({"metadata": {"name": "n1"}, "status": {"phase": "Running"}});
    assert_eq!(server.post("nodes", node).await.unwrap().body["status"]["phase"], "Running");
    let reply = server.post("pods", pod("a")).await.unwrap();
    assert_eq!(reply.body["status"], json!({"phase": "Pending", "qosClass": "BestEffort"}));
}

#[tokio::test]
async fn fields_that_the_server_owns_are_ignored() {
    let server = Server::start().await;
    let mut body = config_map("a");
    body["metadata"]["uid"] = "mine".into();
    body["metadata"]["deletionTimestamp"] = "2020-01-01T00:00:00Z".into();
    body["metadata"]["managedFields"] = json!([{"manager": "m", "operation": "Update"}]);
    let reply = server.post("configmaps", body).await.unwrap();
    assert_ne!(reply.body["metadata"]["uid"], "mine");
    assert_eq!(reply.body["metadata"].get("deletionTimestamp"), None);
    assert_eq!(reply.body["metadata"].get("managedFields"), None);
}

#[tokio::test]
async fn a_dry_run_returns_the_object_and_stores_nothing() {
    let server = Server::start().await;
    let before = server.revision().await;
    let reply = server.dry().post("configmaps", config_map("a")).await.unwrap();
    assert_eq!(
        (reply.code, &reply.body["kind"], &reply.body["apiVersion"]),
        (201, &json!("ConfigMap"), &json!("v1"))
    );
    assert!(reply.body["metadata"]["uid"].is_string());
    assert_eq!(server.revision().await, before);
}

#[tokio::test]
async fn no_body_causes_a_panic() {
    let server = Server::start().await;
    let shapes = [
        json!(null),
        json!([]),
        json!(1),
        json!({"metadata": 1}),
        json!({"metadata": {"name": 1}}),
        json!({"metadata": {"name": "x", "labels": {"a": 1}}}),
        json!({"metadata": {"name": "x", "finalizers": 3}}),
        json!({"metadata": {"name": "x"}, "spec": 1, "status": [], "target": 1}),
    ];
    for body in shapes {
        for path in [
            "configmaps",
            "pods",
            "namespaces",
            "pods/a/binding",
            "pods/a/eviction",
            "tokenreviews",
            "serviceaccounts/a/token",
            "deployments",
            "pods/a/exec",
        ] {
            let _ = server.post(path, body.clone()).await;
        }
        for path in [
            "configmaps/x",
            "deployments/x/scale",
            "pods/x/status",
            "namespaces/default/finalize",
            "namespaces/default",
        ] {
            let _ = server.put(path, body.clone()).await;
            let _ = server.patch(path, PatchType::Merge, body.clone()).await;
            let _ = server.patch(path, PatchType::Json, body.clone()).await;
            let _ = server.patch(path, PatchType::Strategic, body.clone()).await;
        }
    }
}

#[tokio::test]
async fn malformed_labels_and_finalizers_are_a_422_with_a_cause_for_each() {
    let server = Server::start().await;
    let mut body = config_map("a");
    body["metadata"]["labels"] = json!({"a": "no!", "-b": "yes"});
    body["metadata"]["finalizers"] = json!(["short"]);
    let status = server.post("configmaps", body).await.unwrap_err();
    let causes = &status.details.as_ref().unwrap().causes;
    let fields: Vec<&str> = causes.iter().map(|cause| cause.field.as_str()).collect();
    assert_eq!(fields, ["metadata.labels", "metadata.labels", "metadata.finalizers[0]"]);
    assert!(causes[1].message.starts_with("Invalid value: \"no!\": a valid label must be an empty string"));
    server.post("configmaps", config_map("a")).await.unwrap();
    let patch = json!({"metadata": {"labels": {"a": "no!"}}});
    assert_eq!(server.patch("configmaps/a", PatchType::Merge, patch).await.unwrap_err().code, 422);
}
