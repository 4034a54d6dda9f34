//! Tokens and permissions.

use serde_json::{Value, json};
use watchkeeper_client::Secret;
use watchkeeper_web::access::{Access, AccessError, Identity, ResourceAttributes};
use watchkeeper_web::{Options, Service};

use crate::upstream::{Script, Upstream, get};
use crate::world::{Answer, Served, World, ask};

/// A service, and a user Jane with read access to the namespace `a`.
struct Town {
    upstream: Upstream,
    served: Served,
}

impl Town {
    async fn start() -> Self {
        let jane = json!({"username": "jane", "uid": "7", "groups": ["dev"], "extra": {"scope": ["x"]}});
        let script = Script { users: [("jane-token", jane)].into(), ..Script::default() };
        script.rules.lock().push(("jane", "a"));
        let upstream = Upstream::start(script).await;
        let service = Service::new(&upstream.client);
        let served = Served::start(&service, Options::default().require_tokens(true)).await;
        Self { upstream, served }
    }

    async fn get(&self, path: &str, lines: &str) -> Answer {
        ask(self.served.address, get(path, lines)).await
    }

    async fn post(&self, path: &str, body: &str) -> Answer {
        let length = body.len();
        let head = format!(
            "Host: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {length}"
        );
        ask(self.served.address, format!("POST {path} HTTP/1.1\r\n{head}\r\n\r\n{body}")).await
    }

    fn reviews(&self) -> usize {
        self.upstream.script.reviews.lock().len()
    }

    async fn stop(self) {
        self.served.stop().await;
        self.upstream.stop().await;
    }
}

#[tokio::test]
async fn without_a_token_only_the_page_and_health_checks_are_served() {
    let town = Town::start().await;
    for path in [
        "/ping",
        "/pods/core/v1",
        "/v1/resources",
        "/v1/stream",
        "/metrics",
        "/openapi.json",
        "/assetsx",
        "/v1/login/x",
    ] {
        let answer = town.get(path, "").await;
        assert_eq!((answer.status, answer.header("www-authenticate")), (401, Some("Bearer")), "{path}");
        assert!(answer.body.starts_with(r#"{"code":40000,"message":"a token is required"#), "{answer:?}");
    }
    for path in ["/", "/assets/none.js", "/healthz", "/livez", "/readyz"] {
        assert_ne!(town.get(path, "").await.status, 401, "{path}");
    }
    let proxied = town.get("/api/v1/pods", "").await;
    let status: Value = serde_json::from_str(&proxied.body).unwrap();
    assert_eq!(
        (proxied.status, &status["kind"], &status["reason"]),
        (401, &json!("Status"), &json!("Unauthorized"))
    );
    assert_eq!(town.reviews(), 0);
    town.stop().await;
}

#[tokio::test]
async fn tokens_are_reviewed_once() {
    let town = Town::start().await;
    for _ in 0..3 {
        assert_eq!(town.get("/ping", "Authorization: Bearer jane-token\r\n").await.status, 200);
        assert_eq!(town.get("/ping", "Cookie: watchkeeper_token=jane-token\r\n").await.status, 200);
    }
    assert_eq!(town.reviews(), 1);
    for _ in 0..3 {
        let answer = town.get("/ping", "Authorization: Bearer guessed\r\n").await;
        assert_eq!(answer.status, 401);
        let expected = r#"{"code":40000,"message":"the API server rejected the token: never seen it"}"#;
        assert_eq!(answer.body, expected);
    }
    assert_eq!(town.reviews(), 2);
    town.stop().await;
}

#[tokio::test]
async fn login_sets_an_http_only_cookie() {
    let town = Town::start().await;
    let answer = town.post("/v1/login", r#"{"token":" jane-token\n"}"#).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.body, r#"{"code":20000,"message":"success","data":{"user":"jane","groups":["dev"]}}"#);
    let cookie = answer.header("set-cookie").unwrap();
    assert_eq!(cookie, "watchkeeper_token=jane-token; Path=/; HttpOnly; Secure; SameSite=Strict");

    let identity = town.get("/v1/user", "Cookie: watchkeeper_token=jane-token\r\n").await;
    assert_eq!(identity.body, answer.body);
    assert_eq!(town.get("/v1/user", "").await.status, 401);

    let refused = town.post("/v1/login", r#"{"token":"guessed"}"#).await;
    assert_eq!((refused.status, refused.header("set-cookie")), (401, None));
    for body in
        ["", "{}", "null", r#"{"token":7}"#, r#"{"token":""}"#, r#"{"token":"a; Domain=evil.example"}"#]
    {
        let refused = town.post("/v1/login", body).await;
        assert_eq!((refused.status, refused.header("set-cookie")), (400, None), "{body}");
    }
    let out = town.post("/v1/logout", "").await;
    assert_eq!(out.status, 200);
    assert!(out.header("set-cookie").unwrap().starts_with("watchkeeper_token=; Max-Age=0; "));
    town.stop().await;
}

#[tokio::test]
async fn metrics_require_permission() {
    let town = Town::start().await;
    let answer = town.get("/metrics", "Authorization: Bearer jane-token\r\n").await;
    assert_eq!(answer.status, 403);
    assert!(answer.body.contains(r#"User \"jane\" cannot get path \"/metrics\""#), "{answer:?}");
    town.stop().await;
}

#[tokio::test]
async fn denied_lists_suggest_a_namespace() {
    let town = Town::start().await;
    let access = Access::new(&town.upstream.client);
    let jane = Identity::User(access.authenticate(&Secret::from("jane-token")).await.unwrap());
    let check = async |namespace: &str, name: &str| {
        let attributes =
            ResourceAttributes { verb: "list", group: "apps", resource: "deployments", namespace, name };
        access.authorize(&jane, attributes).await
    };
    for _ in 0..3 {
        check("a", "").await.unwrap();
    }
    let reviews = town.upstream.script.reviews.lock().clone();
    let [_, review] = &reviews[..] else { panic!("{reviews:?}") };
    let what =
        json!({"verb": "list", "group": "apps", "resource": "deployments", "namespace": "a", "name": ""});
    let expected = json!({"user": "jane", "uid": "7", "groups": ["dev"], "extra": {"scope": ["x"]}, "resourceAttributes": what});
    assert_eq!(*review, expected);

    let denied = |refused: Result<(), AccessError>| match refused {
        Err(AccessError::Forbidden(why)) => why,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        denied(check("", "").await),
        "deployments.apps is forbidden: User \"jane\" cannot list resource \"deployments\" in API group \"apps\" at the \
         cluster scope; if deployments are namespaced, choose a namespace that you may read (namespace=...)"
    );
    assert_eq!(
        denied(check("b", "web").await),
        "deployments.apps \"web\" is forbidden: User \"jane\" cannot list resource \"deployments\" in API group \"apps\" \
         in the namespace \"b\""
    );
    town.stop().await;
}

#[tokio::test]
async fn failed_reviews_deny_access() {
    let town = Town::start().await;
    let Town { upstream, served } = town;
    upstream.stop().await;
    let answer = ask(served.address, get("/ping", "Authorization: Bearer jane-token\r\n")).await;
    assert_eq!((answer.status, answer.header("retry-after")), (503, Some("5")));
    assert!(answer.body.contains("access review failed"), "{answer:?}");
    served.stop().await;
}

#[tokio::test]
async fn service_account_tokens_are_valid_until_the_account_is_deleted() {
    let world = World::start(Options::default().require_tokens(true)).await;
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "viewer"}});
    world.cluster.create(account).await.unwrap();
    let path = format!("/api/v1/namespaces/{}/serviceaccounts/viewer/token", world.cluster.namespace());
    let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": null}});
    let request =
        http::Request::post(path).header("content-type", "application/json").body(request.to_string().into());
    let issued = world.service.catalog().client().transport().send(request.unwrap()).await.unwrap();
    let issued: Value = serde_json::from_slice(&issued.into_body().bytes().await.unwrap()).unwrap();
    let token = issued["status"]["token"].as_str().unwrap();

    let answer = ask(world.address(), get("/ping", &format!("Authorization: Bearer {token}\r\n"))).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let user = world.service.access().authenticate(&token.into()).await.unwrap();
    assert_eq!(user.name, format!("system:serviceaccount:{}:viewer", world.cluster.namespace()));
    assert!(!format!("{user:?}").contains(token));
    for broken in [&token[1..], &token[..token.len() - 8], "x"] {
        let answer = ask(world.address(), get("/ping", &format!("Authorization: Bearer {broken}\r\n"))).await;
        assert_eq!(answer.status, 401);
    }
    world.stop().await;
}

#[tokio::test]
async fn loopback_requires_no_token() {
    let upstream = Upstream::start(Script::default()).await;
    let access = Access::new(&upstream.client);
    let attributes =
        ResourceAttributes { verb: "list", group: "", resource: "pods", namespace: "", name: "" };
    access.authorize(&Identity::Local, attributes).await.unwrap();
    assert_eq!(upstream.script.reviews.lock().len(), 0);
    upstream.stop().await;
}
