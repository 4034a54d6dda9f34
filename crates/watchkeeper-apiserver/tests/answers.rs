//! Responses of kube-apiserver that are easy to get wrong. `oracle/tests/differential/corpus/answers.txt` has
//! the same requests for both servers.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod world;

use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use watchkeeper_apiserver::server::ApiServer;

use world::World;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
const PARTIAL: &str = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
const PARTIAL_LIST: &str = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";

impl World {
    async fn text(&self, method: &str, path: &str, accept: &str, body: Value) -> (u16, String) {
        let headers = [("accept", accept), ("content-type", "application/json")];
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let (head, body) = self.send(method, path, &headers, body).await.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        (head.status.as_u16(), String::from_utf8(body.to_vec()).unwrap())
    }

    async fn get(&self, path: &str) -> (u16, Value) {
        let (code, text) = self.text("GET", path, "", Value::Null).await;
        (code, serde_json::from_str(&text).unwrap_or(text.into()))
    }

    async fn post(&self, path: &str, body: Value) -> (u16, Value) {
        let (code, text) = self.text("POST", path, "", body).await;
        (code, serde_json::from_str(&text).unwrap_or(text.into()))
    }
}

#[tokio::test]
async fn a_dry_run_ignores_the_resource_version() {
    let world = World::start().await;
    let map = |version: &str| json!({"metadata": {"name": "a", "resourceVersion": version}});
    let dry_run = format!("{MAPS}?dryRun=All");
    for version in ["5", "x"] {
        let (code, created) = world.post(&dry_run, map(version)).await;
        assert_eq!((code, &created["metadata"]["resourceVersion"]), (201, &json!(version)));
    }
    let (code, status) = world.post(MAPS, map("5")).await;
    let message = "resourceVersion should not be set on objects to be created";
    assert_eq!((code, &status["message"]), (500, &json!(message)));
    assert_eq!(world.post(MAPS, map("")).await.0, 201);
    let (code, status) = world.post(&dry_run, map("5")).await;
    assert_eq!((code, &status["reason"]), (409, &json!("AlreadyExists")));
    world.server.stop().await;
}

#[tokio::test]
async fn an_autoscaler_can_scale_a_replication_controller() {
    let world = World::start().await;
    let path = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers";
    let scaler = |name: &str, target: Value| json!({"metadata": {"name": name}, "spec": {"maxReplicas": 2, "scaleTargetRef": target}});
    for (name, version) in [("a", "v1"), ("b", "")] {
        let target = json!({"apiVersion": version, "kind": "ReplicationController", "name": "web"});
        let (code, answer) = world.post(path, scaler(name, target)).await;
        assert_eq!(code, 201, "{answer}");
    }
    let target = json!({"apiVersion": "v1", "kind": "Deployment", "name": "web"});
    let (code, status) = world.post(path, scaler("c", target)).await;
    assert_eq!(code, 422);
    assert!(status["message"].as_str().unwrap().contains("apiVersion must specify API group"), "{status}");
    world.server.stop().await;
}

#[tokio::test]
async fn sysctls_must_be_valid_and_namespaced() {
    let world = World::start().await;
    let post = async |spec: Value, names: &[&str]| {
        let sysctls: Vec<Value> = names.iter().map(|name| json!({"name": name, "value": "1"})).collect();
        let mut pod = json!({"metadata": {"generateName": "a-"}, "spec": {
            "containers": [{"name": "c", "image": "i"}], "securityContext": {"sysctls": sysctls},
        }});
        pod["spec"].as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        let (code, answer) = world.post("/api/v1/namespaces/default/pods", pod).await;
        let causes = answer["details"]["causes"].as_array().cloned().unwrap_or_default();
        let causes = causes.iter().map(|cause| format!("{} {}", cause["field"], cause["message"]));
        (code, causes.collect::<Vec<_>>().join("; ").replace('"', ""))
    };
    let none = json!({});
    assert_eq!(post(none.clone(), &["net.ipv4.tcp_syncookies", "kernel/shm_rmid_forced"]).await.0, 201);
    let (code, causes) = post(none.clone(), &["A..b", ""]).await;
    let path = |at: usize| format!("spec.securityContext.sysctls[{at}].name");
    assert_eq!(code, 422);
    assert!(causes.contains("must have at most 253 characters and match regex ^"), "{causes}");
    assert!(causes.contains(&format!("{} Required value", path(1))), "{causes}");
    let (_, causes) = post(none, &["kernel.sem", "kernel.sem"]).await;
    assert!(causes.contains(&format!("{} Duplicate value", path(1))), "{causes}");
    let (code, causes) = post(json!({"hostNetwork": true}), &["net/ipv4/tcp_syncookies"]).await;
    assert!(code == 422 && causes.contains("may not be specified when 'hostNetwork' is true"), "{causes}");
    let (code, causes) = post(json!({"hostIPC": true}), &["fs.mqueue.msg_max", "kernel.domainname"]).await;
    assert!(code == 422 && causes.contains("may not be specified when 'hostIPC' is true"), "{causes}");
    assert!(!causes.contains(&path(1)), "{causes}");
    world.server.stop().await;
}

#[tokio::test]
async fn reviews_and_bindings_are_not_tables() {
    let world = World::start().await;
    let review = json!({"spec": {"user": "a", "nonResourceAttributes": {"path": "/", "verb": "get"}}});
    let token = json!({"spec": {}});
    let binding = json!({"metadata": {"name": "a"}, "target": {"kind": "Node", "name": "n"}});
    for (path, body) in [
        ("/apis/authorization.k8s.io/v1/subjectaccessreviews", &review),
        ("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", &review),
        ("/apis/authentication.k8s.io/v1/tokenreviews", &token),
        ("/api/v1/namespaces/default/serviceaccounts/default/token", &token),
        ("/api/v1/namespaces/default/bindings", &binding),
        ("/api/v1/namespaces/default/pods/a/binding", &binding),
        ("/api/v1/namespaces/default/pods/a/eviction", &binding),
    ] {
        let (code, text) = world.text("POST", path, TABLE, body.clone()).await;
        assert_eq!(code, 406, "{path} {text}");
        assert!(text.contains("NotAcceptable"), "{text}");
    }
    let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    let (code, _) = world.text("POST", path, &format!("{TABLE},application/json"), review.clone()).await;
    assert_eq!(code, 201);
    world.server.stop().await;
}

#[tokio::test]
async fn an_invalid_timeout_is_refused_unless_the_request_is_long_running() {
    let world = World::start().await;
    for path in [MAPS, "/version", "/readyz", "/healthz", "/livez/ping", "/api", "/apis/apps/v1", "/metrics"]
    {
        let (code, answer) = world.get(&format!("{path}?timeout=x")).await;
        assert_eq!(code, 400, "{path} {answer}");
        let message = "invalid timeout specified in the request URL - time: invalid duration \"x\"";
        assert_eq!(answer["message"], message, "{path}");
        for timeout in ["5s", "0", "-5s"] {
            assert_eq!(world.get(&format!("{path}?timeout={timeout}")).await.0, 200, "{path} {timeout}");
        }
    }
    // Checked before authentication.
    let response = world.send_as("wrong", "GET", &format!("{MAPS}?timeout=x"), &[], String::new()).await;
    assert_eq!(response.status(), 400);
    // Ignored for watches.
    let watch = format!("{MAPS}?watch=true&timeoutSeconds=1&timeout=x");
    assert_eq!(world.send("GET", &watch, &[], String::new()).await.status(), 200);
    world.server.stop().await;
}

#[tokio::test]
async fn component_statuses_are_listed_and_read_by_name() {
    let world = World::start().await;
    let path = "/api/v1/componentstatuses";
    let (code, list) = world.get(path).await;
    let names: Vec<&str> = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["metadata"]["name"].as_str().unwrap())
        .collect();
    assert_eq!((code, &list["kind"]), (200, &json!("ComponentStatusList")));
    assert_eq!(names, ["controller-manager", "scheduler", "etcd-0"]);
    let (code, store) = world.get(&format!("{path}/etcd-0")).await;
    let expected = json!({"kind": "ComponentStatus", "apiVersion": "v1", "metadata": {"name": "etcd-0"},
        "conditions": [{"type": "Healthy", "status": "True", "message": "ok"}]});
    assert_eq!((code, store), (200, expected));
    let (code, status) = world.get(&format!("{path}/none")).await;
    assert_eq!((code, &status["message"]), (404, &json!("componentstatus \"none\" not found")));
    let (_, list) = world.get(&format!("{path}?fieldSelector=metadata.name%3Detcd-0")).await;
    assert_eq!(list["items"].as_array().unwrap().len(), 1);
    let (_, list) = world.get(&format!("{path}?labelSelector=a")).await;
    assert_eq!(list["items"], json!([]));
    let (code, table) = world.text("GET", path, TABLE, Value::Null).await;
    let table: Value = serde_json::from_str(&table).unwrap();
    assert_eq!((code, &table["rows"][2]["cells"]), (200, &json!(["etcd-0", "Healthy", "ok", ""])));
    let (code, status) = world.get(&format!("{path}?watch=true")).await;
    let message = "watch is not supported on resources of kind \"componentstatuses\"";
    assert_eq!((code, &status["message"]), (405, &json!(message)));
    assert_eq!(world.text("DELETE", &format!("{path}/etcd-0"), "", Value::Null).await.0, 405);
    world.server.stop().await;
}

#[tokio::test]
async fn the_kubernetes_service_points_to_the_server() {
    let directory = tempfile::tempdir().unwrap();
    // The second server listens on another port, with the data of the first.
    for _ in 0..2 {
        let builder = ApiServer::builder().plain_http().token("t").data_dir(directory.path());
        let world = World { server: builder.start().await.unwrap() };
        let address = world.server.address();
        let (code, endpoints) = world.get("/api/v1/namespaces/default/endpoints/kubernetes").await;
        let port = json!([{"name": "https", "port": address.port(), "protocol": "TCP"}]);
        assert_eq!(code, 200, "{endpoints}");
        assert_eq!(endpoints["subsets"], json!([{"addresses": [{"ip": "127.0.0.1"}], "ports": port}]));
        assert_eq!(
            endpoints["metadata"]["labels"],
            json!({"endpointslice.kubernetes.io/skip-mirror": "true"})
        );
        let path = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes";
        let (code, slice) = world.get(path).await;
        assert_eq!((code, &slice["ports"], &slice["addressType"]), (200, &port, &json!("IPv4")));
        assert_eq!(slice["endpoints"], json!([{"addresses": ["127.0.0.1"], "conditions": {"ready": true}}]));
        assert_eq!(slice["metadata"]["labels"], json!({"kubernetes.io/service-name": "kubernetes"}));
        let (_, service) = world.get("/api/v1/namespaces/default/services/kubernetes").await;
        assert_eq!(service["spec"]["ports"][0]["targetPort"], address.port());
        world.server.stop().await;
    }
}

#[tokio::test]
async fn built_in_objects_begin_with_their_kind_and_custom_ones_are_sorted() {
    let world = World::start().await;
    let definition = json!({"metadata": {"name": "widgets.example.com"}, "spec": {
        "group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema":
            {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}],
    }});
    let (code, _) = world.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition).await;
    assert_eq!(code, 201);
    let begins = async |method: &str, path: &str, accept: &str, body: Value, start: &str| {
        let (code, text) = world.text(method, path, accept, body).await;
        assert!(text.starts_with(start), "{method} {path} {accept}: {code} {text}");
    };
    let map = json!({"metadata": {"name": "a"}});
    let typed = r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":"#;
    begins(
        "POST",
        &format!("{MAPS}?dryRun=All"),
        "",
        map.clone(),
        r#"{"kind":"ConfigMap","apiVersion":"v1","#,
    )
    .await;
    begins("POST", MAPS, "", map, typed).await;
    let get =
        async |path: &str, accept: &str, start: &str| begins("GET", path, accept, Value::Null, start).await;
    get(&format!("{MAPS}/a"), "", typed).await;
    get(MAPS, "", r#"{"kind":"ConfigMapList","apiVersion":"v1","metadata":"#).await;
    get(&format!("{MAPS}/none"), "", r#"{"kind":"Status","apiVersion":"v1","metadata":"#).await;
    get(&format!("{MAPS}/a"), PARTIAL, r#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","#)
        .await;
    get(MAPS, PARTIAL_LIST, r#"{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","#).await;
    get(MAPS, TABLE, r#"{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":"#).await;
    get("/api/v1", "", r#"{"kind":"APIResourceList","groupVersion":"v1","#).await;
    get("/apis", "", r#"{"kind":"APIGroupList","apiVersion":"v1","#).await;
    let watch = "?watch=true&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
    let watch = format!("{watch}&allowWatchBookmarks=true");
    get(&format!("{MAPS}{watch}"), "", &format!(r#"{{"type":"ADDED","object":{typed}"#)).await;
    let partial =
        r#"{"type":"ADDED","object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","#;
    get(&format!("{MAPS}{watch}"), PARTIAL, partial).await;
    let review = json!({"spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}}});
    let start = r#"{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","#;
    begins("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "", review, start).await;
    let widgets = "/apis/example.com/v1/namespaces/default/widgets";
    let widget =
        json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": 1});
    let sorted = r#"{"apiVersion":"example.com/v1","kind":"Widget","metadata":"#;
    begins("POST", widgets, "", widget, sorted).await;
    get(&format!("{widgets}/a"), "", sorted).await;
    get(widgets, "", &format!(r#"{{"apiVersion":"example.com/v1","items":[{sorted}"#)).await;
    get(&format!("{widgets}{watch}"), "", &format!(r#"{{"type":"ADDED","object":{sorted}"#)).await;
    let widget =
        json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "b"}, "data": 1});
    let sorted = r#"{"apiVersion":"example.com/v1","data":1,"kind":"Widget","metadata":"#;
    begins("POST", widgets, "", widget, sorted).await;
    get(&format!("{widgets}/b"), "", sorted).await;
    world.server.stop().await;
}
