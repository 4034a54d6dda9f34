//! Admission and preparation of new objects.

use parking_lot::Mutex;

use super::*;
use crate::admission::{AdmissionFuture, AdmissionPlugin, AdmissionRequest, Operation};
use crate::write::Draft;

#[tokio::test]
async fn a_pod_gets_the_priority_of_its_class() {
    let server = Server::start().await;
    let plain = server.post("pods", pod("plain")).await.unwrap().body;
    assert_eq!(
        (&plain["spec"]["priority"], &plain["spec"]["preemptionPolicy"]),
        (&json!(0), &json!("PreemptLowerPriority"))
    );

    for (name, value, default) in [("low", 3, true), ("high", 9, false)] {
        let class = json!({"metadata": {"name": name}, "value": value, "globalDefault": default, "preemptionPolicy": "Never"});
        server.post("priorityclasses", class).await.unwrap();
    }
    let low = server.post("pods", pod("low")).await.unwrap().body;
    assert_eq!((&low["spec"]["priority"], &low["spec"]["priorityClassName"]), (&json!(3), &json!("low")));
    let mut body = pod("high");
    body["spec"]["priorityClassName"] = "high".into();
    let high = server.post("pods", body.clone()).await.unwrap().body;
    assert_eq!((&high["spec"]["priority"], &high["spec"]["preemptionPolicy"]), (&json!(9), &json!("Never")));

    body["metadata"]["name"] = "other".into();
    body["spec"]["priority"] = 1.into();
    let status = server.post("pods", body.clone()).await.unwrap_err();
    assert_eq!(
        status.message,
        "pods \"other\" is forbidden: the integer value of priority (1) must not be provided in pod spec; \
         priority admission controller computed 9 from the given PriorityClass name"
    );
    body["spec"]["priorityClassName"] = "none".into();
    let status = server.post("pods", body).await.unwrap_err();
    let message = "pods \"other\" is forbidden: no PriorityClass with name none was found";
    assert_eq!((status.code, status.message.as_str()), (403, message));
}

#[tokio::test]
async fn a_claim_without_a_class_gets_the_newest_default_class() {
    let server = Server::start().await;
    let spec = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}});
    let claim = |name: &str| json!({"metadata": {"name": name}, "spec": spec});
    let none = server.post("persistentvolumeclaims", claim("none")).await.unwrap().body;
    assert_eq!(none["spec"]["storageClassName"], Value::Null);
    assert_eq!(none["metadata"]["finalizers"], json!(["kubernetes.io/pvc-protection"]));
    let mark = json!({"storageclass.kubernetes.io/is-default-class": "true"});
    for (name, annotations) in [("b", &mark), ("a", &mark), ("0", &json!({}))] {
        let class = json!({"metadata": {"name": name, "annotations": annotations}, "provisioner": "p"});
        server.post("storageclasses", class).await.unwrap();
    }
    let stored = |name| server.stored(name);
    let age = |class: Option<Value>| class.unwrap()["metadata"]["creationTimestamp"].to_string();
    let (a, b) = (age(stored("storageclasses/a").await), age(stored("storageclasses/b").await));
    let newest = if b > a { "b" } else { "a" };
    let some = server.post("persistentvolumeclaims", claim("some")).await.unwrap().body;
    assert_eq!(some["spec"]["storageClassName"], newest);
    let mut explicit = claim("explicit");
    explicit["spec"]["storageClassName"] = "".into();
    let explicit = server.post("persistentvolumeclaims", explicit).await.unwrap().body;
    assert_eq!(explicit["spec"]["storageClassName"], "");
}

#[tokio::test]
async fn a_job_selects_its_own_pods_by_its_uid() {
    let server = Server::start().await;
    let template = json!({"spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}});
    let body = json!({"metadata": {"generateName": "j-"}, "spec": {"template": template}});
    let job = server.post("jobs", body).await.unwrap().body;
    let (uid, name) = (&job["metadata"]["uid"], &job["metadata"]["name"]);
    let labels = json!({
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": name,
        "controller-uid": uid,
        "job-name": name,
    });
    assert_eq!(job["spec"]["template"]["metadata"]["labels"], labels);
    assert_eq!(job["metadata"]["labels"], labels);
    assert_eq!(job["spec"]["selector"], json!({"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}));
}

#[tokio::test]
async fn sending_a_new_object_again_changes_nothing() {
    let server = Server::start().await;
    let set = json!({"metadata": {"name": "a"}, "spec": {
        "selector": {"matchLabels": {"app": "a"}},
        "template": {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
    }});
    let service = json!({"metadata": {"name": "a"}, "spec": {"type": "NodePort", "ports": [{"port": 80}]}});
    for (path, body) in
        [("deployments", &deployment("a")), ("daemonsets", &set), ("pods", &pod("a")), ("services", &service)]
    {
        let first = server.post(path, body.clone()).await.unwrap().body;
        let again = server.put(&format!("{path}/a"), body.clone()).await.unwrap().body;
        assert_eq!(again, first, "{path}");
    }
}

#[tokio::test]
async fn a_daemon_set_counts_changes_of_its_template() {
    let server = Server::start().await;
    let set = |image: &str, label: &str| {
        json!({"metadata": {"name": "a", "labels": {"l": label}}, "spec": {
            "selector": {"matchLabels": {"app": "a"}},
            "template": {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": image}]}},
        }})
    };
    let count =
        |set: &Value| set["metadata"]["annotations"]["deprecated.daemonset.template.generation"].clone();
    assert_eq!(count(&server.post("daemonsets", set("i:1", "x")).await.unwrap().body), "1");
    assert_eq!(count(&server.put("daemonsets/a", set("i:1", "y")).await.unwrap().body), "1");
    assert_eq!(count(&server.put("daemonsets/a", set("i:2", "y")).await.unwrap().body), "2");
}

#[tokio::test]
async fn annotations_of_a_deployment_change_its_generation() {
    let server = Server::start().await;
    server.post("deployments", deployment("a")).await.unwrap();
    for (patch, generation) in [
        (json!({"metadata": {"labels": {"a": "b"}}}), 1),
        (json!({"metadata": {"annotations": {"a": "b"}}}), 2),
        (json!({"metadata": {"annotations": {"a": "b"}}}), 2),
    ] {
        let reply = server.patch("deployments/a", PatchType::Merge, patch).await.unwrap();
        assert_eq!(reply.body["metadata"]["generation"], generation);
    }
}

#[tokio::test]
async fn containers_get_the_default_limits_of_their_namespace() {
    let server = Server::start().await;
    let limit = json!({"type": "Container", "default": {"cpu": "2", "memory": "1Gi"}, "defaultRequest": {"cpu": "1"}});
    let range = json!({"metadata": {"name": "r"}, "spec": {"limits": [limit]}});
    server.post("limitranges", range).await.unwrap();
    let mut body = pod("a");
    body["spec"]["containers"][0]["resources"] = json!({"limits": {"cpu": "3"}, "requests": {"cpu": "1"}});
    let reply = server.post("pods", body).await.unwrap().body;
    let expected =
        json!({"limits": {"cpu": "3", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Gi"}});
    assert_eq!(reply["spec"]["containers"][0]["resources"], expected);
    let note = "LimitRanger plugin set: memory request for container c; memory limit for container c";
    assert_eq!(reply["metadata"]["annotations"]["kubernetes.io/limit-ranger"], note);
}

/// Records its calls, labels new objects, and refuses objects with the annotation `refuse`.
#[derive(Default)]
struct Recorder(Mutex<Vec<String>>);

impl Recorder {
    fn record(&self, step: &str, request: &AdmissionRequest<'_>) {
        let (operation, old) = (request.operation, if request.old_object.is_some() { " old" } else { "" });
        let below = request.subresource.map(|name| format!("/{name}")).unwrap_or_default();
        let call =
            format!("{step} {operation:?} {}{below} {}{old}", request.resource.name, request.user.name);
        self.0.lock().push(call);
    }
}

impl AdmissionPlugin for Recorder {
    fn name(&self) -> &str {
        "Recorder"
    }

    fn mutate<'a>(&'a self, request: &'a mut AdmissionRequest<'_>) -> AdmissionFuture<'a> {
        self.record("mutate", request);
        if let Some(object) = request.object.as_deref_mut()
            && request.operation == Operation::Create
        {
            object.fields_mut()["metadata"]["labels"] = json!({"admitted": "true"});
        }
        Box::pin(std::future::ready(Ok(())))
    }

    fn validate<'a>(&'a self, request: &'a AdmissionRequest<'_>) -> AdmissionFuture<'a> {
        self.record("validate", request);
        let object = request.object.as_deref().map(Draft::fields);
        let refuses = object.is_some_and(|object| object["metadata"]["annotations"]["refuse"] == "true");
        let outcome = if refuses { Err(request.forbid("it is annotated")) } else { Ok(()) };
        Box::pin(std::future::ready(outcome))
    }
}

#[tokio::test]
async fn admission_plugins_are_called_for_every_write_and_connection() {
    let (mut server, recorder) = (Server::start().await, Arc::new(Recorder::default()));
    server.writer = server.writer.clone().admission(recorder.clone());
    let created = server.post("configmaps", config_map("a")).await.unwrap().body;
    assert_eq!(created["metadata"]["labels"], json!({"admitted": "true"}));
    server.put("configmaps/a", config_map("a")).await.unwrap();
    server.patch("configmaps/a", PatchType::Merge, json!({"data": {"k": "w"}})).await.unwrap();
    server.delete("configmaps/a").await.unwrap();
    server.writer.admit_connect(&call("default", "pods/a/exec")).await.unwrap();
    let expected = [
        "mutate Create configmaps me",
        "validate Create configmaps me",
        "mutate Update configmaps me old",
        "validate Update configmaps me old",
        "mutate Update configmaps me old",
        "validate Update configmaps me old",
        "mutate Delete configmaps me",
        "validate Delete configmaps me old",
        "mutate Connect pods/exec me",
        "validate Connect pods/exec me",
    ];
    assert_eq!(*recorder.0.lock(), expected);
}

#[tokio::test]
async fn a_write_that_a_plugin_refuses_is_not_stored() {
    let mut server = Server::start().await;
    server.writer = server.writer.clone().admission(Arc::new(Recorder::default()));
    let mut refused = config_map("a");
    refused["metadata"]["annotations"] = json!({"refuse": "true"});
    let status = server.post("configmaps", refused).await.unwrap_err();
    assert_eq!((status.code, &*status.message), (403, "configmaps \"a\" is forbidden: it is annotated"));
    assert_eq!(server.stored("configmaps/a").await, None);
}
