//! A server with a data directory across restarts.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod world;

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::Path;

use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use watchkeeper_apiserver::server::{ApiServer, StartError};
use watchkeeper_apiserver::store::disk::OpenError;
use watchkeeper_apiserver::store::{RangeQuery, Stored};

use world::World;

const DEFINITION: &str = "widgets.example.com";

async fn start(directory: &Path) -> World {
    start_on(0, directory).await
}

async fn start_on(port: u16, directory: &Path) -> World {
    let builder = ApiServer::builder().listen((Ipv4Addr::LOCALHOST, port).into()).plain_http().token("t");
    World { server: builder.data_dir(directory).start().await.unwrap() }
}

/// Starts a server with the tokens of its directory.
async fn start_known(directory: &Path) -> World {
    World { server: ApiServer::builder().plain_http().data_dir(directory).start().await.unwrap() }
}

/// Returns the error of a server that does not start.
async fn refused(directory: &Path) -> String {
    match ApiServer::builder().plain_http().data_dir(directory).start().await {
        Err(error) => error.to_string(),
        Ok(_) => panic!("it has started"),
    }
}

impl World {
    /// Returns the user name of a token, or the status code.
    async fn knows(&self, token: &str) -> Result<Value, u16> {
        let review = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
        let headers = [("content-type", "application/json")];
        let text = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}).to_string();
        let (head, body) = self.send_as(token, "POST", review, &headers, text).await.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let answer: Value = serde_json::from_slice(&body).unwrap();
        match head.status.as_u16() {
            201 => Ok(answer["status"]["userInfo"]["username"].clone()),
            code => Err(code),
        }
    }

    async fn ask(&self, method: &str, path: &str, body: Value) -> (u16, Value) {
        let text = if body.is_null() { String::new() } else { body.to_string() };
        let headers = [("content-type", "application/json")];
        let (head, body) = self.send(method, path, &headers, text).await.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let text = || Value::from(String::from_utf8_lossy(&body).into_owned());
        (head.status.as_u16(), serde_json::from_slice(&body).unwrap_or_else(|_| text()))
    }

    async fn create(&self, path: &str, body: Value) -> Value {
        let (code, stored) = self.ask("POST", path, body).await;
        assert_eq!(code, 201, "{stored}");
        stored
    }

    /// Returns everything in the store.
    async fn objects(&self) -> BTreeMap<String, std::sync::Arc<Stored>> {
        let mut objects = BTreeMap::new();
        let collections = [
            "namespaces",
            "services",
            "endpoints",
            "discovery.k8s.io/endpointslices",
            "secrets",
            "configmaps",
            "pods",
            "apps/deployments",
            "coordination.k8s.io/leases",
            "scheduling.k8s.io/priorityclasses",
            "networking.k8s.io/servicecidrs",
            "apiextensions.k8s.io/customresourcedefinitions",
            "example.com/widgets",
        ];
        for collection in collections {
            let range = self.server.store().range(RangeQuery::all(collection.into())).await.unwrap();
            for stored in range.items {
                objects.insert(format!("{collection} {}", stored.key()), stored);
            }
        }
        objects
    }
}

/// Creates objects of every scope and encoding.
async fn fill(world: &World) {
    let maps = "/api/v1/namespaces/default/configmaps";
    world
        .create(
            "/api/v1/namespaces",
            json!({"metadata": {"name": "shop", "annotations": {"note": "\"\\ \n☃"}}}),
        )
        .await;
    world.create(maps, json!({"metadata": {"generateName": "m-"}, "data": {"k": "v\u{0}"}})).await;
    world
        .create(
            "/api/v1/namespaces/shop/secrets",
            json!({"metadata": {"name": "s", "labels": {"a": "b"}}, "stringData": {"password": "p"}}),
        )
        .await;
    let pod = json!({"metadata": {"name": "p", "ownerReferences": [
            {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u", "controller": true}]},
        "spec": {"containers": [{"name": "c", "image": "i", "resources": {"limits": {"cpu": "0.5"}}}]}});
    world.create("/api/v1/namespaces/shop/pods", pod).await;
    let labels = json!({"app": "web"});
    let deployment = json!({"metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}});
    world.create("/apis/apps/v1/namespaces/shop/deployments", deployment).await;
    let lease = json!({"metadata": {"name": "l"}, "spec": {"renewTime": "2026-11-15T10:00:00.123456Z"}});
    world.create("/apis/coordination.k8s.io/v1/namespaces/shop/leases", lease).await;
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let definition = json!({"metadata": {"name": DEFINITION}, "spec": {"group": "example.com", "scope": "Cluster",
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
        "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]}});
    world.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition).await;
    for name in ["changed", "gone"] {
        world.create(maps, json!({"metadata": {"name": name}})).await;
    }
    let (code, _) = world
        .ask("PUT", &format!("{maps}/changed"), json!({"metadata": {"name": "changed"}, "data": {"k": "2"}}))
        .await;
    assert_eq!(code, 200);
    assert_eq!(world.ask("DELETE", &format!("{maps}/gone"), Value::Null).await.0, 200);
}

#[tokio::test]
async fn a_restarted_server_keeps_objects_and_versions() {
    let home = tempfile::tempdir().unwrap();
    let world = start(home.path()).await;
    assert_eq!(world.server.recovery().unwrap().objects, 0);
    fill(&world).await;
    // A definition is served once the server has established it.
    let widgets = "/apis/example.com/v1/widgets";
    while world.ask("GET", widgets, Value::Null).await.0 != 200 {
        tokio::task::yield_now().await;
    }
    world
        .create(
            widgets,
            json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "size": 1.5}),
        )
        .await;
    let (before, revision) = (world.objects().await, world.server.store().current().await.unwrap());
    assert!(before.len() >= 17, "{before:#?}");
    let port = world.server.address().port();
    world.server.stop().await;

    let world = start_on(port, home.path()).await;
    let recovery = world.server.recovery().unwrap();
    assert_eq!((recovery.objects, recovery.revision, &recovery.cut), (before.len(), revision, &None));
    assert_eq!(world.objects().await, before);
    assert_eq!(world.ask("GET", &format!("{widgets}/w"), Value::Null).await.1["size"], json!(1.5));

    let stored =
        world.create("/api/v1/namespaces/shop/configmaps", json!({"metadata": {"name": "new"}})).await;
    assert_eq!(stored["metadata"]["resourceVersion"], json!((revision.get() + 1).to_string()));
    let list =
        format!("/api/v1/configmaps?resourceVersion={}&resourceVersionMatch=Exact", revision.get() - 1);
    let (code, status) = world.ask("GET", &list, Value::Null).await;
    assert_eq!((code, &status["reason"]), (410, &json!("Expired")));
    world.server.stop().await;
}

#[tokio::test]
async fn the_kubernetes_service_follows_the_address_of_the_server() {
    let home = tempfile::tempdir().unwrap();
    let first = start(home.path()).await;
    // Reserved while the first server listens, so that the ports differ.
    let taken = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let before = first.ask("GET", "/api/v1/namespaces/default/services/kubernetes", Value::Null).await.1;
    assert_eq!(before["spec"]["ports"][0]["targetPort"], json!(first.server.address().port()));
    first.server.stop().await;
    let port = taken.local_addr().unwrap().port();
    drop(taken);
    let second = start_on(port, home.path()).await;
    let after = second.ask("GET", "/api/v1/namespaces/default/services/kubernetes", Value::Null).await.1;
    assert_eq!(after["spec"]["ports"][0]["targetPort"], json!(port));
    assert_eq!(after["metadata"]["uid"], before["metadata"]["uid"]);
    second.server.stop().await;
}

#[tokio::test]
async fn a_server_does_not_start_in_a_directory_in_use() {
    let home = tempfile::tempdir().unwrap();
    let world = start(home.path()).await;
    let second = ApiServer::builder().plain_http().data_dir(home.path()).start().await;
    let Err(StartError::Data(OpenError::InUse { directory })) = second else { panic!("it has started") };
    assert_eq!(directory, home.path());
    world.server.stop().await;
    start(home.path()).await.server.stop().await;
}

#[tokio::test]
async fn readiness_includes_the_disk_if_there_is_one() {
    let home = tempfile::tempdir().unwrap();
    let world = start(home.path()).await;
    let (code, text) = world.ask("GET", "/readyz?verbose", Value::Null).await;
    assert_eq!((code, text), (200, json!("[+]ping ok\n[+]store ok\nreadyz check passed\n")));
    world.server.stop().await;
    let in_memory = World::start().await;
    assert_eq!(in_memory.server.recovery(), None);
    let (_, text) = in_memory.ask("GET", "/readyz?verbose", Value::Null).await;
    assert_eq!(text, json!("[+]ping ok\nreadyz check passed\n"));
    in_memory.server.stop().await;
}

#[tokio::test]
async fn a_restarted_server_accepts_earlier_tokens() {
    let home = tempfile::tempdir().unwrap();
    let world = start_known(home.path()).await;
    let admin = world.server.token().to_owned();
    let headers = [("content-type", "application/json")];
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    let account = json!({"metadata": {"name": "robot"}}).to_string();
    assert_eq!(world.send_as(&admin, "POST", accounts, &headers, account).await.status(), 201);
    let asked =
        json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}).to_string();
    let path = format!("{accounts}/robot/token");
    let answer = world.send_as(&admin, "POST", &path, &headers, asked).await;
    let answer = answer.into_body().collect().await.unwrap().to_bytes();
    let answer: Value = serde_json::from_slice(&answer).unwrap();
    let robot = answer["status"]["token"].as_str().unwrap().to_owned();
    world.server.stop().await;

    let world = start_known(home.path()).await;
    assert_eq!(world.server.token(), admin);
    assert_eq!(world.knows(&admin).await, Ok(json!("kubernetes-admin")));
    assert_eq!(world.knows(&robot).await, Ok(json!("system:serviceaccount:default:robot")));
    world.server.stop().await;

    // An explicit token is valid for that start only.
    let world = start(home.path()).await;
    assert_eq!((world.server.token(), world.knows(&admin).await), ("t", Err(401)));
    assert_eq!(world.knows(&robot).await, Ok(json!("system:serviceaccount:default:robot")));
    world.server.stop().await;
    let world = start_known(home.path()).await;
    assert_eq!((world.server.token(), world.knows("t").await), (admin.as_str(), Err(401)));
    world.server.stop().await;
}

#[tokio::test]
async fn an_unreadable_keyring_is_named_and_left_unmodified() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("keyring");
    let world = start_known(home.path()).await;
    let admin = world.server.token().to_owned();
    world.server.stop().await;
    let whole = std::fs::read(&path).unwrap();
    let mut changed = whole.clone();
    changed[200] ^= 1;
    for (bytes, what) in [
        (Vec::new(), "the file is empty"),
        (whole[..40].to_vec(), "not a keyring"),
        (whole[..whole.len() / 2].to_vec(), "the checksum does not match"),
        (changed, "the checksum does not match"),
        (b"watchkeeper-keyring 2 x\n".to_vec(), "written by another version of this program"),
    ] {
        std::fs::write(&path, &bytes).unwrap();
        let expected = format!(
            "invalid keyring {}: {what}; restore it from a copy, or remove it: the next start creates a new one, \
             and earlier kubeconfigs and tokens become invalid",
            path.display()
        );
        assert_eq!(refused(home.path()).await, expected);
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
    }
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    assert_eq!(refused(home.path()).await, format!("failed to read or write {}", path.display()));
    std::fs::remove_dir(&path).unwrap();

    std::fs::write(&path, &whole).unwrap();
    let world = start_known(home.path()).await;
    assert_eq!(world.server.token(), admin);
    world.server.stop().await;
}

#[tokio::test]
async fn a_directory_without_a_keyring_gets_one_that_only_its_owner_can_read() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = tempfile::tempdir().unwrap();
    let (directory, mode) =
        (home.path().join("data"), |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777);
    let world = start_known(&directory).await;
    let first = world.server.token().to_owned();
    let revision = world.server.store().current().await.unwrap();
    world.server.stop().await;
    // Earlier versions stored only objects.
    let path = directory.join("keyring");
    std::fs::remove_file(&path).unwrap();

    let world = start_known(&directory).await;
    let second = world.server.token().to_owned();
    assert_ne!(first, second);
    assert_eq!(world.server.recovery().unwrap().revision, revision);
    assert_eq!((mode(&path), mode(&directory)), (0o600, 0o700));
    world.server.stop().await;
    let world = start_known(&directory).await;
    assert_eq!(world.knows(&second).await, Ok(json!("kubernetes-admin")));
    assert_eq!(world.knows(&first).await, Err(401));
    world.server.stop().await;
}
