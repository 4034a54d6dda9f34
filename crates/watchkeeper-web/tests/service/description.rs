//! Self-description of the service: OpenAPI, health, metrics.

use std::collections::BTreeSet;
use std::path::Path;

use watchkeeper_testkit::TestCluster;

use crate::world::{World, pod};

/// Collects every route in the sources of this crate.
fn routes(directory: &Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            routes(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            for (at, _) in text.match_indices(".route(") {
                let named = text[at + ".route(".len()..].trim_start();
                let name = named.strip_prefix('"').and_then(|rest| rest.split('"').next());
                found.insert(
                    name.unwrap_or_else(|| panic!("route is not a string literal in {path:?}")).to_owned(),
                );
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn openapi_describes_every_route() {
    let world = World::of(&[]).await;
    let description = world.get("/openapi.json").await.json();
    assert_eq!(description["openapi"], "3.0.3");
    let described: BTreeSet<String> = description["paths"].as_object().unwrap().keys().cloned().collect();
    let mut named = BTreeSet::new();
    routes(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut named);
    assert!(named.contains("/pod/list"), "the sources were not read");
    let missing: Vec<&String> = named.difference(&described).collect();
    assert!(missing.is_empty(), "routes without a description: {missing:?}");

    // All references resolve.
    let mut ahead = vec![&description];
    while let Some(value) = ahead.pop() {
        if let Some(reference) = value.get("$ref").and_then(|reference| reference.as_str()) {
            let pointer = reference.strip_prefix('#').unwrap();
            assert!(description.pointer(pointer).is_some(), "{reference}");
        }
        ahead.extend(value.as_object().into_iter().flat_map(|fields| fields.values()));
        ahead.extend(value.as_array().into_iter().flatten());
    }
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn readyz_waits_for_the_first_lists() {
    let world = World::of(&[]).await;
    for path in ["/healthz", "/livez", "/readyz", "/readyz/informers", "/healthz/ping"] {
        let answer = world.get(path).await;
        assert_eq!((answer.status.as_u16(), &*answer.text), (200, "ok"), "{path}");
        assert_eq!(answer.headers["content-type"], "text/plain; charset=utf-8");
    }
    let verbose = world.get("/readyz?verbose").await;
    assert_eq!(verbose.text, "[+]ping ok\n[+]api-server ok\n[+]informers ok\nreadyz check passed\n");
    world.get("/readyz/nothing").await.failure(404);
    world.stop().await;

    let idle = World::idle(TestCluster::start().await.unwrap());
    assert_eq!(idle.get("/livez").await.status, 200);
    let ready = idle.get("/readyz").await;
    assert_eq!(ready.status, 500);
    let begin =
        "[+]ping ok\n[+]api-server ok\n[-]informers failed: not ready: pods/core/v1, services/core/v1, ";
    assert!(ready.text.starts_with(begin), "{}", ready.text);
    let why = idle.get("/readyz/informers").await.text;
    assert!(why.contains("not ready: pods/core/v1, services/core/v1, namespaces/core/v1, events/core/v1, deployments/apps/v1"), "{why}");
    assert_eq!(idle.get("/readyz?exclude=informers").await.status, 200);
    idle.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_and_informers_are_counted() {
    let world = World::of(&[pod("a", "web", "n1"), pod("b", "web", "n1")]).await;
    world.get("/pods/core/v1").await.data();
    world.get("/services/core/v1").await.data();
    world.get("/nothing").await.failure(404);
    world.get("/pods/core/v1?limit=x").await.failure(400);
    let page = world.get("/metrics").await;
    assert_eq!(page.headers["content-type"], "text/plain; version=0.0.4; charset=utf-8");
    let lines = [
        r#"watchkeeper_web_requests_total{route="/{resource}/{group}/{version}",method="GET",code="200"} 2"#,
        r#"watchkeeper_web_requests_total{route="/{resource}/{group}/{version}",method="GET",code="400"} 1"#,
        r#"watchkeeper_web_requests_total{route="none",method="GET",code="404"} 1"#,
        r#"watchkeeper_web_request_duration_seconds_count{route="/{resource}/{group}/{version}"} 3"#,
    ];
    for line in lines {
        assert!(page.text.lines().any(|other| other == line), "{line} is not in\n{}", page.text);
    }
    let objects =
        page.text.lines().find(|line| line.starts_with("informer_store_objects") && line.contains("pods"));
    assert!(objects.is_some_and(|line| line.ends_with(" 2")), "{objects:?}");
    world.stop().await;
}
