//! The requests sent to old and new servers, and the results of their responses.

use std::collections::BTreeSet;

use serde_json::json;
use watchkeeper_client::DiscoveryClient;
use watchkeeper_client::discovery::{Discovered, Discovery as _};
use watchkeeper_client::rest::{Content, RestClient};
use watchkeeper_core::GroupVersion;

use crate::served::{Served, V2, V2BETA1, group, resource};
use crate::world::World;

/// `group/version/resource` of all resources.
pub(crate) fn names(found: &Discovered) -> Vec<String> {
    found.resources().map(|(of, resource)| format!("{of}/{}", resource.name)).collect()
}

fn sorted(mut names: Vec<String>) -> Vec<String> {
    names.sort();
    names
}

#[tokio::test]
async fn aggregated_and_legacy_discovery_agree_on_the_embedded_server() {
    let world = World::start().await;
    let new = world.client().discover().await.unwrap();
    let old = world.client().legacy().discover().await.unwrap();
    assert!(new.partial().is_none() && old.partial().is_none());
    assert!(names(&new).contains(&"apps/v1/deployments".to_owned()));
    assert_eq!(sorted(names(&new)), sorted(names(&old)));
    let order = |found: &Discovered| -> Vec<String> {
        found.groups.iter().map(|group| format!("{} {}", group.name, group.preferred)).collect()
    };
    assert_eq!(order(&new), order(&old));
    assert_eq!(new.groups[0].name, "");
    for (of, theirs) in new.resources() {
        let ours = old.resource(&of.resource(&*theirs.name)).unwrap();
        assert_eq!((&ours.kind, ours.namespaced), (&theirs.kind, theirs.namespaced), "{of} {}", ours.name);
        assert_eq!(ours.short_names, theirs.short_names);
        assert_eq!(ours.categories, theirs.categories);
        assert_eq!(BTreeSet::from_iter(&ours.verbs), BTreeSet::from_iter(&theirs.verbs));
        let subresources = |one: &watchkeeper_client::discovery::ApiResource| -> BTreeSet<(String, String)> {
            one.subresources.iter().map(|sub| (sub.name.clone(), sub.kind.to_string())).collect()
        };
        assert_eq!(subresources(ours), subresources(theirs), "{of} {}", ours.name);
    }
    let scale = new.resource(&GroupVersion::new("apps", "v1").resource("deployments")).unwrap();
    assert_eq!(scale.subresource("scale").unwrap().kind.to_string(), "autoscaling/v1, Kind=Scale");

    let version = world.client().server_version().await.unwrap();
    assert_eq!(version.major, "1");
    assert!(version.git_version.starts_with("v1."), "{version:?}");
    let paths = world.client().openapi_v3_paths().await.unwrap();
    assert!(paths["apis/apps/v1"].starts_with("/openapi/v3/apis/apps/v1?hash="), "{paths:?}");
    let one = world.client().resources(&GroupVersion::new("apps", "v1").clone()).await.unwrap();
    assert_eq!(one.resources.len(), old.version(&GroupVersion::new("apps", "v1")).unwrap().resources.len());
    world.stop().await;
}

#[tokio::test]
async fn aggregated_discovery_takes_two_requests() {
    for form in [V2, V2BETA1] {
        let served = Served::start().await;
        let apps = group(
            "apps",
            &[json!({"version": "v1", "resources": [resource("apps", "deployments", "Deployment")]})],
        );
        served.serve_aggregated(form, &[apps]);
        let found = served.client().discover().await.unwrap();
        assert_eq!(names(&found), ["v1/pods", "apps/v1/deployments"]);
        assert_eq!(sorted(served.requests()), ["/api", "/apis"]);
    }
}

#[tokio::test]
async fn legacy_discovery_requests_each_group_version_a_few_at_a_time() {
    let served = Served::start().await;
    let groups: Vec<String> = (0..60).map(|number| format!("group{number}")).collect();
    served.serve_legacy(&groups.iter().map(String::as_str).collect::<Vec<_>>());
    let found = served.client().discover().await.unwrap();
    assert_eq!(found.resources().count(), 61);
    assert_eq!(found.resources().next().unwrap().1.storage_version_hash, "aGFzaA==");
    assert_eq!(served.requests().len(), 2 + 61);
    assert!(served.most_running() <= 16, "{} at a time", served.most_running());
}

#[tokio::test]
async fn legacy_discovery_is_used_for_both_roots_if_either_lacks_aggregated_discovery() {
    let served = Served::start().await;
    served.serve_legacy(&["a"]);
    let stale = json!({"version": "v1", "resources": [resource("a", "others", "Other")]});
    served.page("/apis", V2, &json!({"items": [group("a", &[stale])]}));
    let found = served.client().discover().await.unwrap();
    assert_eq!(names(&found), ["v1/pods", "a/v1/as"]);
    assert_eq!(served.requests().len(), 4);
}

#[tokio::test]
async fn a_broken_group_does_not_hide_the_others() {
    let served = Served::start().await;
    served.serve_legacy(&["a", "b", "c"]);
    served.fail("/apis/b/v1", 503);
    let found = served.client().discover().await.unwrap();
    assert_eq!(names(&found), ["v1/pods", "a/v1/as", "c/v1/cs"]);
    let partial = found.partial().unwrap();
    let broken = GroupVersion::new("b", "v1");
    assert_eq!(partial.failures.keys().collect::<Vec<_>>(), [&broken]);
    assert!(partial.failures[&broken].is_transient());
    let text = partial.to_string();
    assert!(text.starts_with("unable to retrieve the complete list of server APIs: b/v1: "), "{text}");
    // A failed group version is retried once.
    let requests = served.requests();
    assert_eq!(requests.iter().filter(|path| *path == "/apis/b/v1").count(), 2);
}

#[tokio::test]
async fn a_stale_version_is_a_failure_and_not_preferred() {
    let served = Served::start().await;
    let stale = json!({"version": "v2", "freshness": "Stale", "resources": []});
    let current = json!({"version": "v1", "freshness": "Current", "resources": [resource("m", "as", "A")]});
    served.serve_aggregated(V2, &[group("m", &[stale, current])]);
    let found = served.client().discover().await.unwrap();
    assert_eq!(found.group("m").unwrap().preferred, "v1");
    assert_eq!(
        found.partial().unwrap().to_string(),
        "unable to retrieve the complete list of server APIs: m/v2: stale GroupVersion discovery: m/v2"
    );
    assert!(!found.failures[&GroupVersion::new("m", "v2")].is_transient());
}

#[tokio::test]
async fn a_server_may_lack_the_core_group_but_not_the_other_groups() {
    let served = Served::start().await;
    served.serve_aggregated(V2, &[]);
    served.fail("/api", 404);
    assert!(served.client().discover().await.unwrap().groups.is_empty());
    served.fail("/api", 403);
    assert_eq!(code(&served.client()).await, 403);
    served.serve_aggregated(V2, &[]);
    served.fail("/apis", 404);
    assert_eq!(code(&served.client()).await, 404);
}

async fn code(client: &DiscoveryClient) -> i32 {
    match client.discover().await.unwrap_err() {
        watchkeeper_client::discovery::DiscoveryError::Request(error) => error.status().unwrap().code,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn each_resource_has_one_preferred_version() {
    let served = Served::start().await;
    let version = |version: &str, names: &[&str]| {
        let resources: Vec<_> = names.iter().map(|name| resource("m", name, "A")).collect();
        json!({"version": version, "resources": resources})
    };
    let versions = [version("v2", &["both"]), version("v1", &["both", "old"]), version("v1beta1", &["old"])];
    served.serve_aggregated(V2, &[group("m", &versions)]);
    let found = served.client().discover().await.unwrap();
    let preferred: Vec<String> =
        found.preferred_resources().iter().map(|(of, one)| format!("{of}/{}", one.name)).collect();
    assert_eq!(preferred, ["v1/pods", "m/v2/both", "m/v1/old"]);
}

#[tokio::test]
async fn an_invalid_document_is_an_error_that_names_the_request() {
    let served = Served::start().await;
    served.serve_aggregated(V2, &[]);
    served.page("/apis", V2, &json!({"items": 7}));
    let error = served.client().discover().await.unwrap_err();
    assert!(error.to_string().starts_with("GET /apis: failed to decode the response: "), "{error}");
    assert!(!error.is_transient());
}

#[tokio::test]
async fn a_client_for_one_group_discovers_the_whole_server() {
    let world = World::start().await;
    let apps = RestClient::for_group_version(
        world.transport.clone(),
        &GroupVersion::new("apps", "v1"),
        Content::json(),
    );
    let found = DiscoveryClient::new(apps).discover().await.unwrap();
    assert!(found.group("batch").is_some());
    world.stop().await;
}
