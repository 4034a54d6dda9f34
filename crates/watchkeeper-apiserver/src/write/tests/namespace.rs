use super::*;

#[tokio::test]
async fn a_namespace_is_labelled_active_and_held() {
    let server = Server::start().await;
    let body = server.stored("namespaces/default").await.unwrap();
    assert_eq!(body["metadata"]["labels"], json!({"kubernetes.io/metadata.name": "default"}));
    assert_eq!(body["spec"], json!({"finalizers": ["kubernetes"]}));
    assert_eq!(body["status"], json!({"phase": "Active"}));
}

#[tokio::test]
async fn an_object_needs_an_existing_namespace() {
    let server = Server::start().await;
    let status = server.post_in("nowhere", "configmaps", config_map("a")).await.unwrap_err();
    assert_eq!((status.code, status.message.as_str()), (404, "namespaces \"nowhere\" not found"));
}

#[tokio::test]
async fn a_terminating_namespace_accepts_no_new_objects() {
    let server = Server::start().await;
    server.post("namespaces", json!({"metadata": {"name": "x"}})).await.unwrap();
    let reply = server.delete("namespaces/x").await.unwrap();
    assert_eq!((reply.code, &reply.body["status"]["phase"]), (200, &json!("Terminating")));
    assert!(reply.body["metadata"]["deletionTimestamp"].is_string());

    let status = server.post_in("x", "configmaps", config_map("a")).await.unwrap_err();
    assert_eq!(
        status.message,
        "configmaps \"a\" is forbidden: unable to create new content in namespace x because it is being terminated"
    );
    let causes = &status.details.as_ref().unwrap().causes;
    assert_eq!((status.code, causes[0].cause.as_str()), (403, "NamespaceTerminating"));
    assert_eq!(
        (&*causes[0].message, &*causes[0].field),
        ("namespace x is being terminated", "metadata.namespace")
    );

    // An update of the namespace does not remove it: only `finalize` does.
    let mut body = server.stored("namespaces/x").await.unwrap();
    body["spec"] = json!({});
    let reply = server.put("namespaces/x", body.clone()).await.unwrap();
    assert_eq!(reply.body["spec"]["finalizers"], json!(["kubernetes"]));
    server.put("namespaces/x/finalize", body).await.unwrap();
    assert_eq!(server.stored("namespaces/x").await, None);
}

#[tokio::test]
async fn a_finalized_namespace_that_is_not_deleted_stays() {
    let server = Server::start().await;
    server.post("namespaces", json!({"metadata": {"name": "x"}})).await.unwrap();
    let reply = server.put("namespaces/x/finalize", json!({"metadata": {"name": "x"}})).await.unwrap();
    assert_eq!(reply.body["status"]["phase"], "Active");
    let reply = server.delete("namespaces/x").await.unwrap();
    assert_eq!(reply.body["status"], "Success");
}

#[tokio::test]
async fn the_default_namespace_may_not_be_deleted() {
    let server = Server::start().await;
    let status = server.delete("namespaces/default").await.unwrap_err();
    let text = "namespaces \"default\" is forbidden: this namespace may not be deleted";
    assert_eq!((status.code, status.message.as_str()), (403, text));
}
