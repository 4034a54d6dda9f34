//! The transport against the embedded server.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use http::{Method, Request, StatusCode};
use serde_json::{Value, json};
use tokio::time::timeout;
use watchkeeper_apiserver::server::ApiServer;
use watchkeeper_client::Transport;
use watchkeeper_client::auth::StaticCredentials;
use watchkeeper_client::config::Authorities;
use watchkeeper_client::transport::Body;

use support::config;

fn transport(server: &ApiServer) -> Transport {
    let credentials = StaticCredentials::token(&server.token().into()).unwrap();
    Transport::new(&config(server), Arc::new(credentials)).unwrap()
}

fn get(path: &str) -> Request<Body> {
    Request::get(path).body(Body::empty()).unwrap()
}

async fn create_config_map(transport: &Transport, name: &str) {
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
    let request = Request::builder()
        .method(Method::POST)
        .uri("/api/v1/namespaces/default/configmaps")
        .header("content-type", "application/json")
        .body(Body::from(object.to_string()))
        .unwrap();
    assert_eq!(transport.send(request).await.unwrap().status(), StatusCode::CREATED);
}

#[tokio::test]
async fn requests_share_one_http2_connection() {
    let server = ApiServer::builder().start().await.unwrap();
    let transport = transport(&server);
    let requests = (0..20).map(|_| transport.send(get("/version")));
    for response in futures_util::future::join_all(requests).await {
        let response = response.unwrap();
        assert_eq!(response.version(), http::Version::HTTP_2);
        let body = response.into_body().bytes().await.unwrap();
        assert!(serde_json::from_slice::<Value>(&body).unwrap()["gitVersion"].is_string());
    }
    assert_eq!(transport.connections(), 1);
    server.stop().await;
}

#[tokio::test]
async fn credentials_are_not_sent_over_plain_http_unless_allowed() {
    let server = ApiServer::builder().plain_http().start().await.unwrap();
    let status = async |plain_credentials: bool| {
        let mut config = config(&server);
        config.plain_credentials = plain_credentials;
        let credentials = Arc::new(StaticCredentials::token(&server.token().into()).unwrap());
        let transport = Transport::new(&config, credentials).unwrap();
        transport.send(get("/api/v1/namespaces")).await.unwrap().status()
    };
    assert_eq!(status(false).await, StatusCode::UNAUTHORIZED);
    assert_eq!(status(true).await, StatusCode::OK);
    server.stop().await;
}

#[tokio::test]
async fn an_http1_connection_is_reused() {
    let server = ApiServer::builder().plain_http().start().await.unwrap();
    let transport = transport(&server);
    for _ in 0..10 {
        let response = transport.send(get("/version")).await.unwrap();
        assert_eq!(response.version(), http::Version::HTTP_11);
        response.into_body().bytes().await.unwrap();
    }
    assert!(transport.connections() <= 2, "{} connections for sequential requests", transport.connections());
    server.stop().await;
}

#[tokio::test]
async fn three_hundred_watches_are_opened_served_and_closed() {
    let server = ApiServer::builder().start().await.unwrap();
    let transport = transport(&server);
    let mut watches = Vec::new();
    for _ in 0..300 {
        let path = "/api/v1/namespaces/default/configmaps?watch=true&resourceVersion=0";
        let response = transport.send(get(path)).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        watches.push(response.into_body());
    }
    let connections = transport.connections();
    assert!((1..=6).contains(&connections), "{connections} connections for 300 watches");
    create_config_map(&transport, "seen-by-all").await;
    for watch in &mut watches {
        let mut text = Vec::new();
        while !text.ends_with(b"\n") {
            text.extend_from_slice(&watch.chunk().await.unwrap().unwrap());
        }
        let event: Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(
            (&event["type"], &event["object"]["metadata"]["name"]),
            (&json!("ADDED"), &json!("seen-by-all"))
        );
    }
    drop(watches);
    until(|| transport.connections() == 1).await;
    drop(transport);
    server.stop().await; // waits for its connections
}

#[tokio::test]
async fn responses_are_decompressed() {
    let server = ApiServer::builder().start().await.unwrap();
    let transport = transport(&server);
    let big = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "big"},
        "data": {"text": "abc ".repeat(100_000)}});
    let request = Request::post("/api/v1/namespaces/default/configmaps")
        .header("content-type", "application/json")
        .body(Body::from(big.to_string()))
        .unwrap();
    assert_eq!(transport.send(request).await.unwrap().status(), StatusCode::CREATED);
    let response = transport.send(get("/api/v1/namespaces/default/configmaps/big")).await.unwrap();
    assert!(
        !response.headers().contains_key("content-encoding"),
        "the headers describe the decompressed body"
    );
    let read: Value = serde_json::from_slice(&response.into_body().bytes().await.unwrap()).unwrap();
    assert_eq!(read["data"]["text"].as_str().unwrap().len(), 400_000);
    server.stop().await;
}

#[tokio::test]
async fn an_unreachable_or_untrusted_server_is_named() {
    let server = ApiServer::builder().start().await.unwrap();
    let mut strict = config(&server);
    strict.authorities = Authorities::System;
    let address = strict.server.authority().unwrap().to_string();
    let strict = Transport::new(&strict, Arc::new(StaticCredentials::none())).unwrap();
    let error = strict.send(get("/version")).await.unwrap_err();
    assert_eq!(error.to_string(), format!("TLS handshake with {address} failed"));
    assert!(error.source().is_some_and(|why| why.to_string().contains("UnknownIssuer")), "{error:?}");
    assert!(!error.was_sent() && !error.is_connection_refused());

    let insecure = {
        let mut config = config(&server);
        config.authorities = Authorities::SkipVerify;
        Transport::new(&config, Arc::new(StaticCredentials::none())).unwrap()
    };
    assert_eq!(insecure.send(get("/version")).await.unwrap().status(), StatusCode::OK);

    let gone = transport(&server);
    server.stop().await;
    let error = gone.send(get("/version")).await.unwrap_err();
    assert_eq!(error.to_string(), format!("failed to connect to {address}"));
    assert!(error.is_connection_refused());
}

/// Waits until the condition holds; panics after 30 seconds.
async fn until(condition: impl Fn() -> bool) {
    let holds = async {
        while !condition() {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(30), holds).await.expect("timed out waiting for the condition");
}

#[tokio::test]
async fn a_forwarded_response_stays_compressed_if_the_request_accepts_it() {
    let server = ApiServer::builder().start().await.unwrap();
    let transport = transport(&server);
    let data = json!({"a": "compressible ".repeat(20_000)});
    let object =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "large"}, "data": data});
    let request = Request::post("/api/v1/namespaces/default/configmaps")
        .header("content-type", "application/json")
        .body(Body::from(object.to_string()));
    assert_eq!(transport.send(request.unwrap()).await.unwrap().status(), StatusCode::CREATED);
    let list = async |encoding: Option<&'static str>| {
        let mut request = get("/api/v1/namespaces/default/configmaps");
        if let Some(encoding) = encoding {
            request.headers_mut().insert("accept-encoding", encoding.parse().unwrap());
        }
        let response = transport.forward(request).await.unwrap();
        let compressed = response.headers().contains_key("content-encoding");
        (compressed, response.into_body().bytes().await.unwrap().starts_with(&[0x1f, 0x8b]))
    };
    assert_eq!(list(Some("gzip")).await, (true, true));
    assert_eq!(list(None).await, (false, false));
    server.stop().await;
}

#[tokio::test]
async fn connection_errors_do_not_contain_the_password_of_the_server_url() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener); // connections to this port are refused
    let server = ApiServer::builder().start().await.unwrap();
    let mut config = config(&server);
    config.server = format!("https://user:secret@{address}").parse().unwrap();
    let transport = Transport::new(&config, Arc::new(StaticCredentials::default())).unwrap();
    let error = format!("{:?}", transport.send(get("/version")).await.unwrap_err());
    assert!(error.contains(&address.to_string()), "{error}");
    assert!(!error.contains("secret"), "{error}");
    server.stop().await;
}
