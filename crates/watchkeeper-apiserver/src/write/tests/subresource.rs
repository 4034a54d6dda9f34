use super::*;

#[tokio::test]
async fn a_scale_sets_the_replicas_and_the_generation() {
    let server = Server::start().await;
    server.post("deployments", deployment("a")).await.unwrap();
    let reply =
        server.put("deployments/a/scale", json!({"metadata": {"name": "a"}, "spec": {"replicas": 7}})).await;
    let reply = reply.unwrap();
    assert_eq!((&reply.body["kind"], &reply.body["spec"]["replicas"]), (&json!("Scale"), &json!(7)));
    assert_eq!(reply.body["status"], json!({"replicas": 0, "selector": "app=a"}));
    let stored = server.stored("deployments/a").await.unwrap();
    assert_eq!((&stored["spec"]["replicas"], &stored["metadata"]["generation"]), (&json!(7), &json!(2)));
    assert_eq!(reply.body["metadata"]["resourceVersion"], stored["metadata"]["resourceVersion"]);

    let patch = json!({"spec": {"replicas": 1}});
    let reply = server.patch("deployments/a/scale", PatchType::Merge, patch).await.unwrap();
    assert_eq!(reply.body["spec"]["replicas"], 1);
    assert_eq!(server.stored("deployments/a").await.unwrap()["spec"]["replicas"], 1);
}

#[tokio::test]
async fn a_scale_is_validated() {
    let server = Server::start().await;
    server.post("deployments", deployment("a")).await.unwrap();
    let status =
        server.put("deployments/a/scale", json!({"metadata": {"name": "a"}, "spec": {"replicas": -1}})).await;
    assert_eq!(
        status.unwrap_err().message,
        "Scale.autoscaling \"a\" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0"
    );
    let old = json!({"metadata": {"name": "a", "resourceVersion": "1"}, "spec": {"replicas": 1}});
    assert!(server.put("deployments/a/scale", old).await.unwrap_err().is_conflict());
    let body = json!({"metadata": {"name": "b"}, "spec": {"replicas": 1}});
    assert!(server.put("deployments/b/scale", body).await.unwrap_err().is_not_found());
}

#[tokio::test]
async fn a_binding_assigns_a_pod_once() {
    let server = Server::start().await;
    server.post("pods", pod("a")).await.unwrap();
    let binding = json!({"metadata": {"name": "a", "annotations": {"x": "y"}}, "target": {"kind": "Node", "name": "n1"}});
    let reply = server.post("pods/a/binding", binding.clone()).await.unwrap();
    assert_eq!(
        (reply.code, &reply.body["status"], &reply.body["code"]),
        (201, &json!("Success"), &json!(201))
    );
    let stored = server.stored("pods/a").await.unwrap();
    assert_eq!((&stored["spec"]["nodeName"], &stored["metadata"]["generation"]), (&json!("n1"), &json!(1)));
    assert_eq!(stored["metadata"]["annotations"]["x"], "y");
    let condition = &stored["status"]["conditions"][0];
    assert_eq!((&condition["type"], &condition["status"]), (&json!("PodScheduled"), &json!("True")));

    let status = server.post("bindings", binding).await.unwrap_err();
    assert_eq!(
        status.message,
        "Operation cannot be fulfilled on pods/binding \"a\": pod a is already assigned to node \"n1\""
    );
}

#[tokio::test]
async fn a_binding_without_a_node_is_a_500_as_in_kube_apiserver() {
    let server = Server::start().await;
    server.post("pods", pod("a")).await.unwrap();
    let binding = json!({"metadata": {"name": "a"}, "target": {}});
    let status = server.post("pods/a/binding", binding).await.unwrap_err();
    assert_eq!((status.code, status.message.as_str()), (500, "target.name: Required value"));
}

#[tokio::test]
async fn an_eviction_deletes_the_pod() {
    let server = Server::start().await;
    server.post("pods", bound_pod("a")).await.unwrap();
    let eviction = json!({"metadata": {"name": "a"}, "deleteOptions": {"gracePeriodSeconds": 5}});
    let reply = server.post("pods/a/eviction", eviction).await.unwrap();
    assert_eq!((reply.code, &reply.body["status"]), (201, &json!("Success")));
    assert_eq!(server.stored("pods/a").await.unwrap()["metadata"]["deletionGracePeriodSeconds"], 5);
    let status = server.post("pods/a/eviction", json!({"metadata": {"name": "b"}})).await.unwrap_err();
    assert_eq!(status.code, 400);
}

#[tokio::test]
async fn reviews_allow_everything() {
    let server = Server::start().await;
    let what = json!({"verb": "get", "resource": "pods", "namespace": "default"});
    for (name, metadata, spec) in [
        ("selfsubjectaccessreviews", json!({}), json!({"resourceAttributes": what})),
        ("subjectaccessreviews", json!({}), json!({"resourceAttributes": what, "user": "jo"})),
        (
            "localsubjectaccessreviews",
            json!({"namespace": "default"}),
            json!({"resourceAttributes": what, "groups": ["us"]}),
        ),
    ] {
        let reply = server.post(name, json!({"metadata": metadata, "spec": spec})).await.unwrap();
        assert_eq!((reply.code, &reply.body["status"]["allowed"]), (201, &json!(true)), "{name}");
        assert_eq!(reply.body["spec"], spec);
        let nothing = json!({"metadata": metadata, "spec": {"user": "jo"}});
        assert_eq!(server.post(name, nothing).await.unwrap_err().code, 422, "{name}");
    }
    let local = json!({"spec": {"resourceAttributes": what, "user": "jo"}});
    let reply = server.post("localsubjectaccessreviews", local).await.unwrap();
    assert_eq!(reply.body["metadata"], json!({"namespace": "default"}), "that of the path");
    let reply =
        server.post("selfsubjectrulesreviews", json!({"spec": {"namespace": "default"}})).await.unwrap();
    assert_eq!(reply.body["status"]["resourceRules"][0]["verbs"], json!(["*"]));
    let reply = server.post("selfsubjectreviews", json!({})).await.unwrap();
    assert_eq!(reply.body["status"]["userInfo"], json!({"username": "me", "groups": ["us"]}));
    assert_eq!(reply.body["kind"], "SelfSubjectReview");
}

#[tokio::test]
async fn unsupported_subresources_are_a_405() {
    let server = Server::start().await;
    server.post("pods", pod("a")).await.unwrap();
    assert_eq!(server.post("pods/a/exec", json!({})).await.unwrap_err().code, 405);
    assert_eq!(server.put("pods/a/proxy", json!({})).await.unwrap_err().code, 405);
    assert_eq!(server.put("configmaps/a/status", json!({})).await.unwrap_err().code, 405);
    assert_eq!(
        server.patch("namespaces/default/finalize", PatchType::Merge, json!({})).await.unwrap_err().code,
        405
    );
    assert_eq!(server.delete("pods/a/status").await.unwrap_err().code, 405);
    assert_eq!(server.delete_all("namespaces", "").await.unwrap_err().code, 405);
}

#[tokio::test]
async fn a_resize_changes_only_the_containers() {
    let server = Server::start().await;
    let mut body = pod("a");
    body["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": "500m"}});
    server.post("pods", body.clone()).await.unwrap();
    body["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": "1"}});
    body["spec"]["nodeName"] = "n9".into();
    body["metadata"]["labels"] = json!({"x": "y"});
    let reply = server.put("pods/a/resize", body).await.unwrap();
    assert_eq!(reply.body["spec"]["containers"][0]["resources"]["requests"]["cpu"], "1");
    assert_eq!((reply.body["spec"].get("nodeName"), reply.body["metadata"].get("labels")), (None, None));
    assert_eq!(reply.body["metadata"]["generation"], 2);
    let mut other = pod("a");
    other["spec"]["containers"][0]["resources"] = json!({"requests": {}});
    assert_eq!(server.put("pods/a/resize", other).await.unwrap_err().code, 422); // another QoS class
}
