//! Endpoints and EndpointSlices of services.

use serde_json::{Value, json};
use watchkeeper_cluster::{Cluster, Script, Timings};

use crate::living::{ENDPOINT_SLICES, ENDPOINTS, Living, PODS, SERVICES};
use crate::pods::pod;

async fn quick() -> Living {
    Living::with(Cluster::builder().timings(Timings::instant())).await
}

fn labelled(name: &str, script: &Script) -> Value {
    let ports = json!([{"name": "web", "containerPort": 8080}]);
    let containers = json!([{"name": "app", "image": "nginx", "ports": ports}]);
    let mut pod = pod(name, json!({"containers": containers}), script);
    pod["metadata"]["labels"] = json!({"app": "web"});
    pod
}

fn service(name: &str, spec: Value) -> Value {
    let mut service = json!({"metadata": {"name": name, "labels": {"team": "shop"}}});
    service["spec"] = spec;
    service
}

/// Returns the names of the pods in a list of addresses.
fn targets(addresses: &Value) -> Vec<&str> {
    let addresses = addresses.as_array().map(Vec::as_slice).unwrap_or_default();
    let mut names: Vec<&str> = addresses.iter().filter_map(|it| it["targetRef"]["name"].as_str()).collect();
    names.sort_unstable();
    names
}

/// Waits for the only slice of a service.
async fn slice(living: &Living, service: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    let belongs = |slice: &Value| slice["metadata"]["labels"]["kubernetes.io/service-name"] == service;
    living
        .until_all(&ENDPOINT_SLICES, |all| {
            let slices: Vec<&Value> = all.iter().map(|(_, slice)| slice).filter(|it| belongs(it)).collect();
            slices.len() == 1 && is_so(slices[0])
        })
        .await;
    living.list(&ENDPOINT_SLICES, "default").await.into_iter().find(belongs).unwrap()
}

#[tokio::test]
async fn endpoints_follow_the_readiness_of_pods() {
    let living = quick().await;
    let ports = json!([{"name": "http", "port": 80, "targetPort": "web"}]);
    living
        .create(&SERVICES, "default", service("web", json!({"selector": {"app": "web"}, "ports": ports})))
        .await;
    slice(&living, "web", |slice| slice["endpoints"].as_array().is_none_or(Vec::is_empty)).await;
    living.create(&PODS, "default", labelled("one", &Script::default())).await;
    living.create(&PODS, "default", labelled("never", &Script::default().never_ready())).await;
    let is_parted = |endpoints: Option<&Value>| {
        endpoints.is_some_and(|endpoints| {
            let subset = &endpoints["subsets"][0];
            targets(&subset["addresses"]) == ["one"] && targets(&subset["notReadyAddresses"]) == ["never"]
        })
    };
    living.until(&ENDPOINTS, "default", "web", is_parted).await;
    let endpoints = living.get(&ENDPOINTS, "default", "web").await.unwrap();
    assert_eq!(endpoints["subsets"][0]["ports"], json!([{"name": "http", "port": 8080, "protocol": "TCP"}]));
    assert_eq!(endpoints["metadata"]["labels"]["team"], "shop");
    let pod = living.get(&PODS, "default", "one").await.unwrap();
    let address = &endpoints["subsets"][0]["addresses"][0];
    assert_eq!((&address["ip"], &address["nodeName"]), (&pod["status"]["podIP"], &pod["spec"]["nodeName"]));

    let both = |slice: &Value| {
        let endpoint = |name: &str| {
            let all = slice["endpoints"].as_array().map(Vec::as_slice).unwrap_or_default();
            all.iter().find(|it| it["targetRef"]["name"] == name).map(|it| it["conditions"].clone())
        };
        endpoint("one") == Some(json!({"ready": true, "serving": true, "terminating": false}))
            && endpoint("never") == Some(json!({"ready": false, "serving": false, "terminating": false}))
    };
    let slice = slice(&living, "web", both).await;
    let meta = &slice["metadata"];
    assert_eq!(meta["labels"]["endpointslice.kubernetes.io/managed-by"], "endpointslice-controller.k8s.io");
    assert_eq!(
        (&meta["ownerReferences"][0]["kind"], &slice["addressType"]),
        (&json!("Service"), &json!("IPv4"))
    );
    assert_eq!(slice["ports"], json!([{"name": "http", "port": 8080, "protocol": "TCP"}]));
    assert!(meta["annotations"]["endpoints.kubernetes.io/last-change-trigger-time"].is_string());

    living.delete(&PODS, "default", "one", &Default::default()).await;
    let is_without = |endpoints: Option<&Value>| {
        endpoints.is_some_and(|endpoints| {
            let subset = &endpoints["subsets"][0];
            targets(&subset["addresses"]).is_empty() && targets(&subset["notReadyAddresses"]) == ["never"]
        })
    };
    living.until(&ENDPOINTS, "default", "web", is_without).await;
    living.delete(&SERVICES, "default", "web", &Default::default()).await;
    living.until(&ENDPOINTS, "default", "web", |endpoints| endpoints.is_none()).await;
    let belongs = |slice: &Value| slice["metadata"]["labels"]["kubernetes.io/service-name"] == "web";
    living.until_all(&ENDPOINT_SLICES, |all| !all.iter().any(|(_, slice)| belongs(slice))).await;
    living.stop().await;
}

#[tokio::test]
async fn headless_services_can_publish_unready_addresses_and_services_without_selector_are_left_alone() {
    let living = quick().await;
    living.create(&PODS, "default", labelled("never", &Script::default().never_ready())).await;
    let selector = json!({"app": "web"});
    let headless = json!({"selector": selector, "clusterIP": "None", "publishNotReadyAddresses": true});
    let external = json!({"type": "ExternalName", "externalName": "example.com", "selector": selector});
    living.create(&SERVICES, "default", service("manual", json!({"ports": [{"port": 80}]}))).await;
    living.create(&SERVICES, "default", service("external", external)).await;
    living.create(&SERVICES, "default", service("headless", headless)).await;
    let is_published = |endpoints: Option<&Value>| {
        endpoints.is_some_and(|it| targets(&it["subsets"][0]["addresses"]) == ["never"])
    };
    living.until(&ENDPOINTS, "default", "headless", is_published).await;
    let is_ready = |slice: &Value| slice["endpoints"][0]["conditions"]["ready"] == true;
    let slice = slice(&living, "headless", is_ready).await;
    assert_eq!(slice["endpoints"][0]["conditions"]["serving"], false);
    assert_eq!(slice["metadata"]["labels"]["service.kubernetes.io/headless"], "");
    for name in ["manual", "external"] {
        assert!(living.get(&ENDPOINTS, "default", name).await.is_none(), "{name}");
    }
    // The server's own service has no selector either and keeps its endpoints.
    let own = living.get(&ENDPOINTS, "default", "kubernetes").await.unwrap();
    assert_eq!(own["subsets"][0]["ports"][0]["name"], "https");
    let own = living.get(&ENDPOINT_SLICES, "default", "kubernetes").await.unwrap();
    assert_eq!((&own["ports"][0]["name"], &own["metadata"]["generation"]), (&json!("https"), &json!(1)));
    living.stop().await;
}
