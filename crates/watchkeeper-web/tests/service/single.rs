//! Single objects.

use http::Method;
use serde_json::{Value, json};
use watchkeeper_client::rest::{Content, PatchKind};
use watchkeeper_core::GroupVersion;

use crate::world::{World, pod};

#[tokio::test(flavor = "multi_thread")]
async fn objects_equal_the_api_servers() {
    let world = World::of(&[]).await;
    let here = world.namespace();
    let applied = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "notes"}, "data": {"a": "1\n2: x"}});
    let rest = world.client.rest(&GroupVersion::new("", "v1"), Content::json());
    let request = rest.patch(PatchKind::Apply).namespace(here).resource("configmaps").name("notes");
    let stored: Value =
        request.param("fieldManager", "test").object(&applied).send().await.unwrap().into().unwrap();
    let mut bare = stored.clone();
    assert!(bare["metadata"].as_object_mut().unwrap().remove("managedFields").is_some());
    world.seen(("", "v1", "configmaps"), &stored).await;

    let path = format!("/v1/objects/core/v1/configmaps/{here}/notes");
    let cached = world.get(&path).await;
    assert_eq!(cached.json(), bare);
    assert_eq!(cached.headers["content-type"], "application/json");
    assert_eq!(world.get(&format!("{path}?format=json")).await.json(), bare);
    assert_eq!(world.get(&format!("{path}?managedFields=true")).await.json(), stored);

    let yaml = world.get(&format!("{path}?format=yaml")).await;
    assert_eq!(yaml.headers["content-type"], "application/yaml");
    assert!(yaml.text.starts_with("apiVersion: v1\n"), "{}", yaml.text);
    let read = watchkeeper_wire::yaml::read(&yaml.text).unwrap();
    assert_eq!(Value::from(read.document), bare);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unchanged_objects_are_not_sent_again() {
    let world = World::of(&[pod("web-0", "web", "n1")]).await;
    let path = format!("/v1/objects/core/v1/pods/{}/web-0", world.namespace());
    let first = world.get(&path).await;
    let tag = first.headers["etag"].to_str().unwrap().to_owned();
    assert_eq!(tag, format!("\"{}\"", first.json()["metadata"]["resourceVersion"].as_str().unwrap()));
    for known in [tag.clone(), format!("\"1\", W/{tag}"), "*".to_owned()] {
        let again = world.ask(Method::GET, &path, &[("if-none-match", &known)]).await;
        assert_eq!(
            (again.status.as_u16(), &*again.text, again.headers["etag"].to_str().unwrap()),
            (304, "", &*tag)
        );
    }
    assert_eq!(world.ask(Method::GET, &path, &[("if-none-match", "\"1\"")]).await.status, 200);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_object_paths_are_rejected() {
    let world = World::of(&[pod("web-0", "web", "n1")]).await;
    let here = world.namespace();
    let namespace = world.get(&format!("/v1/objects/core/v1/namespaces/-/{here}")).await;
    assert_eq!(namespace.json()["metadata"]["name"], here);
    let cases = [
        (400, format!("/v1/objects/core/v1/namespaces/{here}/{here}"), "namespaces are not namespaced"),
        (400, "/v1/objects/core/v1/pods/-/web-0".to_owned(), "pods are namespaced"),
        (400, format!("/v1/objects/core/v1/pods/{here}/web-0?format=xml"), "format: invalid value \"xml\""),
        (
            400,
            format!("/v1/objects/core/v1/pods/{here}/web-0?managedFields=1"),
            "managedFields: invalid value \"1\"",
        ),
        (400, format!("/v1/objects/core/v1/pods/{here}/web-0?x=y"), "unknown query parameter \"x\""),
        (404, format!("/v1/objects/core/v1/pods/{here}/web-9"), &*format!("pod {here}/web-9 not found")),
        (
            404,
            format!("/v1/objects/core/v1/pods/{here}/web-9?managedFields=true"),
            "pods \"web-9\" not found",
        ),
        (404, format!("/v1/objects/core/v1/pots/{here}/web-0"), "resource pots/core/v1 not found"),
        (403, format!("/v1/objects/core/v1/secrets/{here}/s"), "secrets are not cached"),
        (403, format!("/v1/objects/core/v1/secrets/{here}/s?managedFields=true"), "secrets are not cached"),
    ];
    for (status, path, expected) in cases {
        let message = world.get(&path).await.failure(status);
        assert!(message.starts_with(expected), "{path}: {message}");
    }
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn resources_lists_what_can_be_listed() {
    let world = World::of(&[]).await;
    let find = |rows: &Value, resource: &str, group: &str| -> Option<Value> {
        let is_it = |row: &&Value| row["resource"] == resource && row["group"] == group;
        rows.as_array().unwrap().iter().find(is_it).cloned()
    };
    let rows = world.get("/v1/resources").await.data();
    let verbs = json!(["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]);
    let expected = json!({"group": "apps", "version": "v1", "resource": "deployments", "kind": "Deployment",
        "namespaced": true, "shortNames": ["deploy"], "categories": ["all"], "verbs": verbs, "cached": true});
    assert_eq!(find(&rows, "deployments", "apps"), Some(expected));
    assert_eq!(find(&rows, "namespaces", "").unwrap()["namespaced"], false);
    assert_eq!(find(&rows, "configmaps", "").unwrap()["cached"], false);
    assert_eq!(find(&rows, "tokenreviews", "authentication.k8s.io"), None);
    let twice =
        rows.as_array().unwrap().iter().filter(|row| row["resource"] == "horizontalpodautoscalers").count();
    assert_eq!(twice, 1, "only the preferred version");

    world.get("/configmaps/core/v1").await.data();
    let rows = world.get("/v1/resources").await.data();
    assert_eq!(find(&rows, "configmaps", "").unwrap()["cached"], true);
    world.get("/v1/resources?a=b").await.failure(400);
    world.stop().await;
}
