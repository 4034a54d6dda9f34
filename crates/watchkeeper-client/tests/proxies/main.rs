//! Connections through proxies, and protocol upgrades.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../support/mod.rs"]
mod support;

mod servers;
mod upgrades;

use http::{Request, StatusCode};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use watchkeeper_apiserver::http::Authority;
use watchkeeper_apiserver::server::ApiServer;
use watchkeeper_client::config::{Authorities, Proxy};
use watchkeeper_client::kubeconfig::{Overrides, Sources};
use watchkeeper_client::transport::{Body, ConnectError, TransportError};
use watchkeeper_client::{Config, Transport};

use servers::{Protocol, Server};
use support::config;

/// `ada:p@ss`, which is `ada:p%40ss` in a URL.
const ADA: &str = "Basic YWRhOnBAc3M=";

async fn send(config: &Config) -> Result<StatusCode, TransportError> {
    let transport = Transport::from_config(config).unwrap();
    let request = Request::get("/version?x=y").body(Body::empty()).unwrap();
    let response = transport.send(request).await?;
    let code = response.status();
    response.into_body().bytes().await.unwrap();
    Ok(code)
}

fn through(proxy: &str) -> Proxy {
    Proxy::Url(proxy.parse().unwrap())
}

#[tokio::test]
async fn an_http_proxy_opens_a_tunnel_with_and_without_credentials() {
    let server = ApiServer::builder().start().await.unwrap();
    for (must, user) in [(None, ""), (Some(ADA), "ada:p%40ss@")] {
        let proxy = Server::start(Protocol::Http(must)).await;
        let mut config = config(&server);
        config.proxy = through(&format!("http://{user}{}", proxy.address));
        assert_eq!(send(&config).await.unwrap(), StatusCode::OK);
        assert_eq!(proxy.seen(), [format!("CONNECT {} HTTP/1.1", server.address())]);
    }
    server.stop().await;
}

/// As in Go, the server's authorities are also trusted for the proxy.
#[tokio::test]
async fn an_https_proxy_must_be_trusted() {
    let server = ApiServer::builder().start().await.unwrap();
    let proxies = Authority::generate().unwrap();
    let identity = proxies.sign_server(&[]).unwrap();
    let mut tls = (*proxies.serve(&identity).unwrap()).clone();
    tls.alpn_protocols.clear();
    let acceptor = TlsAcceptor::from(std::sync::Arc::new(tls));
    for (must, user) in [(None, ""), (Some(ADA), "ada:p%40ss@")] {
        let proxy = Server::start(Protocol::Https(acceptor.clone(), must)).await;
        let mut config = config(&server);
        config.proxy = through(&format!("https://{user}{}", proxy.address));
        let error = send(&config).await.unwrap_err();
        let expected = format!("failed to connect to {} through proxy {}", server.address(), proxy.address);
        assert_eq!(error.to_string(), expected);
        assert!(proxy.seen().is_empty(), "no password is sent to an untrusted proxy");

        let both = format!("{}{}", proxies.certificate(), server.ca_pem().unwrap());
        config.authorities = Authorities::Pem(both);
        assert_eq!(send(&config).await.unwrap(), StatusCode::OK);
        assert_eq!(proxy.seen(), [format!("CONNECT {} HTTP/1.1", server.address())]);
    }
    server.stop().await;
}

#[tokio::test]
async fn a_socks5_proxy_works_with_and_without_credentials() {
    let server = ApiServer::builder().start().await.unwrap();
    for (must, user) in [(None, ""), (Some(("ada", "p@ss")), "ada:p%40ss@")] {
        let proxy = Server::start(Protocol::Socks(must)).await;
        let mut config = config(&server);
        config.proxy = through(&format!("socks5://{user}{}", proxy.address));
        assert_eq!(send(&config).await.unwrap(), StatusCode::OK);
        assert_eq!(proxy.seen(), [format!("SOCKS {}", server.address())]);
    }
    server.stop().await;
}

#[tokio::test]
async fn a_rejecting_proxy_is_named_without_its_password() {
    let server = ApiServer::builder().start().await.unwrap();
    for (scheme, protocol) in
        [("http", Protocol::Http(Some(ADA))), ("socks5", Protocol::Socks(Some(("ada", "p@ss"))))]
    {
        let proxy = Server::start(protocol).await;
        let mut config = config(&server);
        config.proxy = through(&format!("{scheme}://ada:wrong-password@{}", proxy.address));
        let error = send(&config).await.unwrap_err();
        let expected = format!("failed to connect to {} through proxy {}", server.address(), proxy.address);
        assert_eq!(error.to_string(), expected);
        assert!(!error.was_sent() && !error.is_connection_refused());
        let TransportError::Connect(connect) = &error else { panic!("{error:?}") };
        assert!(matches!(**connect, ConnectError::Proxy { .. }));
        let shown = format!("{error:?} {config:?} {:?}", Transport::from_config(&config).unwrap());
        assert!(!shown.contains("wrong-password") && shown.contains(&proxy.address.to_string()), "{shown}");
    }
    server.stop().await;
}

#[tokio::test]
async fn an_unreachable_proxy_is_named() {
    let server = ApiServer::builder().start().await.unwrap();
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    for scheme in ["http", "https", "socks5"] {
        let mut config = config(&server);
        config.proxy = through(&format!("{scheme}://{gone}"));
        let error = send(&config).await.unwrap_err();
        let expected = format!("failed to connect to {} through proxy {gone}", server.address());
        assert_eq!(error.to_string(), expected);
        assert!(!error.is_connection_refused(), "the server did not refuse the connection");
    }
    server.stop().await;
}

/// As in Go: a proxy may allow tunnels to TLS ports only.
#[tokio::test]
async fn plain_http_requests_are_forwarded_by_the_proxy() {
    let server = ApiServer::builder().plain_http().start().await.unwrap();
    for (must, user) in [(None, ""), (Some(ADA), "ada:p%40ss@")] {
        let proxy = Server::start(Protocol::Http(must)).await;
        let mut config = config(&server);
        config.proxy = through(&format!("http://{user}{}", proxy.address));
        assert_eq!(send(&config).await.unwrap(), StatusCode::OK);
        assert_eq!(proxy.seen(), [format!("GET http://{}/version?x=y HTTP/1.1", server.address())]);

        config.proxy = through(&format!("http://stranger:x@{}", proxy.address));
        let expected = StatusCode::PROXY_AUTHENTICATION_REQUIRED;
        assert_eq!(send(&config).await.unwrap(), expected, "the proxy's own response");
    }
    let proxy = Server::start(Protocol::Socks(None)).await;
    let mut config = config(&server);
    config.proxy = through(&format!("socks5://{}", proxy.address));
    assert_eq!(send(&config).await.unwrap(), StatusCode::OK);
    assert_eq!(proxy.seen(), [format!("SOCKS {}", server.address())]);
    server.stop().await;
}

#[tokio::test]
async fn a_kubeconfig_sets_proxy_and_server_name() {
    let server = ApiServer::builder().start().await.unwrap();
    let proxy = Server::start(Protocol::Http(Some(ADA))).await;
    let directory = tempfile::tempdir().unwrap();
    let (authority, file) = (directory.path().join("ca.crt"), directory.path().join("config"));
    std::fs::write(&authority, server.ca_pem().unwrap()).unwrap();
    let text = format!(
        "apiVersion: v1
kind: Config
current-context: x
contexts: [{{name: x, context: {{cluster: c, user: u}}}}]
clusters: [{{name: c, cluster: {{server: '{}', certificate-authority: ca.crt,
  proxy-url: 'http://ada:p%40ss@{}', tls-server-name: kubernetes}}}}]
users: [{{name: u, user: {{token: {}}}}}]
",
        server.url(),
        proxy.address,
        server.token()
    );
    std::fs::write(&file, text).unwrap();
    let config = Config::load(&Sources::File(file), &Overrides::default()).unwrap();
    assert_eq!(send(&config).await.unwrap(), StatusCode::OK);
    assert_eq!(proxy.seen(), [format!("CONNECT {} HTTP/1.1", server.address())]);
    server.stop().await;
}
