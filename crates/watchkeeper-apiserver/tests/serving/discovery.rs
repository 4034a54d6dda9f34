//! Which resources there are: discovery, OpenAPI, unknown and deprecated resources.

use http::StatusCode;
use serde_json::{Value, json};

use crate::world::World;
use crate::{MAPS, PROTOBUF};

#[tokio::test]
async fn unknown_resources_and_methods_are_errors() {
    let world = World::start().await;
    for (method, path, code) in [
        ("GET", "/api/v1/bogus", 404),
        ("GET", "/apis/bogus/v1/things", 404),
        ("GET", "/bogus", 404),
        ("GET", "/api/v1/namespaces/default/configmaps/a/status", 404),
        ("GET", "/api/v1/namespaces/default/nodes", 404),
        ("GET", "/api/v1/namespaces/default/configmaps/nope", 404),
        ("POST", "/api/v1/configmaps", 405),
        ("PUT", MAPS, 405),
        ("DELETE", "/api/v1/namespaces", 405),
        ("GET", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", 405),
        ("GET", "/api/v1/namespaces/default/status", 200),
    ] {
        assert_eq!(world.write(method, path, Value::Null).await.0, code, "{method} {path}");
    }
    world.server.stop().await;
}

#[tokio::test]
async fn aggregated_discovery_is_served_on_request_with_etags() {
    let world = World::start().await;
    let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
    let (code, headers, body) = world.bytes("/apis", accept).await;
    assert_eq!((code, &headers["vary"]), (StatusCode::OK, &"Accept".parse().unwrap()));
    assert!(headers["content-type"].to_str().unwrap().contains("as=APIGroupDiscoveryList"));
    let list: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(list["kind"], "APIGroupDiscoveryList");
    let tag = headers["etag"].to_str().unwrap().to_owned();
    let response =
        world.send("GET", "/apis", &[("accept", accept), ("if-none-match", &tag)], String::new()).await;
    assert_eq!(response.status(), StatusCode::NOT_MODIFIED);
    for (path, kind) in [
        ("/api", "APIVersions"),
        ("/apis", "APIGroupList"),
        ("/apis/apps", "APIGroup"),
        ("/apis/apps/v1", "APIResourceList"),
        ("/api/v1", "APIResourceList"),
    ] {
        assert_eq!(world.get(path, "application/json").await.1["kind"], kind, "{path}");
        assert_eq!(world.bytes(path, PROTOBUF).await.0, StatusCode::OK, "{path}");
    }
    assert_eq!(world.get("/openapi/v3", "").await.0, 200);
    assert_eq!(world.get("/openapi/v3/apis/apps/v1", "").await.1["openapi"], "3.0.0");
    assert!(world.get("/metrics", "").await.1.as_str().unwrap().contains("watchkeeper_store_revision"));
    world.server.stop().await;
}

#[tokio::test]
async fn deprecated_resources_warn_even_when_the_request_fails() {
    let world = World::start().await;
    let warning = "299 - \"v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice\"";
    for (name, code) in [("", StatusCode::OK), ("/missing", StatusCode::NOT_FOUND)] {
        let path = format!("/api/v1/namespaces/default/endpoints{name}");
        let (found, headers, _) = world.bytes(&path, "application/json").await;
        assert_eq!((found, headers["warning"].to_str().unwrap()), (code, warning));
    }
    assert!(!world.bytes(MAPS, "application/json").await.1.contains_key("warning"));
}

#[tokio::test]
async fn openapi_v2_is_served_and_empty() {
    let world = World::start().await;
    let accept = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
    let (code, headers, body) = world.bytes("/openapi/v2", accept).await;
    assert_eq!(code, StatusCode::OK);
    assert_eq!(headers["content-type"], "application/com.github.proto-openapi.spec.v2.v1.0+protobuf");
    assert!(body.starts_with(b"\x0a\x032.0"));
    assert_eq!(world.get("/openapi/v2", "application/json").await.1["paths"], json!({}));
}
