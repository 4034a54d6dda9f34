//! Users of the web service: authentication and RBAC by the real API server.

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

/// Creates an object as a cluster administrator.
async fn create(cluster: &Cluster, path: &str, object: Value) -> Value {
    let request = Request::builder()
        .method(Method::POST)
        .uri(path)
        .header("content-type", "application/json")
        .body(Bytes::from(object.to_string()));
    let response = cluster.send(request.unwrap()).await.unwrap();
    assert!(response.status().is_success(), "{path}: {response:?}");
    serde_json::from_slice(response.body()).unwrap()
}

/// Creates a service account that can read pods and services in the namespace `a`, and returns its token.
async fn create_viewer(cluster: &Cluster) -> String {
    for name in ["a", "b"] {
        create(cluster, "/api/v1/namespaces", json!({"metadata": {"name": name}})).await;
    }
    let named = |name: &str| json!({"metadata": {"name": name}});
    create(cluster, "/api/v1/namespaces/a/serviceaccounts", named("viewer")).await;
    let mut role = named("viewer");
    role["rules"] =
        json!([{"apiGroups": [""], "resources": ["pods", "services"], "verbs": ["get", "list", "watch"]}]);
    create(cluster, "/apis/rbac.authorization.k8s.io/v1/namespaces/a/roles", role).await;
    let mut binding = named("viewer");
    binding["roleRef"] = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "viewer"});
    binding["subjects"] = json!([{"kind": "ServiceAccount", "name": "viewer", "namespace": "a"}]);
    create(cluster, "/apis/rbac.authorization.k8s.io/v1/namespaces/a/rolebindings", binding).await;
    let issued =
        create(cluster, "/api/v1/namespaces/a/serviceaccounts/viewer/token", json!({"spec": {}})).await;
    issued["status"]["token"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn users_can_read_what_rbac_allows() {
    let cluster = Cluster::start().await.unwrap();
    let token = create_viewer(&cluster).await;
    // The service itself authenticates by its certificate, and has all permissions.
    let config =
        Config::load(&Sources::File(cluster.kubeconfig().to_owned()), &Overrides::default()).unwrap();
    assert!(config.certificate.is_some());
    let service = Service::new(&Client::new(&config).unwrap());

    let access = service.access();
    let user = access.authenticate(&Secret::from(token.as_str())).await.unwrap();
    assert_eq!(user.name, "system:serviceaccount:a:viewer");
    assert!(user.groups.contains(&"system:serviceaccounts:a".to_owned()), "{user:?}");
    let identity = Identity::User(user);
    let check = async |verb: &str, resource: &str, namespace: &str| {
        access
            .authorize(&identity, ResourceAttributes { verb, group: "", resource, namespace, name: "" })
            .await
    };
    for verb in ["get", "list", "watch"] {
        check(verb, "pods", "a").await.unwrap();
    }
    for (verb, resource, namespace) in
        [("list", "pods", "b"), ("list", "pods", ""), ("list", "secrets", "a"), ("delete", "pods", "a")]
    {
        let error = check(verb, resource, namespace).await.unwrap_err();
        assert!(matches!(error, AccessError::Forbidden(_)), "{verb} {resource} in {namespace:?}: {error}");
    }
    let all_namespaces = check("list", "pods", "").await.unwrap_err().to_string();
    assert!(
        all_namespaces.ends_with("choose a namespace that you may read (namespace=...)"),
        "{all_namespaces}"
    );
    let forged = access.authenticate(&Secret::from(format!("{token}x"))).await.unwrap_err();
    assert!(matches!(forged, AccessError::Unauthenticated(_)), "{forged}");

    let server = Server::bind(&service, Options::default().require_tokens(true)).await.unwrap();
    let (url, stop) = (server.url(), CancellationToken::new());
    let running = tokio::spawn(server.run(stop.clone().cancelled_owned()));
    let http: HttpClient<_, Empty<Bytes>> = HttpClient::builder(TokioExecutor::new()).build_http();
    let get = async |path: &str, token: &str| {
        let request = Request::get(format!("{url}{path}")).header("authorization", format!("Bearer {token}"));
        let response = http.request(request.body(Empty::new()).unwrap()).await.unwrap();
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, serde_json::from_slice::<Value>(&body).unwrap_or_default())
    };
    assert_eq!(get("/ping", &token).await.0, 200);
    assert_eq!(get("/ping", "forged").await.0, 401);
    // The proxy forwards requests with the user's identity, not with the permissions of the service.
    let (status, pods) = get("/api/v1/namespaces/a/pods", &token).await;
    assert_eq!((status, &pods["kind"]), (200, &json!("PodList")));
    for (path, reason) in [
        ("/api/v1/namespaces/b/pods", "system:serviceaccount:a:viewer"),
        ("/api/v1/pods", "system:serviceaccount:a:viewer"),
        ("/api/v1/namespaces/a/secrets", "--proxy-secrets"),
    ] {
        let (status, error) = get(path, &token).await;
        assert_eq!((status, &error["reason"]), (403, &json!("Forbidden")), "{path}");
        assert!(error["message"].as_str().unwrap().contains(reason), "{error}");
    }
    stop.cancel();
    running.await.unwrap();
}
