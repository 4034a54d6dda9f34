//! Every read is authorized.

use serde_json::{Value, json};
use watchkeeper_apiserver::http::{
    AccessTarget, Attributes, Authorizer, AuthorizerFuture, Decision, MASTERS, ResourceAttributes,
};
use watchkeeper_apiserver::server::ApiServer;
use watchkeeper_client::Secret;
use watchkeeper_testkit::{Fault, TestCluster, Verb};
use watchkeeper_web::access::Identity;

use crate::together::shop;
use crate::world::{LONG, PODS, World, pod};

#[tokio::test(flavor = "multi_thread")]
async fn every_read_is_authorized_first() {
    let (world, _) = shop().await;
    let here = world.namespace();
    let user = world.service.access().authenticate(&Secret::from(world.cluster.token())).await.unwrap();
    let identity = Identity::User(user);
    let paths = [
        "/pod/list".to_owned(),
        format!("/pods/core/v1?namespace={here}"),
        "/configmaps/core/v1".to_owned(),
        "/v1/events".to_owned(),
        format!("/v1/workloads/{here}/web"),
        format!("/v1/tree/apps/v1/deployments/{here}/web"),
        format!("/v1/objects/core/v1/pods/{here}/web-1-a"),
        format!("/v1/objects/core/v1/pods/{here}/web-1-a?managedFields=true"),
    ];
    let reviews = Fault::on(Verb::Create).resource("subjectaccessreviews").answer(500);
    let closed = world.cluster.faults().add(reviews);
    for path in &paths {
        let message = world.ask_as(&identity, path).await.failure(503);
        assert!(message.starts_with("access review failed"), "{path}: {message}");
    }
    assert!(closed.hits() > 0);
    closed.remove();
    for path in &paths {
        let answer = world.ask_as(&identity, path).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
    }
    world.stop().await;
}

/// Allows administrators everything, and others everything in namespaces that start with `open-`.
struct OpenNamespaces;

impl Authorizer for OpenNamespaces {
    fn authorize<'a>(&'a self, attributes: Attributes<'a>) -> AuthorizerFuture<'a, Decision> {
        let is_open = match attributes.target {
            AccessTarget::Resource(ResourceAttributes { namespace, .. }) => namespace.starts_with("open-"),
            AccessTarget::Path(_) => false,
        };
        let is_allowed = is_open || attributes.user.is_in(MASTERS);
        let decision = if is_allowed { Decision::Allow } else { Decision::NoOpinion(String::new()) };
        Box::pin(std::future::ready(decision))
    }
}

/// Names of a tree's objects, parents first.
fn names(tree: &Value) -> Vec<String> {
    let children = tree["children"].as_array().unwrap();
    let name = tree["name"].as_str().unwrap().to_owned();
    [name].into_iter().chain(children.iter().flat_map(names)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_has_nothing_of_other_namespaces_that_the_user_may_not_read() {
    let cluster = TestCluster::of(ApiServer::builder().authorizer(OpenNamespaces)).await.unwrap();
    for name in ["open-shop", "closed-bank"] {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        cluster.create(namespace).await.unwrap();
    }
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}});
    let node = cluster.create(node).await.unwrap();
    let owner = json!([{"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": node["metadata"]["uid"], "controller": true}]);
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "viewer", "namespace": "open-shop"}});
    cluster.create(account).await.unwrap();

    let world = World::idle(cluster);
    world.service.start();
    world.service.catalog().factory().wait_until_ready(LONG).await.unwrap();
    let _cached = world.service.catalog().watched("", "v1", "nodes").await.unwrap();
    for (namespace, name) in [("open-shop", "web"), ("closed-bank", "vault")] {
        let mut pod = pod(name, name, "n1");
        pod["metadata"]["namespace"] = namespace.into();
        pod["metadata"]["ownerReferences"] = owner.clone();
        world.create(pod, PODS).await;
    }
    let accounts = world.client.dynamic(&"v1".parse().unwrap(), "serviceaccounts").namespace("open-shop");
    let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": null}});
    let issued: Value =
        accounts.create_subresource("viewer", "token", &request, &Default::default()).await.unwrap();

    let tree = async |token: &str| {
        let user = world.service.access().authenticate(&Secret::from(token)).await.unwrap();
        let path = "/v1/tree/core/v1/pods/open-shop/web?up=true";
        names(&world.ask_as(&Identity::User(user), path).await.data())
    };
    assert_eq!(tree(world.cluster.token()).await, ["n1", "vault", "web"]);
    assert_eq!(tree(issued["status"]["token"].as_str().unwrap()).await, ["web"]);
    world.stop().await;
}
