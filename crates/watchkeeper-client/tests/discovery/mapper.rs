//! The mapper: name resolution, and when discovery is repeated.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use watchkeeper_client::discovery::{
    Discovery, DiskCache, KUBECTL_TTL, MISS_INTERVAL, MapError, MemoryCache, PartialResource, RestMapper,
};
use watchkeeper_client::rest::{Warning, WarningHandler};
use watchkeeper_core::GroupKind;

use crate::served::{Served, V2, group, resource};
use crate::world::World;

fn kind(group: &str, kind: &str) -> GroupKind {
    GroupKind { group: group.to_owned(), kind: kind.to_owned() }
}

/// Returns the resolved resource, or the error message.
async fn resolve(mapper: &RestMapper, argument: &str) -> String {
    match mapper.argument(argument).await {
        Ok(mapping) => format!("{}/{}", mapping.resource.group_version(), mapping.resource.resource),
        Err(error) => error.message(),
    }
}

#[tokio::test]
async fn arguments_resolve_as_in_kubectl() {
    let world = World::start().await;
    let mapper = RestMapper::new(Arc::new(MemoryCache::new(Arc::new(world.client()))));
    for (argument, expected) in [
        ("pods", "v1/pods"),
        ("pod", "v1/pods"),
        ("po", "v1/pods"),
        ("PODS", "v1/pods"),
        ("Pod", "v1/pods"),
        ("deploy", "apps/v1/deployments"),
        ("Deployment", "apps/v1/deployments"),
        ("deployments.apps", "apps/v1/deployments"),
        ("deployment.app", "apps/v1/deployments"),
        ("deployments.v1.apps", "apps/v1/deployments"),
        ("deploy.v1.apps", "apps/v1/deployments"),
        ("Deployment.v1.apps", "apps/v1/deployments"),
        ("pods.v1.", "v1/pods"),
        ("events", "v1/events"),
        ("ev", "v1/events"),
        ("events.events.k8s.io", "events.k8s.io/v1/events"),
        ("ingresses", "networking.k8s.io/v1/ingresses"),
        ("ing", "networking.k8s.io/v1/ingresses"),
        ("hpa", "autoscaling/v2/horizontalpodautoscalers"),
        ("hpa.v1.autoscaling", "autoscaling/v2/horizontalpodautoscalers"), // kubectl drops the version too
        ("horizontalpodautoscalers.v1.autoscaling", "autoscaling/v1/horizontalpodautoscalers"),
        ("cm", "v1/configmaps"),
        ("pdos", r#"the server doesn't have a resource type "pdos""#),
        ("pods.v1", r#"the server doesn't have a resource type "pods" in group "v1""#),
        ("gadgets", r#"the server doesn't have a resource type "gadgets""#),
        ("PO", r#"the server doesn't have a resource type "PO""#),
    ] {
        assert_eq!(resolve(&mapper, argument).await, expected, "{argument}");
    }
    let error = mapper.argument("pdos").await.unwrap_err();
    assert_eq!(error.suggestions()[0], "pods");
    assert!(error.to_string().contains("; did you mean \"pods\""), "{error}");

    let mapping = mapper.kind(&kind("apps", "Deployment"), &[]).await.unwrap();
    assert_eq!(mapping.resource.to_string(), "apps/v1, Resource=deployments");
    assert_eq!((mapping.singular.as_str(), mapping.namespaced), ("deployment", true));
    let both = mapper.kind(&kind("autoscaling", "HorizontalPodAutoscaler"), &["v1", "v2"]).await.unwrap();
    assert_eq!(both.kind.version, "v1", "the first of the given versions");
    for (group, name, versions, expected) in [
        ("", "Deployment", &[][..], r#"no matches for kind "Deployment" in group """#),
        ("apps", "Deployment", &["v2"], r#"no matches for kind "Deployment" in version "apps/v2""#),
        (
            "apps",
            "Deployment",
            &["v3", "v2"],
            r#"no matches for kind "Deployment" in versions ["apps/v2" "apps/v3"]"#,
        ),
    ] {
        let error = mapper.kind(&kind(group, name), versions).await.unwrap_err();
        assert_eq!(error.message(), expected);
    }
    let error = mapper.kind(&kind("apps", "Deploymnet"), &[]).await.unwrap_err();
    assert_eq!(error.suggestions(), ["Deployment"]);

    let all: Vec<String> = mapper.category("all").await.unwrap().iter().map(ToString::to_string).collect();
    assert!(all.contains(&"pods".to_owned()) && all.contains(&"deployments.apps".to_owned()), "{all:?}");
    assert!(!all.contains(&"configmaps".to_owned()));
    assert!(mapper.category("none").await.unwrap().is_empty());
    world.stop().await;
}

/// A group with one version and these resources: plural, kind, short names.
fn simple(name: &str, resources: &[(&str, &str, &[&str])]) -> Value {
    let resources: Vec<Value> = resources
        .iter()
        .map(|(plural, kind, short_names)| {
            let mut resource = resource(name, plural, kind);
            resource["shortNames"] = json!(short_names);
            resource
        })
        .collect();
    group(name, &[json!({"version": "v1", "resources": resources})])
}

#[derive(Debug, Default)]
struct RecordedWarnings(Mutex<Vec<String>>);

impl WarningHandler for RecordedWarnings {
    fn warn(&self, warning: &Warning) {
        self.0.lock().push(warning.text.clone());
    }
}

#[tokio::test]
async fn an_ambiguous_short_name_resolves_to_the_first_match_with_a_warning() {
    let served = Served::start().await;
    let groups = [simple("a.x", &[("as", "A", &["s"])]), simple("b.x", &[("bs", "B", &["s", "as"])])];
    served.serve_aggregated(V2, &groups);
    let warnings = Arc::new(RecordedWarnings::default());
    let mapper = RestMapper::new(Arc::new(served.client())).warnings(warnings.clone());
    assert_eq!(resolve(&mapper, "s").await, "a.x/v1/as");
    let expected = ["short name \"s\" could also match lower priority resource bs.b.x"];
    assert_eq!(*warnings.0.lock(), expected);
    assert_eq!(resolve(&mapper, "s.b.x").await, "b.x/v1/bs");
    assert_eq!(resolve(&mapper, "s.b").await, "b.x/v1/bs", "a group prefix is enough");
    assert_eq!(resolve(&mapper, "as").await, "a.x/v1/as", "a plural wins over a short name");
    assert_eq!(warnings.0.lock().len(), 1);
}

#[tokio::test]
async fn matches_of_equal_priority_are_ambiguous_and_all_are_listed() {
    let served = Served::start().await;
    served.serve_aggregated(V2, &[simple("a.x", &[("ones", "Same", &[]), ("others", "Same", &[])])]);
    let mapper = RestMapper::new(Arc::new(served.client()));
    let error = mapper.kind(&kind("a.x", "Same"), &[]).await.unwrap_err();
    let MapError::Ambiguous { candidates, .. } = &error else { panic!("{error}") };
    assert_eq!(candidates.len(), 2);
    assert_eq!(
        error.to_string(),
        "Same.a.x matches multiple resources [a.x/v1, Resource=ones a.x/v1, Resource=others]"
    );
    assert!(!error.is_no_match());
    let error = mapper.resource(&PartialResource::named("same")).await.unwrap_err();
    assert!(error.to_string().starts_with("/, Resource=same matches multiple resources ["), "{error}");
    let table = mapper.table().await.unwrap();
    assert_eq!(table.candidates(&PartialResource::named("same")).len(), 2);
}

#[tokio::test]
async fn the_core_group_comes_first_then_the_servers_order() {
    let served = Served::start().await;
    served.serve_aggregated(
        V2,
        &[
            simple("metrics", &[("pods", "PodMetrics", &[]), ("things", "Thing", &[])]),
            simple("other", &[("things", "OtherThing", &[])]),
        ],
    );
    let mapper = RestMapper::new(Arc::new(served.client()));
    assert_eq!(resolve(&mapper, "pods").await, "v1/pods");
    assert_eq!(resolve(&mapper, "pods.metrics").await, "metrics/v1/pods");
    assert_eq!(resolve(&mapper, "things").await, "metrics/v1/things");
    assert_eq!(resolve(&mapper, "things.other").await, "other/v1/things");
    let table = mapper.table().await.unwrap();
    let all = table.candidates(&PartialResource::named("things"));
    assert_eq!(all.iter().map(|one| one.kind.kind.as_str()).collect::<Vec<_>>(), ["Thing", "OtherThing"]);
}

#[tokio::test]
async fn a_miss_repeats_discovery_at_most_once_per_interval() {
    let served = Served::start().await;
    served.serve_aggregated(V2, &[]);
    let mapper = RestMapper::new(Arc::new(MemoryCache::new(Arc::new(served.client()))));
    resolve(&mapper, "pods").await;
    assert_eq!(served.requests().len(), 2);
    // The last discovery is recent.
    for _ in 0..3 {
        assert!(resolve(&mapper, "news").await.starts_with("the server doesn't have"));
    }
    assert!(served.requests().is_empty());
    served.serve_aggregated(V2, &[simple("n", &[("news", "New", &[])])]);
    tokio::time::pause();
    tokio::time::advance(MISS_INTERVAL).await;
    tokio::time::resume();
    assert_eq!(resolve(&mapper, "news").await, "n/v1/news");
    assert_eq!(served.requests().len(), 2);
    resolve(&mapper, "pods").await;
    resolve(&mapper, "gadgets").await;
    assert!(served.requests().is_empty());
    mapper.reset();
    resolve(&mapper, "pods").await;
    assert_eq!(served.requests().len(), 2);
}

#[tokio::test]
async fn a_miss_in_another_processs_files_repeats_discovery() {
    let served = Served::start().await;
    served.serve_aggregated(V2, &[]);
    let directory = tempfile::tempdir().unwrap();
    let cache =
        || Arc::new(DiskCache::new(Arc::new(served.client()), directory.path().join("d"), KUBECTL_TTL));
    cache().discover().await.unwrap();
    served.serve_aggregated(V2, &[simple("n", &[("news", "New", &[])])]);
    served.requests();
    let mapper = RestMapper::new(cache());
    assert_eq!(resolve(&mapper, "pods").await, "v1/pods");
    assert!(served.requests().is_empty());
    assert_eq!(resolve(&mapper, "news").await, "n/v1/news");
    assert_eq!(served.requests().len(), 2);
    assert!(resolve(&mapper, "gadgets").await.starts_with("the server doesn't have"));
    assert!(served.requests().is_empty(), "the last discovery is recent");
}

#[tokio::test]
async fn concurrent_misses_share_one_discovery() {
    let served = Served::start().await;
    served.serve_aggregated(V2, &[]);
    let mapper = RestMapper::new(Arc::new(MemoryCache::new(Arc::new(served.client()))));
    resolve(&mapper, "pods").await;
    served.requests();
    tokio::time::pause();
    tokio::time::advance(MISS_INTERVAL + Duration::from_secs(1)).await;
    tokio::time::resume();
    futures_util::future::join_all((0..10).map(|_| resolve(&mapper, "news"))).await;
    assert_eq!(served.requests().len(), 2);
}

#[tokio::test]
async fn a_broken_group_does_not_hide_names_of_others() {
    let served = Served::start().await;
    served.serve_legacy(&["a", "b"]);
    served.fail("/apis/b/v1", 503);
    let mapper = RestMapper::new(Arc::new(MemoryCache::new(Arc::new(served.client()))));
    assert_eq!(resolve(&mapper, "as").await, "a/v1/as");
    served.fail("/apis", 503);
    let mapper = RestMapper::new(Arc::new(served.client()));
    let error = mapper.argument("as").await.unwrap_err();
    assert!(matches!(error, MapError::Discovery(_)) && !error.is_no_match());
}
