//! Mutual TLS, users and roles, and the renewal of tokens.

use futures_util::TryStreamExt as _;
use serde_json::{Value, json};
use watchkeeper_cache::Informer;
use watchkeeper_core::{ListError, ListRequest, ListWatch as _, WatchError, WatchFrom, WatchRequest};
use watchkeeper_etcd::{Error, Etcd, EtcdSource, Put, Range, Tls, Watch};
use watchkeeper_oracle::EtcdServer;
use watchkeeper_wire::Kind;

use super::{post, put, soon};

async fn start(etcd: &Etcd, prefix: &'static str) -> Informer {
    let kind = Kind::new("example.com", "v1", "Value");
    let informer = Informer::new(kind, EtcdSource::new(etcd.clone(), prefix));
    informer.start();
    assert!(soon("the first list", informer.wait_until_ready()).await);
    informer
}

#[tokio::test]
async fn client_and_server_authenticate_with_certificates() {
    let server = EtcdServer::builder().tls().start().await.unwrap();
    assert!(server.url().starts_with("https://"));
    let (certificate, key) = server.client_certificate();
    let with = |tls: Tls| Etcd::builder([server.url()]).tls(tls).build().unwrap();
    let known = Tls::default().authorities(server.certificate_authority());

    let etcd = with(known.clone().certificate(certificate, key));
    put(&etcd, "/c/a", 1).await;
    let informer = start(&etcd, "/c/").await;
    let revision = put(&etcd, "/c/b", 2).await;
    soon("the write", informer.store().wait_for(&revision.into())).await;
    assert_eq!(informer.store().snapshot().len(), 2);
    informer.stop().await;

    let without_certificate = with(known.clone()).range(Range::key("/c/a")).await;
    assert!(without_certificate.as_ref().is_err_and(Error::is_unavailable), "{without_certificate:?}");
    let other_server = EtcdServer::builder().tls().start().await.unwrap();
    let other =
        Tls::default().authorities(other_server.certificate_authority()).certificate(certificate, key);
    let rejected = with(other).range(Range::key("/c/a")).await;
    assert!(matches!(rejected, Err(Error::Unreachable(_))), "{rejected:?}");
    let misnamed = known.certificate(certificate, key).server_name("etcd.example");
    let rejected = with(misnamed).range(Range::key("/c/a")).await;
    assert!(matches!(rejected, Err(Error::Unreachable(_))), "{rejected:?}");
}

/// Creates the users `root` and `mine`, which may access only keys below `/c/`, and enables authentication.
async fn enable_auth(server: &EtcdServer) {
    let encode = |text: &str| base64::Engine::encode(&base64::engine::general_purpose::STANDARD, text);
    let permission = json!({ "permType": "READWRITE", "key": encode("/c/"), "range_end": encode("/c0") });
    let steps = [
        ("user/add", json!({ "name": "root", "password": "r00t" })),
        ("user/add", json!({ "name": "mine", "password": "s3cret" })),
        ("role/add", json!({ "name": "mine" })),
        ("role/grant", json!({ "name": "mine", "perm": permission })),
        ("user/grant", json!({ "user": "mine", "role": "mine" })),
        ("role/add", json!({ "name": "root" })),
        ("user/grant", json!({ "user": "root", "role": "root" })),
        ("enable", json!({})),
    ];
    for (path, body) in steps {
        post(server, &format!("/v3/auth/{path}"), "", &body).await;
    }
}

async fn root_token(server: &EtcdServer) -> String {
    let body = json!({ "name": "root", "password": "r00t" });
    let response: Value = post(server, "/v3/auth/authenticate", "", &body).await;
    response["token"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_user_has_the_access_of_its_role_and_renews_its_token() {
    let mut server = EtcdServer::start().await.unwrap();
    let url = server.url().to_owned();
    let as_user =
        |name: &str, password: &str| Etcd::builder([url.clone()]).user(name, password).build().unwrap();
    // A client with credentials also works before authentication is enabled, and keeps working afterwards.
    let etcd = as_user("mine", "s3cret");
    put(&etcd, "/c/a", 1).await;
    let mut watch = etcd.watch(&Watch::prefix("/c/")).await.unwrap();
    enable_auth(&server).await;
    put(&etcd, "/c/a", 2).await;
    assert_eq!(soon("the write", watch.next()).await.unwrap().changes.len(), 1);

    let informer = start(&etcd, "/c/").await;
    let denied = etcd.range(Range::prefix("/d/")).await;
    assert!(matches!(denied, Err(Error::PermissionDenied { .. })), "{denied:?}");
    let denied = etcd.watch(&Watch::prefix("/d/")).await;
    assert!(matches!(denied, Err(Error::PermissionDenied { .. })), "{denied:?}");
    let beyond = EtcdSource::new(etcd.clone(), "/");
    let rejected: Result<Vec<_>, _> = beyond.list(ListRequest::default()).try_collect().await;
    assert!(matches!(&rejected, Err(ListError::Rejected(status)) if status.is_forbidden()), "{rejected:?}");
    let rejected = beyond.watch(WatchRequest::new(WatchFrom::After(1.into()))).await.map(drop);
    assert!(matches!(&rejected, Err(WatchError::Rejected(status)) if status.is_forbidden()), "{rejected:?}");

    // A token issued before the users were changed.
    let token = root_token(&server).await;
    post(&server, "/v3/auth/user/add", &token, &json!({ "name": "new", "password": "n3w" })).await;
    put(&etcd, "/c/a", 3).await;
    let token = root_token(&server).await;
    post(&server, "/v3/auth/user/add", &token, &json!({ "name": "newer", "password": "n3w" })).await;
    assert!(etcd.watch(&Watch::prefix("/c/")).await.is_ok());

    // A token that the member lost in a restart.
    for turn in 4..6 {
        server.kill().unwrap();
        server.restart().await.unwrap();
        let revision = put(&etcd, "/c/b", turn).await;
        soon("the write", informer.store().wait_for(&revision.into())).await;
    }
    assert_eq!(informer.store().snapshot().len(), 2);
    informer.stop().await;

    let anonymous = Etcd::builder([url.clone()]).build().unwrap();
    for client in [as_user("mine", "wrong"), as_user("nobody", ""), anonymous] {
        let rejected = client.put(Put::new("/c/a", "{}")).await;
        assert!(matches!(rejected, Err(Error::Unauthenticated { .. })), "{rejected:?}");
        let rejected = client.watch(&Watch::prefix("/c/")).await;
        assert!(matches!(rejected, Err(Error::Unauthenticated { .. })), "{rejected:?}");
    }
}
