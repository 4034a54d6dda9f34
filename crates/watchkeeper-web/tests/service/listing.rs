//! Lists equal those of the API server.

use http::Method;
use serde_json::{Value, json};
use watchkeeper_client::rest::Content;
use watchkeeper_core::GroupVersion;

use crate::world::{PODS, World, names, pod};

fn widgets() -> Value {
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}]}})
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_equal_the_api_servers() {
    let mut objects = vec![
        pod("web-0", "web", "n1"),
        pod("web-1", "web", "n2"),
        pod("db-0", "db", "n1"),
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}]}}),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"k": "ü<&>\n"}}),
        widgets(),
    ];
    let template =
        json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    for (kind, more) in [
        ("Deployment", json!({})),
        ("StatefulSet", json!({"serviceName": "s"})),
        ("DaemonSet", json!({})),
        ("ReplicaSet", json!({})),
    ] {
        let mut spec = json!({"selector": {"matchLabels": {"a": "b"}}, "template": template});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        objects.push(json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "x"}, "spec": spec}));
    }
    let world = World::of(&objects).await;
    let widget =
        json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "size": 3});
    let rest = world.client.rest(&GroupVersion::new("example.com", "v1"), Content::json());
    rest.post().namespace(world.namespace()).resource("widgets").object(&widget).send().await.unwrap();

    let resources = [
        PODS,
        ("", "v1", "services"),
        ("", "v1", "namespaces"),
        ("", "v1", "events"),
        ("apps", "v1", "deployments"),
        ("apps", "v1", "statefulsets"),
        ("apps", "v1", "daemonsets"),
        ("apps", "v1", "replicasets"),
        ("", "v1", "configmaps"),
        ("example.com", "v1", "widgets"),
        ("apiextensions.k8s.io", "v1", "customresourcedefinitions"),
    ];
    for names in resources {
        let (group, version, resource) = names;
        let group = if group.is_empty() { "core" } else { group };
        let answer = world.get(&format!("/{resource}/{group}/{version}")).await;
        let expected = world.listed(names, &[]).await;
        assert!(resource == "events" || !expected.is_empty(), "{resource}: there is nothing to compare");
        assert_eq!(answer.data(), Value::Array(expected), "{resource}");
        assert_eq!(answer.headers["content-type"], "application/json");
    }
    assert_eq!(world.get("/pod/list").await.text, world.get("/pods/core/v1").await.text);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn selectors_match_like_the_api_servers() {
    let world =
        World::of(&[pod("web-0", "web", "n1"), pod("web-1", "web", "n2"), pod("db-0", "db", "n1")]).await;
    let here = world.namespace().to_owned();
    let other = world.cluster.fresh_namespace().await.unwrap();
    let mut there = pod("web-0", "web", "n1");
    there["metadata"]["namespace"] = other.as_str().into();
    world.create(there, PODS).await;
    let queries: &[&[(&str, &str)]] = &[
        &[("namespace", &here)],
        &[("namespace", &other)],
        &[("namespace", "nowhere")],
        &[("labelSelector", "app=web")],
        &[("labelSelector", "app!=web")],
        &[("labelSelector", "app in (db,web),name notin (web-1)"), ("namespace", &here)],
        &[("labelSelector", "absent")],
        &[("labelSelector", "!absent")],
        &[("fieldSelector", "metadata.name=web-0")],
        &[("fieldSelector", "spec.nodeName=n1")],
        &[("fieldSelector", "spec.nodeName!=n1,status.phase=Pending")],
        &[("fieldSelector", "spec.nodeName=n1"), ("labelSelector", "app=web"), ("namespace", &other)],
        &[("limit", "0")],
    ];
    for query in queries {
        let text: Vec<String> = query
            .iter()
            .map(|(name, value)| format!("{name}={}", value.replace('=', "%3D").replace(' ', "%20")))
            .collect();
        let answer = world.get(&format!("/pods/core/v1?{}", text.join("&"))).await;
        assert_eq!(answer.data(), Value::Array(world.listed(PODS, query).await), "{query:?}");
    }
    // Field selectors that the API server does not support.
    let images = world.get("/pods/core/v1?fieldSelector=spec.containers.image%3Ddb:1").await;
    assert_eq!(names(&images.data()), ["db-0"]);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_can_be_sorted_by_any_field() {
    let mut objects = vec![pod("a", "web", "n2"), pod("b", "web", "n1"), pod("c", "db", "n2")];
    for (at, object) in objects.iter_mut().enumerate() {
        object["spec"]["terminationGracePeriodSeconds"] = [30, 4, 100][at].into();
    }
    let world = World::of(&objects).await;
    let sorted = async |by: &str| {
        let data = world.get(&format!("/pods/core/v1?sort={by}")).await.data();
        names(&data).join("")
    };
    assert_eq!(sorted("").await, "abc");
    assert_eq!(sorted("metadata.name").await, "abc");
    assert_eq!(sorted("-metadata.name").await, "cba");
    assert_eq!(sorted("spec.nodeName").await, "bac");
    assert_eq!(sorted("-spec.nodeName").await, "acb", "equal values are sorted by name in both directions");
    assert_eq!(sorted("spec.terminationGracePeriodSeconds").await, "bac", "4, 30, 100: as numbers");
    assert_eq!(sorted("metadata.labels.absent").await, "abc");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_queries_are_rejected() {
    let world = World::of(&[pod("a", "web", "n1")]).await;
    let cases = [
        ("/pods/core/v1?labelSelector=a%20in%20(", "labelSelector: at"),
        ("/pods/core/v1?labelSelector=_%3D1", "labelSelector: "),
        ("/pods/core/v1?fieldSelector=a", "fieldSelector: "),
        ("/pods/core/v1?fieldSelector=a..b%3D1", "fieldSelector: "),
        ("/pods/core/v1?sort=a..b", "sort: "),
        (
            "/pods/core/v1?fieldSelector=spec.nodename%3Dn1",
            "fieldSelector: unknown field \"spec.nodename\" of Pod",
        ),
        ("/pods/core/v1?sort=spec.nodename", "sort: unknown field \"spec.nodename\" of Pod"),
        ("/pods/core/v1?limit=x", "limit: invalid number \"x\""),
        ("/pods/core/v1?limit=-1", "limit: invalid number \"-1\""),
        ("/pods/core/v1?continue=abc", "continue: invalid token"),
        ("/pods/core/v1?limit=1&limit=2", "duplicate query parameter \"limit\""),
        (
            "/pods/core/v1?labels=a",
            "unknown query parameter \"labels\"; allowed: namespace, labelSelector, fieldSelector, limit, continue, sort",
        ),
        ("/namespaces/core/v1?namespace=a", "namespace: namespaces are not namespaced"),
        ("/pods/core/v1?labelSelector=%ff", "labelSelector: "),
        ("/pods/core/%ff", "Invalid URL: "),
    ];
    for (path, expected) in cases {
        let message = world.get(path).await.failure(400);
        assert!(message.starts_with(expected), "{path}: {message}");
    }
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_resources_get_suggestions() {
    let world = World::of(&[]).await;
    let cases = [
        ("/pod/core/v1", "resource pod/core/v1 not found; did you mean pods/core/v1"),
        ("/deployments/core/v1", "resource deployments/core/v1 not found; did you mean deployments/apps/v1?"),
        ("/deploymnets/apps/v1", "resource deploymnets/apps/v1 not found; did you mean deployments/apps/v1?"),
        ("/pods/core/v2", "resource pods/core/v2 not found; did you mean pods/core/v1?"),
        ("/qqqqqqqqqq/example.com/v1", "resource qqqqqqqqqq/example.com/v1 not found"),
        (
            "/tokenreviews/authentication.k8s.io/v1",
            "tokenreviews/authentication.k8s.io/v1 cannot be listed and watched",
        ),
        ("/nothing", "/nothing not found; see /openapi.json for all routes"),
        ("/v1/nothing", "/v1/nothing not found"),
    ];
    for (path, expected) in cases {
        let message = world.get(path).await.failure(404);
        assert!(message.starts_with(expected), "{path}: {message}");
    }
    let secrets = world.get("/secrets/core/v1").await.failure(403);
    assert_eq!(secrets, "secrets are not cached; start the service with --cache-secrets to read them");

    let posted = world.ask(Method::POST, "/pods/core/v1", &[]).await;
    assert_eq!(posted.failure(405), "method POST not allowed for /pods/core/v1");
    assert_eq!(posted.headers["allow"], "GET,HEAD");
    let head = world.ask(Method::HEAD, "/pods/core/v1", &[]).await;
    assert_eq!((head.status.as_u16(), &*head.text), (200, ""));
    assert_eq!(world.get("/ping").await.data(), "pong");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unauthenticated_requests_read_nothing() {
    let world = World::of(&[pod("a", "web", "n1")]).await;
    let here = world.namespace();
    let paths = [
        "/pod/list".to_owned(),
        "/pods/core/v1".to_owned(),
        "/v1/resources".to_owned(),
        "/v1/events".to_owned(),
        format!("/v1/workloads/{here}/a"),
        format!("/v1/tree/core/v1/pods/{here}/a"),
        format!("/v1/objects/core/v1/pods/{here}/a"),
    ];
    for path in paths {
        let request = http::Request::get(&path).body(axum::body::Body::empty()).unwrap();
        world.send(request).await.failure(401);
        assert_ne!(world.get(&path).await.status, 401, "{path}");
    }
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_route_reads_secrets_unless_they_are_cached() {
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"password": "aHVudGVyMg=="}});
    let world = World::with(&[secret], false).await;
    let here = world.namespace();
    for path in [
        "/secrets/core/v1".to_owned(),
        format!("/secrets/core/v1?namespace={here}&limit=1"),
        "/%73ecrets/core/v1".to_owned(),
        "/secrets//v1".to_owned(),
        "/secrets/core/v1/".to_owned(),
        format!("/v1/objects/core/v1/secrets/{here}/s"),
        format!("/v1/objects/core/v1/secrets/{here}/s?format=yaml"),
        format!("/v1/objects/core/v1/secrets/{here}/s?managedFields=true"),
        format!("/v1/tree/core/v1/secrets/{here}/s"),
        format!("/v1/tree/core/v1/secrets/{here}/s?up=true"),
    ] {
        let answer = world.get(&path).await;
        assert!(answer.status.as_u16() >= 400, "{path}: {}", answer.text);
        assert!(!answer.text.contains("aHVudGVyMg"), "{path}: {}", answer.text);
    }
    for path in ["/v1/events", "/v1/resources", "/metrics", "/openapi.json"] {
        assert!(!world.get(path).await.text.contains("aHVudGVyMg"), "{path}");
    }
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cached_secrets_are_redacted() {
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"password": "aHVudGVyMg=="}});
    let world = World::with(&[secret], true).await;
    let list = world.get("/secrets/core/v1").await;
    let here = world.namespace();
    let one = world.get(&format!("/v1/objects/core/v1/secrets/{here}/s")).await;
    let whole =
        world.get(&format!("/v1/objects/core/v1/secrets/{here}/s?managedFields=true&format=yaml")).await;
    for answer in [&list, &one, &whole] {
        assert!(answer.text.contains("<redacted: 7 bytes>"), "{}", answer.text);
        assert!(!answer.text.contains("aHVudGVyMg"), "{}", answer.text);
    }
    assert_eq!(list.data()[0], one.json());
    // Values can neither be guessed by selectors or sorting nor read from a continue token.
    let inside = ["data.password", "stringData.password", "data", "metadata.annotations.note"];
    for path in inside {
        world.get(&format!("/secrets/core/v1?sort={path}&limit=1")).await.failure(400);
        world.get(&format!("/secrets/core/v1?sort=-{path}")).await.failure(400);
        world.get(&format!("/secrets/core/v1?fieldSelector={path}%3DaHVudGVyMg%3D%3D")).await.failure(400);
    }
    for path in ["metadata.name", "metadata.labels.app", "type"] {
        world.get(&format!("/secrets/core/v1?sort={path}&fieldSelector={path}!%3Dx")).await.data();
    }
    world.stop().await;
}
