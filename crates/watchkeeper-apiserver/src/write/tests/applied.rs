use super::*;

impl Server {
    async fn apply(&self, manager: &str, path: &str, configuration: Value) -> Result<Reply, Status> {
        self.apply_with(path, configuration, &self.by(manager)).await
    }

    async fn force(&self, manager: &str, path: &str, configuration: Value) -> Result<Reply, Status> {
        self.apply_with(path, configuration, &WriteOptions { force: true, ..self.by(manager) }).await
    }

    async fn apply_with(&self, path: &str, body: Value, options: &WriteOptions) -> Result<Reply, Status> {
        self.patch_with(path, PatchType::Apply, &body.to_string(), options).await
    }

    fn by(&self, manager: &str) -> WriteOptions {
        WriteOptions { field_manager: manager.to_owned(), ..self.options() }
    }
}

fn data(fields: Value) -> Value {
    let mut map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    map["data"] = fields;
    map
}

/// Manager, operation and subresource of each entry.
fn owners(object: &Value) -> Vec<String> {
    let entries = object["metadata"]["managedFields"].as_array().into_iter().flatten();
    let text = |entry: &Value, name: &str| entry[name].as_str().unwrap_or_default().to_owned();
    entries
        .map(|it| {
            format!("{} {} {}", text(it, "manager"), text(it, "operation"), text(it, "subresource"))
                .trim_end()
                .to_owned()
        })
        .collect()
}

#[tokio::test]
async fn an_apply_creates_a_missing_object_with_its_manager() {
    let server = Server::start().await;
    let dry = server.dry().apply("m", "configmaps/a", data(json!({"k": "v"}))).await.unwrap();
    assert_eq!((dry.code, owners(&dry.body)), (201, vec!["m Apply".to_owned()]));
    assert_eq!(server.stored("configmaps/a").await, None);
    let reply = server.apply("m", "configmaps/a", data(json!({"k": "v"}))).await.unwrap();
    assert_eq!(reply.code, 201);
    let entry = &reply.body["metadata"]["managedFields"][0];
    assert_eq!(entry["fieldsV1"], json!({"f:data": {"f:k": {}}}));
    assert_eq!((&entry["apiVersion"], &entry["fieldsType"]), (&json!("v1"), &json!("FieldsV1")));
    assert_eq!(entry["time"], reply.body["metadata"]["creationTimestamp"]);
}

#[tokio::test]
async fn applying_the_same_again_keeps_the_version() {
    let server = Server::start().await;
    server.apply("m", "configmaps/a", data(json!({"k": "v"}))).await.unwrap();
    let before = server.stored("configmaps/a").await.unwrap();
    let reply = server.apply("m", "configmaps/a", data(json!({"k": "v"}))).await.unwrap();
    assert_eq!((reply.code, reply.body), (200, before));
}

#[tokio::test]
async fn other_writes_are_tracked_from_the_first_apply() {
    let server = Server::start().await;
    server.post("configmaps", config_map("a")).await.unwrap();
    let patch = r#"{"data": {"l": "1"}}"#;
    let reply =
        server.patch_with("configmaps/a", PatchType::Merge, patch, &server.by("early")).await.unwrap();
    assert_eq!(owners(&reply.body), Vec::<String>::new());
    let reply = server.apply("m", "configmaps/a", data(json!({"k": "v"}))).await.unwrap();
    assert_eq!(owners(&reply.body), ["m Apply", "before-first-apply Update"]);
    let patch = r#"{"data": {"l": "2"}}"#;
    let reply = server.patch_with("configmaps/a", PatchType::Merge, patch, &server.by("late")).await.unwrap();
    assert_eq!(owners(&reply.body), ["m Apply", "before-first-apply Update", "late Update"]);
    let refused = server.apply("m", "configmaps/a", data(json!({"k": "v", "l": "3"}))).await.unwrap_err();
    assert_eq!(refused.message, r#"Apply failed with 1 conflict: conflict with "late" using v1: .data.l"#);
    let reply = server.force("m", "configmaps/a", data(json!({"k": "v", "l": "3"}))).await.unwrap();
    assert_eq!(reply.body["data"], json!({"k": "v", "l": "3"}));
}

#[tokio::test]
async fn a_client_can_only_reset_or_restore_managers() {
    let server = Server::start().await;
    let reply = server.apply("m", "configmaps/a", data(json!({"k": "v"}))).await.unwrap();
    let mut broken = reply.body.clone();
    broken["metadata"]["managedFields"] = json!([{"manager": "x", "operation": "Nothing"}]);
    let reply = server.put("configmaps/a", broken).await.unwrap();
    assert_eq!(owners(&reply.body), ["m Apply"]);
    for reset in [json!([]), json!([{}])] {
        let patch = json!({"metadata": {"managedFields": reset}});
        let reply = server.patch("configmaps/a", PatchType::Merge, patch).await.unwrap();
        assert_eq!(owners(&reply.body), Vec::<String>::new());
        server.apply("m", "configmaps/a", data(json!({"k": "v"}))).await.unwrap();
    }
}

#[tokio::test]
async fn status_and_scale_have_their_own_managers() {
    let server = Server::start().await;
    let mut wanted = deployment("a");
    (wanted["apiVersion"], wanted["kind"]) = ("apps/v1".into(), "Deployment".into());
    server.apply("m", "deployments/a", wanted.clone()).await.unwrap();
    let mut status = wanted.clone();
    status["status"] = json!({"replicas": 2});
    let reply = server.apply("s", "deployments/a/status", status).await.unwrap();
    assert_eq!(owners(&reply.body), ["m Apply", "s Apply status"]);
    assert_eq!(
        reply.body["metadata"]["managedFields"][1]["fieldsV1"],
        json!({"f:status": {"f:replicas": {}}})
    );
    let scale = |replicas: i32| json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, "spec": {"replicas": replicas}});
    let refused = server.apply("x", "deployments/a/scale", scale(5)).await.unwrap_err();
    assert_eq!(refused.message, r#"Apply failed with 1 conflict: conflict with "m": .spec.replicas"#);
    server.force("x", "deployments/a/scale", scale(5)).await.unwrap();
    let stored = server.stored("deployments/a").await.unwrap();
    assert_eq!(stored["spec"]["replicas"], 5);
    assert_eq!(owners(&stored), ["x Apply scale", "m Apply", "s Apply status"]);
    server
        .patch_with("deployments/a/scale", PatchType::Merge, r#"{"spec":{"replicas":6}}"#, &server.by("p"))
        .await
        .unwrap();
    let stored = server.stored("deployments/a").await.unwrap();
    assert_eq!(owners(&stored), ["m Apply", "s Apply status", "p Update scale"]);
    let absent = server.apply("s", "deployments/b/status", {
        let mut status = wanted;
        status["metadata"]["name"] = "b".into();
        status
    });
    assert!(absent.await.unwrap_err().is_not_found());
}

#[tokio::test]
async fn invalid_configurations_are_refused_as_in_kube_apiserver() {
    let server = Server::start().await;
    let refused = |path: &'static str, body: Value| {
        let server = &server;
        async move {
            let status = server.apply("m", path, body).await.unwrap_err();
            (status.code, status.message)
        }
    };
    let (code, message) = refused("configmaps/a", json!({})).await;
    assert_eq!((code, message.as_str()), (400, "invalid object type: /, Kind="));
    let mut named = data(json!({}));
    named["metadata"]["managedFields"] = json!([]);
    assert_eq!(refused("configmaps/a", named).await, (400, "metadata.managedFields must be nil".to_owned()));
    let mut strange = data(json!({}));
    strange["bogus"] = 1.into();
    let message =
        "failed to create typed patch object (/a; /v1, Kind=ConfigMap): .bogus: field not declared in schema";
    assert_eq!(refused("configmaps/a", strange).await, (500, message.to_owned()));
    let message = "the name of the object (a) does not match the name on the URL (b)";
    assert_eq!(refused("configmaps/b", data(json!({}))).await, (400, message.to_owned()));
}
