//! Contents of a new server, and its end.

use serde_json::json;

use crate::names;
use crate::world::World;

#[tokio::test]
async fn a_server_starts_with_the_initial_namespaces_and_stops_on_request() {
    let world = World::start().await;
    let (code, list) = world.get("/api/v1/namespaces", "").await;
    assert_eq!((code, &list["kind"]), (200, &json!("NamespaceList")));
    assert_eq!(names(&list), ["default", "kube-node-lease", "kube-public", "kube-system"]);
    let (code, one) = world.get("/api/v1/namespaces/default", "").await;
    assert_eq!((code, &one["kind"], &one["status"]["phase"]), (200, &json!("Namespace"), &json!("Active")));
    world.server.stop().await;
}

#[tokio::test]
async fn a_new_server_has_the_initial_objects_of_a_cluster() {
    let world = World::start().await;
    let (_, service) = world.get("/api/v1/namespaces/default/services/kubernetes", "application/json").await;
    assert_eq!(service["spec"]["clusterIP"], "10.0.0.1");
    assert_eq!(service["spec"]["ports"][0]["targetPort"], world.server.address().port());
    let path = "/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical";
    assert_eq!(world.get(path, "application/json").await.1["value"], 2_000_001_000);
    let path = "/apis/networking.k8s.io/v1/servicecidrs/kubernetes";
    assert_eq!(world.get(path, "application/json").await.1["spec"]["cidrs"], json!(["10.0.0.0/24"]));
}
