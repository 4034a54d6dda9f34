//! Users of the web service, as the real API server knows them and RBAC lets them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt as _, Empty};
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use watchkeeper_client::kubeconfig::{Overrides, Sources};
use watchkeeper_client::{Client, Config, Secret};
use watchkeeper_oracle::Cluster;
use watchkeeper_web::access::{AccessError, Identity, ResourceAttributes};
use watchkeeper_web::{Options, Server, Service};

/// Posts an object as somebody who may do everything.
async fn post(cluster: &Cluster, path: &str, object: Value) -> Value {
    let request = Request::builder()
        .method(Method::POST)
        .uri(path)
        .header("content-type", "application/json")
        .body(Bytes::from(object.to_string()));
    let answer = cluster.send(request.unwrap()).await.unwrap();
    assert!(answer.status().is_success(), "{path}: {answer:?}");
    serde_json::from_slice(answer.body()).unwrap()
}

/// A service account that may read pods and services of the namespace `a`, and its token.
async fn viewer(cluster: &Cluster) -> String {
    for name in ["a", "b"] {
        post(cluster, "/api/v1/namespaces", json!({"metadata": {"name": name}})).await;
    }
    let named = |name: &str| json!({"metadata": {"name": name}});
    post(cluster, "/api/v1/namespaces/a/serviceaccounts", named("viewer")).await;
    let mut role = named("viewer");
    role["rules"] =
        json!([{"apiGroups": [""], "resources": ["pods", "services"], "verbs": ["get", "list", "watch"]}]);
    post(cluster, "/apis/rbac.authorization.k8s.io/v1/namespaces/a/roles", role).await;
    let mut binding = named("viewer");
    binding["roleRef"] = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "viewer"});
    binding["subjects"] = json!([{"kind": "ServiceAccount", "name": "viewer", "namespace": "a"}]);
    post(cluster, "/apis/rbac.authorization.k8s.io/v1/namespaces/a/rolebindings", binding).await;
    let issued =
        post(cluster, "/api/v1/namespaces/a/serviceaccounts/viewer/token", json!({"spec": {}})).await;
    issued["status"]["token"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_sees_what_rbac_lets_them_see() {
    let cluster = Cluster::start().await.unwrap();
    let token = viewer(&cluster).await;
    // The service itself is known by its certificate, and may do everything.
    let config =
        Config::load(&Sources::File(cluster.kubeconfig().to_owned()), &Overrides::default()).unwrap();
    assert!(config.certificate.is_some());
    let service = Service::new(&Client::new(&config).unwrap());

    let access = service.access();
    let user = access.authenticate(&Secret::from(token.as_str())).await.unwrap();
    assert_eq!(user.name, "system:serviceaccount:a:viewer");
    assert!(user.groups.contains(&"system:serviceaccounts:a".to_owned()), "{user:?}");
    let who = Identity::User(user);
    let check = async |verb: &str, resource: &str, namespace: &str| {
        access.authorize(&who, ResourceAttributes { verb, group: "", resource, namespace, name: "" }).await
    };
    for verb in ["get", "list", "watch"] {
        check(verb, "pods", "a").await.unwrap();
    }
    for (verb, resource, namespace) in
        [("list", "pods", "b"), ("list", "pods", ""), ("list", "secrets", "a"), ("delete", "pods", "a")]
    {
        let refused = check(verb, resource, namespace).await.unwrap_err();
        assert!(
            matches!(refused, AccessError::Forbidden(_)),
            "{verb} {resource} in {namespace:?}: {refused}"
        );
    }
    let whole = check("list", "pods", "").await.unwrap_err().to_string();
    assert!(whole.ends_with("choose a namespace that you may read (namespace=...)"), "{whole}");
    let forged = access.authenticate(&Secret::from(format!("{token}x"))).await.unwrap_err();
    assert!(matches!(forged, AccessError::Unauthenticated(_)), "{forged}");

    let server = Server::bind(&service, Options::default().require_tokens(true)).await.unwrap();
    let (url, stop) = (server.url(), CancellationToken::new());
    let running = tokio::spawn(server.run(stop.clone().cancelled_owned()));
    let http: HttpClient<_, Empty<Bytes>> = HttpClient::builder(TokioExecutor::new()).build_http();
    let get = async |path: &str, token: &str| {
        let request = Request::get(format!("{url}{path}")).header("authorization", format!("Bearer {token}"));
        let answer = http.request(request.body(Empty::new()).unwrap()).await.unwrap();
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        (status, serde_json::from_slice::<Value>(&body).unwrap_or_default())
    };
    assert_eq!(get("/ping", &token).await.0, 200);
    assert_eq!(get("/ping", "forged").await.0, 401);
    // By way of the proxy they are themselves, though the service could do more.
    let (status, pods) = get("/api/v1/namespaces/a/pods", &token).await;
    assert_eq!((status, &pods["kind"]), (200, &json!("PodList")));
    for (path, reason) in [
        ("/api/v1/namespaces/b/pods", "system:serviceaccount:a:viewer"),
        ("/api/v1/pods", "system:serviceaccount:a:viewer"),
        ("/api/v1/namespaces/a/secrets", "--proxy-secrets"),
    ] {
        let (status, refused) = get(path, &token).await;
        assert_eq!((status, &refused["reason"]), (403, &json!("Forbidden")), "{path}");
        assert!(refused["message"].as_str().unwrap().contains(reason), "{refused}");
    }
    stop.cancel();
    running.await.unwrap();
}
