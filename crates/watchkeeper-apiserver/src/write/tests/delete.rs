use super::*;

/// Whoever watches a pod sees it end, however fast that is: the last state says since when.
#[tokio::test]
async fn a_pod_that_may_go_at_once_is_seen_to_end_first() {
    let server = Server::start().await;
    server.post("pods", pod("a")).await.unwrap();
    let before = server.revision().await;
    let told = server.delete("pods/a").await.unwrap();
    let metadata = &told.body["metadata"];
    assert!(told.code == 200 && metadata["deletionTimestamp"].is_string(), "{metadata}");
    assert_eq!((&metadata["deletionGracePeriodSeconds"], &metadata["generation"]), (&json!(0), &json!(2)));
    assert_eq!(server.stored("pods/a").await, None);
    assert_eq!(server.revision().await.get(), before.get() + 2);

    server.post("pods", pod("b")).await.unwrap();
    let told = server.dry().delete("pods/b").await.unwrap();
    assert!(told.body["metadata"]["deletionTimestamp"].is_string());
    assert!(
        server.stored("pods/b").await.is_some_and(|pod| pod["metadata"].get("deletionTimestamp").is_none())
    );
}

#[tokio::test]
async fn what_nothing_holds_is_gone_and_a_status_says_so() {
    let server = Server::start().await;
    let uid = server.post("deployments", deployment("a")).await.unwrap().body["metadata"]["uid"].clone();
    let told = server.delete("deployments/a").await.unwrap();
    assert_eq!((told.code, &told.body["status"]), (200, &json!("Success")));
    assert_eq!(
        told.body["details"],
        json!({"name": "a", "group": "apps", "kind": "deployments", "uid": uid})
    );
    assert_eq!(server.stored("deployments/a").await, None);
    assert!(server.delete("deployments/a").await.unwrap_err().is_not_found());
}

#[tokio::test]
async fn a_finalizer_holds_an_object_that_then_says_since_when() {
    let server = Server::start().await;
    let mut body = deployment("a");
    body["metadata"]["finalizers"] = json!(["example.com/hold"]);
    server.post("deployments", body).await.unwrap();
    let told = server.delete("deployments/a").await.unwrap();
    let metadata = &told.body["metadata"];
    assert!(told.code == 200 && metadata["deletionTimestamp"].is_string());
    assert_eq!((&metadata["deletionGracePeriodSeconds"], &metadata["generation"]), (&json!(0), &json!(2)));
    let again = server.delete("deployments/a").await.unwrap();
    assert_eq!(again.body, told.body);
}

#[tokio::test]
async fn the_last_finalizer_takes_the_object_with_it_and_the_answer_shows_it_without() {
    let server = Server::start().await;
    server.post("configmaps", held_config_map("a")).await.unwrap();
    server.delete("configmaps/a").await.unwrap();
    let patch = json!({"metadata": {"finalizers": null}});
    let told = server.patch("configmaps/a", PatchType::Merge, patch).await.unwrap();
    assert_eq!((told.code, told.body["metadata"].get("finalizers")), (200, None));
    assert!(told.body["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(server.stored("configmaps/a").await, None);
}

#[tokio::test]
async fn finalizers_of_an_object_that_stays_come_and_go() {
    let server = Server::start().await;
    server.post("configmaps", held_config_map("a")).await.unwrap();
    server.put("configmaps/a", config_map("a")).await.unwrap();
    assert!(server.stored("configmaps/a").await.is_some());
}

#[tokio::test]
async fn no_finalizer_is_added_to_what_is_being_deleted() {
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
async fn preconditions_are_held_to() {
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
async fn a_pod_on_a_node_has_time_to_end_and_one_on_none_has_not() {
    let server = Server::start().await;
    server.post("pods", bound_pod("a")).await.unwrap();
    server.post("pods", pod("b")).await.unwrap();
    let told = server.delete("pods/a").await.unwrap();
    let metadata = &told.body["metadata"];
    assert_eq!((&metadata["deletionGracePeriodSeconds"], &metadata["generation"]), (&json!(30), &json!(2)));
    let seconds = |name: &str| {
        let text = metadata[name].as_str().unwrap();
        text.parse::<watchkeeper_core::Timestamp>().unwrap().seconds
    };
    assert!((30..=32).contains(&(seconds("deletionTimestamp") - seconds("creationTimestamp"))));
    let told = server.delete("pods/b").await.unwrap();
    assert_eq!((&told.body["metadata"]["name"], server.stored("pods/b").await), (&json!("b"), None));
}

#[tokio::test]
async fn a_grace_period_gets_shorter_and_never_longer_and_ends_with_0() {
    let server = Server::start().await;
    let mut body = bound_pod("a");
    body["spec"]["terminationGracePeriodSeconds"] = 60.into();
    server.post("pods", body).await.unwrap();
    let seconds = |told: Told| told.body["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap();
    assert_eq!(seconds(server.delete("pods/a").await.unwrap()), 60);
    assert_eq!(seconds(server.delete_with("pods/a", grace(10)).await.unwrap()), 10);
    assert_eq!(seconds(server.delete_with("pods/a", grace(90)).await.unwrap()), 10);
    assert_eq!(seconds(server.delete("pods/a").await.unwrap()), 10);
    server.delete_with("pods/a", grace(0)).await.unwrap();
    assert_eq!(server.stored("pods/a").await, None);
}

#[tokio::test]
async fn propagation_policies_hold_the_object_for_its_dependents() {
    let server = Server::start().await;
    for (how, finalizer) in [(Propagation::Foreground, "foregroundDeletion"), (Propagation::Orphan, "orphan")]
    {
        server.post("deployments", deployment("a")).await.unwrap();
        let told = server.delete_with("deployments/a", propagation(how)).await.unwrap();
        assert_eq!(told.body["metadata"]["finalizers"], json!([finalizer]));
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
    let told = server.dry().delete("pods/a").await.unwrap();
    assert_eq!(
        (&told.body["kind"], &told.body["metadata"]["deletionGracePeriodSeconds"]),
        (&json!("Pod"), &json!(30))
    );
    assert_eq!(server.revision().await, before);
}

#[tokio::test]
async fn of_a_collection_goes_what_is_selected() {
    let server = Server::start().await;
    for (name, app) in [("a", "web"), ("b", "web"), ("c", "db")] {
        let mut body = config_map(name);
        body["metadata"]["labels"] = json!({"app": app});
        server.post("configmaps", body).await.unwrap();
    }
    let names = |told: Told| -> Vec<String> {
        let items = told.body.as_array().unwrap().clone();
        items.iter().map(|item| item["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    };
    let query = "labelSelector=app%3Dweb&fieldSelector=metadata.name%3Db";
    assert_eq!(names(server.delete_all("configmaps", query).await.unwrap()), ["b"]);
    let status = server.delete_all("configmaps", "fieldSelector=spec.x%3Db").await.unwrap_err();
    assert_eq!(status.code, 400);
    assert_eq!(names(server.delete_all("configmaps", "").await.unwrap()), ["a", "c"]);
    assert_eq!(names(server.delete_all("configmaps", "").await.unwrap()), [""; 0]);
}
