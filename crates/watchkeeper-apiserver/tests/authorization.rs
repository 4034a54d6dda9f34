//! Authorization over HTTP, with an authorizer that denies some requests.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod world;

use std::sync::Arc;

use http_body_util::BodyExt as _;
use parking_lot::Mutex;
use serde_json::{Value, json};
use watchkeeper_apiserver::http::{
    AccessTarget, Attributes, Authorizer, AuthorizerFuture, Decision, ResourceAttributes,
};
use watchkeeper_apiserver::server::ApiServer;

use world::World;

const PODS: &str = "/api/v1/namespaces/default/pods";

/// Denies one verb, or everything, and records what it was asked.
#[derive(Clone, Default)]
struct DenyVerb {
    verb: Arc<Mutex<String>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Authorizer for DenyVerb {
    fn authorize<'a>(&'a self, attributes: Attributes<'a>) -> AuthorizerFuture<'a, Decision> {
        let Attributes { user, verb, target } = attributes;
        let target = match target {
            AccessTarget::Path(path) => path.to_owned(),
            AccessTarget::Resource(ResourceAttributes {
                group,
                resource,
                subresource,
                namespace,
                name,
                ..
            }) => {
                format!("{group}/{resource}/{subresource} {namespace}/{name}")
            }
        };
        self.asked.lock().push(format!("{} {verb} {target}", user.name));
        let denied = *self.verb.lock() == verb;
        let decision = if denied { Decision::Deny("denied by the test".to_owned()) } else { Decision::Allow };
        Box::pin(std::future::ready(decision))
    }
}

async fn start(authorizer: DenyVerb) -> World {
    let server = ApiServer::builder().plain_http().token("t").authorizer(authorizer);
    World { server: server.start().await.unwrap() }
}

impl World {
    async fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &Value) -> (u16, Value) {
        let content_type =
            if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let headers: Vec<_> = headers.iter().copied().chain([("content-type", content_type)]).collect();
        let text = if body.is_null() { String::new() } else { body.to_string() };
        let (head, body) = self.send(method, path, &headers, text).await.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        (head.status.as_u16(), serde_json::from_slice(&body).unwrap_or_default())
    }
}

#[tokio::test]
async fn each_denied_verb_is_a_403_and_is_not_served() {
    let authorizer = DenyVerb::default();
    let world = start(authorizer.clone()).await;
    let maps = "/api/v1/namespaces/default/configmaps";
    let map = json!({"metadata": {"name": "a"}});
    assert_eq!(world.ask("POST", maps, &[], &map).await.0, 201);
    let one = format!("{maps}/a");
    for (verb, method, path, name) in [
        ("get", "GET", one.as_str(), " \"a\""),
        ("list", "GET", maps, ""),
        ("watch", "GET", &format!("{maps}?watch=true"), ""),
        ("create", "POST", maps, ""),
        ("update", "PUT", &one, " \"a\""),
        ("patch", "PATCH", &one, " \"a\""),
        ("delete", "DELETE", &one, " \"a\""),
        ("deletecollection", "DELETE", maps, ""),
    ] {
        *authorizer.verb.lock() = verb.to_owned();
        let (code, status) = world.ask(method, path, &[], &map).await;
        let message = format!(
            "configmaps{name} is forbidden: User \"kubernetes-admin\" cannot {verb} resource \"configmaps\" in API \
             group \"\" in the namespace \"default\": denied by the test"
        );
        assert_eq!((code, &status["message"]), (403, &json!(message)), "{verb}");
        assert_eq!(status["reason"], "Forbidden");
        assert_eq!(status["details"]["kind"], "configmaps");
    }
    *authorizer.verb.lock() = String::new();
    let (code, list) = world.ask("GET", maps, &[], &Value::Null).await;
    assert_eq!((code, list["items"].as_array().unwrap().len()), (200, 1), "nothing was served");
    world.server.stop().await;
}

#[tokio::test]
async fn connections_and_paths_are_authorized_but_health_is_not() {
    let authorizer = DenyVerb::default();
    let world = start(authorizer.clone()).await;
    for verb in ["create", "get"] {
        *authorizer.verb.lock() = verb.to_owned();
        let method = if verb == "get" { "GET" } else { "POST" };
        let (code, status) = world.ask(method, &format!("{PODS}/a/exec?command=ls"), &[], &Value::Null).await;
        let message = format!(
            "pods \"a\" is forbidden: User \"kubernetes-admin\" cannot {verb} resource \"pods/exec\" in API group \"\" \
             in the namespace \"default\": denied by the test"
        );
        assert_eq!((code, &status["message"]), (403, &json!(message)));
    }
    for path in ["/version", "/apis", "/metrics", "/nowhere"] {
        let (code, status) = world.ask("GET", path, &[], &Value::Null).await;
        let message =
            format!("forbidden: User \"kubernetes-admin\" cannot get path \"{path}\": denied by the test");
        assert_eq!((code, &status["message"]), (403, &json!(message)));
    }
    for path in ["/healthz", "/livez", "/readyz"] {
        assert_eq!(world.ask("GET", path, &[], &Value::Null).await.0, 200, "{path}");
    }
    world.server.stop().await;
}

#[tokio::test]
async fn access_reviews_are_decided_by_the_authorizer() {
    let authorizer = DenyVerb::default();
    *authorizer.verb.lock() = "delete".to_owned();
    let world = start(authorizer.clone()).await;
    let review = async |kind: &str, spec: Value| {
        let path = format!("/apis/authorization.k8s.io/v1/{kind}");
        let (code, review) = world.ask("POST", &path, &[], &json!({"spec": spec})).await;
        assert_eq!(code, 201, "{review}");
        review["status"].clone()
    };
    let resource = |verb: &str| {
        json!({"resourceAttributes": {"verb": verb, "group": "apps", "resource": "deployments",
            "subresource": "scale", "namespace": "shop", "name": "web"}})
    };
    assert_eq!(review("selfsubjectaccessreviews", resource("get")).await, json!({"allowed": true}));
    let denied = json!({"allowed": false, "denied": true, "reason": "denied by the test"});
    assert_eq!(review("selfsubjectaccessreviews", resource("delete")).await, denied);
    let path = json!({"nonResourceAttributes": {"verb": "delete", "path": "/metrics"}});
    assert_eq!(review("selfsubjectaccessreviews", path).await, denied);
    let mut of_jo = resource("delete");
    of_jo["user"] = "jo".into();
    of_jo["groups"] = json!(["dev"]);
    assert_eq!(review("subjectaccessreviews", of_jo).await, denied);
    let asked = authorizer.asked.lock().clone();
    for expected in [
        "kubernetes-admin delete apps/deployments/scale shop/web",
        "kubernetes-admin delete /metrics",
        "jo delete apps/deployments/scale shop/web",
    ] {
        assert!(asked.iter().any(|it| it == expected), "{expected}: {asked:#?}");
    }
    let rules = review("selfsubjectrulesreviews", json!({"namespace": "shop"})).await;
    assert_eq!(rules["incomplete"], true, "this authorizer does not list its rules");
    world.server.stop().await;
}

#[tokio::test]
async fn impersonation_needs_the_verb_impersonate() {
    let authorizer = DenyVerb::default();
    let world = start(authorizer.clone()).await;
    let headers = [("impersonate-user", "ann"), ("impersonate-group", "ops")];
    assert_eq!(world.ask("GET", PODS, &headers, &Value::Null).await.0, 200);
    let asked = std::mem::take(&mut *authorizer.asked.lock());
    assert_eq!(
        asked,
        [
            "kubernetes-admin impersonate /users/ /ann",
            "kubernetes-admin impersonate /groups/ /ops",
            "ann list /pods/ default/",
        ]
    );
    *authorizer.verb.lock() = "impersonate".to_owned();
    let (code, status) = world.ask("GET", PODS, &headers, &Value::Null).await;
    let message = "users \"ann\" is forbidden: User \"kubernetes-admin\" cannot impersonate resource \"users\" in API \
                   group \"\" at the cluster scope: denied by the test";
    assert_eq!((code, &status["message"]), (403, &json!(message)));
    world.server.stop().await;
}

#[tokio::test]
async fn everything_is_allowed_by_default() {
    let world = World::start().await;
    let spec = json!({"resourceAttributes": {"verb": "delete", "resource": "nodes", "name": "a"}});
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let (code, review) = world.ask("POST", path, &[], &json!({"spec": spec})).await;
    assert_eq!((code, &review["status"]), (201, &json!({"allowed": true})));
    let path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
    let (code, review) = world.ask("POST", path, &[], &json!({"spec": {"namespace": "default"}})).await;
    let all = json!(["*"]);
    let rules = json!({
        "resourceRules": [{"verbs": all, "apiGroups": all, "resources": all}],
        "nonResourceRules": [{"verbs": all, "nonResourceURLs": all}],
        "incomplete": false,
    });
    assert_eq!((code, &review["status"]), (201, &rules));
    world.server.stop().await;
}
