use super::*;

#[tokio::test]
async fn an_update_replaces_the_object_under_a_new_version() {
    let server = Server::start().await;
    let first = server.post("configmaps", config_map("a")).await.unwrap().body;
    let reply =
        server.put("configmaps/a", json!({"metadata": {"name": "a"}, "data": {"x": "y"}})).await.unwrap();
    assert_eq!((reply.code, &reply.body["data"]), (200, &json!({"x": "y"})));
    for name in ["uid", "creationTimestamp"] {
        assert_eq!(reply.body["metadata"][name], first["metadata"][name]);
    }
    assert_ne!(reply.body["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"]);
}

#[tokio::test]
async fn an_update_of_an_old_version_is_a_409() {
    let server = Server::start().await;
    let mut body = server.post("configmaps", config_map("a")).await.unwrap().body;
    body["data"]["k"] = "w".into();
    server.put("configmaps/a", body.clone()).await.unwrap();
    body["data"]["k"] = "x".into();
    let status = server.put("configmaps/a", body).await.unwrap_err();
    assert!(status.is_conflict());
    assert_eq!(
        status.message,
        "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please apply your changes to the latest version and try again"
    );
}

#[tokio::test]
async fn an_update_of_another_uid_is_a_409() {
    let server = Server::start().await;
    let mut body = server.post("configmaps", config_map("a")).await.unwrap().body;
    body["metadata"]["uid"] = "other".into();
    let status = server.put("configmaps/a", body).await.unwrap_err();
    assert!(status.is_conflict());
    assert!(status.message.contains("Precondition failed: UID in precondition: other, UID in object meta: "));
}

#[tokio::test]
async fn an_update_of_a_missing_object_is_a_404_or_creates_it() {
    let server = Server::start().await;
    let status = server.put("configmaps/a", config_map("a")).await.unwrap_err();
    assert_eq!((status.code, status.message.as_str()), (404, "configmaps \"a\" not found"));
    let reply = server.put("endpoints/a", json!({"metadata": {"name": "a"}})).await.unwrap();
    assert_eq!(reply.code, 201);
}

#[tokio::test]
async fn the_name_in_the_body_must_match_the_path() {
    let server = Server::start().await;
    server.post("configmaps", config_map("a")).await.unwrap();
    let status = server.put("configmaps/a", config_map("b")).await.unwrap_err();
    let text = "the name of the object (b) does not match the name on the URL (a)";
    assert_eq!((status.code, status.message.as_str()), (400, text));
    let status = server.put("configmaps/a", json!({"metadata": {}})).await.unwrap_err();
    assert!(status.message.ends_with("was undeterminable: name must be provided"));
}

#[tokio::test]
async fn an_update_that_changes_nothing_keeps_its_version() {
    let server = Server::start().await;
    let first = server.post("deployments", deployment("a")).await.unwrap().body;
    let before = server.revision().await;
    let mut same = deployment("a");
    same["metadata"]["annotations"] = json!({});
    same["metadata"]["creationTimestamp"] = Value::Null;
    same["spec"]["paused"] = false.into();
    let reply = server.put("deployments/a", same).await.unwrap();
    assert_eq!((reply.body, server.revision().await), (first, before));
}

#[tokio::test]
async fn the_generation_counts_changes_of_the_spec_only() {
    let server = Server::start().await;
    server.post("deployments", deployment("a")).await.unwrap();
    let generation = |reply: Reply| reply.body["metadata"]["generation"].as_i64().unwrap();
    let mut body = deployment("a");
    body["metadata"]["labels"] = json!({"x": "y"});
    assert_eq!(generation(server.put("deployments/a", body.clone()).await.unwrap()), 1);
    body["status"] = json!({"replicas": 3});
    assert_eq!(generation(server.put("deployments/a/status", body.clone()).await.unwrap()), 1);
    body["spec"]["replicas"] = 5.into();
    body["metadata"]["generation"] = 77.into();
    assert_eq!(generation(server.put("deployments/a", body).await.unwrap()), 2);
}

#[tokio::test]
async fn status_and_spec_are_written_at_their_own_endpoints() {
    let server = Server::start().await;
    server.post("deployments", deployment("a")).await.unwrap();
    let mut body = deployment("a");
    body["spec"]["replicas"] = 9.into();
    body["status"] = json!({"replicas": 3});
    let reply = server.put("deployments/a/status", body.clone()).await.unwrap();
    assert_eq!((&reply.body["spec"]["replicas"], &reply.body["status"]["replicas"]), (&json!(2), &json!(3)));
    body["status"] = json!({"replicas": 4});
    let reply = server.put("deployments/a", body).await.unwrap();
    assert_eq!((&reply.body["spec"]["replicas"], &reply.body["status"]["replicas"]), (&json!(9), &json!(3)));
}

#[tokio::test]
async fn some_kinds_require_a_resource_version() {
    let server = Server::start().await;
    let lease = json!({"metadata": {"name": "a"}, "spec": {"holderIdentity": "me"}});
    let mut stored = server.post("leases", lease.clone()).await.unwrap().body;
    let status = server.put("leases/a", lease).await.unwrap_err();
    assert_eq!(
        status.message,
        "leases.coordination.k8s.io \"a\" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update"
    );
    stored["spec"]["holderIdentity"] = "you".into();
    assert_eq!(server.put("leases/a", stored).await.unwrap().code, 200);
}

#[tokio::test]
async fn a_dry_run_of_an_update_stores_nothing() {
    let server = Server::start().await;
    server.post("configmaps", config_map("a")).await.unwrap();
    let reply = server.dry().put("configmaps/a", json!({"metadata": {"name": "a"}})).await.unwrap();
    assert_eq!((reply.code, reply.body.get("data")), (200, None));
    assert_eq!(server.stored("configmaps/a").await.unwrap()["data"], json!({"k": "v"}));
}
