use super::*;

/// A watcher sees a pod end, however fast: the last state has the deletion timestamp.
#[tokio::test]
async fn a_pod_that_may_go_at_once_is_seen_to_end_first() {
    let server = Server::start().await;
    server.post("pods", pod("a")).await.unwrap();
    let before = server.revision().await;
    let reply = server.delete("pods/a").await.unwrap();
    let metadata = &reply.body["metadata"];
    assert!(reply.code == 200 && metadata["deletionTimestamp"].is_string(), "{metadata}");
    assert_eq!((&metadata["deletionGracePeriodSeconds"], &metadata["generation"]), (&json!(0), &json!(2)));
    assert_eq!(server.stored("pods/a").await, None);
    assert_eq!(server.revision().await.get(), before.get() + 2);

    server.post("pods", pod("b")).await.unwrap();
    let reply = server.dry().delete("pods/b").await.unwrap();
    assert!(reply.body["metadata"]["deletionTimestamp"].is_string());
    assert!(
        server.stored("pods/b").await.is_some_and(|pod| pod["metadata"].get("deletionTimestamp").is_none())
    );
}

#[tokio::test]
async fn an_object_without_finalizers_is_removed_at_once() {
    let server = Server::start().await;
    let uid = server.post("deployments", deployment("a")).await.unwrap().body["metadata"]["uid"].clone();
    let reply = server.delete("deployments/a").await.unwrap();
    assert_eq!((reply.code, &reply.body["status"]), (200, &json!("Success")));
    assert_eq!(
        reply.body["details"],
        json!({"name": "a", "group": "apps", "kind": "deployments", "uid": uid})
    );
    assert_eq!(server.stored("deployments/a").await, None);
    assert!(server.delete("deployments/a").await.unwrap_err().is_not_found());
}

#[tokio::test]
async fn a_finalizer_keeps_an_object_that_is_being_deleted() {
    let server = Server::start().await;
    let mut body = deployment("a");
    body["metadata"]["finalizers"] = json!(["example.com/hold"]);
    server.post("deployments", body).await.unwrap();
    let reply = server.delete("deployments/a").await.unwrap();
    let metadata = &reply.body["metadata"];
    assert!(reply.code == 200 && metadata["deletionTimestamp"].is_string());
    assert_eq!((&metadata["deletionGracePeriodSeconds"], &metadata["generation"]), (&json!(0), &json!(2)));
    let again = server.delete("deployments/a").await.unwrap();
    assert_eq!(again.body, reply.body);
}

#[tokio::test]
async fn removing_the_last_finalizer_removes_the_object() {
    let server = Server::start().await;
    server.post("configmaps", held_config_map("a")).await.unwrap();
    server.delete("configmaps/a").await.unwrap();
    let patch = json!({"metadata": {"finalizers": null}});
    let reply = server.patch("configmaps/a", PatchType::Merge, patch).await.unwrap();
    assert_eq!((reply.code, reply.body["metadata"].get("finalizers")), (200, None));
    assert!(reply.body["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(server.stored("configmaps/a").await, None);
}

#[tokio::test]
async fn finalizers_of_a_live_object_can_change() {
    let server = Server::start().await;
    server.post("configmaps", held_config_map("a")).await.unwrap();
    server.put("configmaps/a", config_map("a")).await.unwrap();
    assert!(server.stored("configmaps/a").await.is_some());
}

#[tokio::test]
async fn no_finalizer_can_be_added_during_deletion() {
    let server = Server::start().await;
    server.post("configmaps", held_config_map("a")).await.unwrap();
    server.delete("configmaps/a").await.unwrap();
    let patch = json!({"metadata": {"finalizers": ["example.com/hold", "example.com/more"]}});
    let status = server.patch("configmaps/a", PatchType::Merge, patch).await.unwrap_err();
    assert_eq!(
        status.message,
        r#"ConfigMap "a" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"example.com/more"}"#
    );
}

#[tokio::test]
async fn preconditions_are_checked() {
    let server = Server::start().await;
    let body = server.post("configmaps", config_map("a")).await.unwrap().body;
    let (uid, version) = (&body["metadata"]["uid"], &body["metadata"]["resourceVersion"]);
    let (uid, version) = (uid.as_str().unwrap().to_owned(), version.as_str().unwrap().to_owned());
    let options = |uid: &str, version: &str| DeleteOptions {
        uid: Some(uid.to_owned()),
        resource_version: Some(version.to_owned()),
        ..Default::default()
    };
    let status = server.delete_with("configmaps/a", options("x", &version)).await.unwrap_err();
    assert_eq!(
        status.message,
        format!(
            "Operation cannot be fulfilled on ConfigMap \"a\": the UID in the precondition (x) does not match the UID in record ({uid}). The object might have been deleted and then recreated"
        )
    );
    let status = server.delete_with("configmaps/a", options(&uid, "1")).await.unwrap_err();
    assert!(status.is_conflict() && status.message.ends_with("The object might have been modified"));
    server.delete_with("configmaps/a", options(&uid, &version)).await.unwrap();
}

#[tokio::test]
async fn only_a_pod_on_a_node_has_a_grace_period() {
    let server = Server::start().await;
    server.post("pods", bound_pod("a")).await.unwrap();
    server.post("pods", pod("b")).await.unwrap();
    let reply = server.delete("pods/a").await.unwrap();
    let metadata = &reply.body["metadata"];
    assert_eq!((&metadata["deletionGracePeriodSeconds"], &metadata["generation"]), (&json!(30), &json!(2)));
    let seconds = |name: &str| {
        let text = metadata[name].as_str().unwrap();
        text.parse::<watchkeeper_core::Timestamp>().unwrap().seconds
    };
    assert!((30..=32).contains(&(seconds("deletionTimestamp") - seconds("creationTimestamp"))));
    let reply = server.delete("pods/b").await.unwrap();
    assert_eq!((&reply.body["metadata"]["name"], server.stored("pods/b").await), (&json!("b"), None));
}

#[tokio::test]
async fn a_grace_period_can_only_be_shortened() {
    let server = Server::start().await;
    let mut body = bound_pod("a");
    body["spec"]["terminationGracePeriodSeconds"] = 60.into();
    server.post("pods", body).await.unwrap();
    let seconds = |reply: Reply| reply.body["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap();
    assert_eq!(seconds(server.delete("pods/a").await.unwrap()), 60);
    assert_eq!(seconds(server.delete_with("pods/a", grace(10)).await.unwrap()), 10);
    assert_eq!(seconds(server.delete_with("pods/a", grace(90)).await.unwrap()), 10);
    assert_eq!(seconds(server.delete("pods/a").await.unwrap()), 10);
    server.delete_with("pods/a", grace(0)).await.unwrap();
    assert_eq!(server.stored("pods/a").await, None);
}

#[tokio::test]
async fn propagation_policies_add_finalizers() {
    let server = Server::start().await;
    for (how, finalizer) in [(Propagation::Foreground, "foregroundDeletion"), (Propagation::Orphan, "orphan")]
    {
        server.post("deployments", deployment("a")).await.unwrap();
        let reply = server.delete_with("deployments/a", propagation(how)).await.unwrap();
        assert_eq!(reply.body["metadata"]["finalizers"], json!([finalizer]));
        server.delete_with("deployments/a", propagation(Propagation::Background)).await.unwrap();
        assert_eq!(server.stored("deployments/a").await, None);
    }
}

#[tokio::test]
async fn a_dry_run_of_a_deletion_deletes_nothing() {
    let server = Server::start().await;
    server.post("configmaps", config_map("a")).await.unwrap();
    server.post("pods", bound_pod("a")).await.unwrap();
    let before = server.revision().await;
    assert_eq!(server.dry().delete("configmaps/a").await.unwrap().body["status"], "Success");
    let reply = server.dry().delete("pods/a").await.unwrap();
    assert_eq!(
        (&reply.body["kind"], &reply.body["metadata"]["deletionGracePeriodSeconds"]),
        (&json!("Pod"), &json!(30))
    );
    assert_eq!(server.revision().await, before);
}

#[tokio::test]
async fn deleting_a_collection_deletes_the_selected_objects() {
    let server = Server::start().await;
    for (name, app) in [("a", "web"), ("b", "web"), ("c", "db")] {
        let mut body = config_map(name);
        body["metadata"]["labels"] = json!({"app": app});
        server.post("configmaps", body).await.unwrap();
    }
    let names = |reply: Reply| -> Vec<String> {
        let items = reply.body.as_array().unwrap().clone();
        items.iter().map(|item| item["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    };
    let query = "labelSelector=app%3Dweb&fieldSelector=metadata.name%3Db";
    assert_eq!(names(server.delete_all("configmaps", query).await.unwrap()), ["b"]);
    let status = server.delete_all("configmaps", "fieldSelector=spec.x%3Db").await.unwrap_err();
    assert_eq!(status.code, 400);
    assert_eq!(names(server.delete_all("configmaps", "").await.unwrap()), ["a", "c"]);
    assert_eq!(names(server.delete_all("configmaps", "").await.unwrap()), [""; 0]);
}
