//! TLS with certificates of both sides; users, passwords and tokens that end.

use futures_util::TryStreamExt as _;
use serde_json::{Value, json};
use watchkeeper_cache::Informer;
use watchkeeper_core::{ListError, ListRequest, ListWatch as _, WatchError, WatchFrom, WatchRequest};
use watchkeeper_etcd::{Error, Etcd, EtcdSource, Put, Range, Tls, Watch};
use watchkeeper_oracle::EtcdServer;
use watchkeeper_wire::Kind;

use super::{ask, put, soon};

async fn start(etcd: &Etcd, prefix: &'static str) -> Informer {
    let kind = Kind::new("example.com", "v1", "Value");
    let informer = Informer::new(kind, EtcdSource::new(etcd.clone(), prefix));
    informer.start();
    assert!(soon("the first list", informer.wait_until_ready()).await);
    informer
}

#[tokio::test]
async fn both_sides_show_certificates() {
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

    let nobody = with(known.clone()).range(Range::key("/c/a")).await;
    assert!(nobody.as_ref().is_err_and(Error::is_unavailable), "{nobody:?}");
    let stranger = EtcdServer::builder().tls().start().await.unwrap();
    let other = Tls::default().authorities(stranger.certificate_authority()).certificate(certificate, key);
    let refused = with(other).range(Range::key("/c/a")).await;
    assert!(matches!(refused, Err(Error::Unreachable(_))), "{refused:?}");
    let misnamed = known.certificate(certificate, key).server_name("etcd.example");
    let refused = with(misnamed).range(Range::key("/c/a")).await;
    assert!(matches!(refused, Err(Error::Unreachable(_))), "{refused:?}");
}

/// Makes `root`, and `mine`, who may only use what is below `/c/`; then asks everybody for a name.
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
        ask(server, &format!("/v3/auth/{path}"), "", &body).await;
    }
}

async fn root_token(server: &EtcdServer) -> String {
    let body = json!({ "name": "root", "password": "r00t" });
    let answer: Value = ask(server, "/v3/auth/authenticate", "", &body).await;
    answer["token"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_user_sees_what_its_role_allows_and_gets_a_new_token_when_one_ends() {
    let mut server = EtcdServer::start().await.unwrap();
    let url = server.url().to_owned();
    let as_user =
        |name: &str, password: &str| Etcd::builder([url.clone()]).user(name, password).build().unwrap();
    // Whoever has a name may also use an etcd that asks for none, and goes on when it does.
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
    let refused: Result<Vec<_>, _> = beyond.list(ListRequest::default()).try_collect().await;
    assert!(matches!(&refused, Err(ListError::Rejected(status)) if status.is_forbidden()), "{refused:?}");
    let refused = beyond.watch(WatchRequest::new(WatchFrom::After(1.into()))).await.map(drop);
    assert!(matches!(&refused, Err(WatchError::Rejected(status)) if status.is_forbidden()), "{refused:?}");

    // A token from before users were changed.
    let token = root_token(&server).await;
    ask(&server, "/v3/auth/user/add", &token, &json!({ "name": "new", "password": "n3w" })).await;
    put(&etcd, "/c/a", 3).await;
    let token = root_token(&server).await;
    ask(&server, "/v3/auth/user/add", &token, &json!({ "name": "newer", "password": "n3w" })).await;
    assert!(etcd.watch(&Watch::prefix("/c/")).await.is_ok());

    // A token that the member has forgotten.
    for turn in 4..6 {
        server.kill().unwrap();
        server.restart().await.unwrap();
        let revision = put(&etcd, "/c/b", turn).await;
        soon("the write", informer.store().wait_for(&revision.into())).await;
    }
    assert_eq!(informer.store().snapshot().len(), 2);
    informer.stop().await;

    let unnamed = Etcd::builder([url.clone()]).build().unwrap();
    for stranger in [as_user("mine", "wrong"), as_user("nobody", ""), unnamed] {
        let refused = stranger.put(Put::new("/c/a", "{}")).await;
        assert!(matches!(refused, Err(Error::Unauthenticated { .. })), "{refused:?}");
        let refused = stranger.watch(&Watch::prefix("/c/")).await;
        assert!(matches!(refused, Err(Error::Unauthenticated { .. })), "{refused:?}");
    }
}
