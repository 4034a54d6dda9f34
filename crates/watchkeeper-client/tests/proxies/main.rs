//! The ways to a server that lead through a proxy, and requests that ask for another protocol.
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

use servers::{Server, Speaks};
use support::config;

/// `ada:p@ss`, which a URL says as `ada:p%40ss`.
const ADA: &str = "Basic YWRhOnBAc3M=";

async fn ask(config: &Config) -> Result<StatusCode, TransportError> {
    let transport = Transport::from_config(config).unwrap();
    let request = Request::get("/version?x=y").body(Body::empty()).unwrap();
    let answer = transport.send(request).await?;
    let code = answer.status();
    answer.into_body().bytes().await.unwrap();
    Ok(code)
}

fn through(proxy: &str) -> Proxy {
    Proxy::Through(proxy.parse().unwrap())
}

#[tokio::test]
async fn a_proxy_of_http_is_asked_for_a_tunnel_with_and_without_credentials() {
    let server = ApiServer::builder().start().await.unwrap();
    for (must, user) in [(None, ""), (Some(ADA), "ada:p%40ss@")] {
        let proxy = Server::start(Speaks::Http(must)).await;
        let mut config = config(&server);
        config.proxy = through(&format!("http://{user}{}", proxy.address));
        assert_eq!(ask(&config).await.unwrap(), StatusCode::OK);
        assert_eq!(proxy.seen(), [format!("CONNECT {} HTTP/1.1", server.address())]);
    }
    server.stop().await;
}

/// As in Go, whoever vouches for the server may vouch for the proxy.
#[tokio::test]
async fn a_proxy_of_https_must_be_believed() {
    let server = ApiServer::builder().start().await.unwrap();
    let proxies = Authority::generate().unwrap();
    let identity = proxies.vouch_for_server(&[]).unwrap();
    let mut tls = (*proxies.serve(&identity).unwrap()).clone();
    tls.alpn_protocols.clear();
    let acceptor = TlsAcceptor::from(std::sync::Arc::new(tls));
    for (must, user) in [(None, ""), (Some(ADA), "ada:p%40ss@")] {
        let proxy = Server::start(Speaks::Https(acceptor.clone(), must)).await;
        let mut config = config(&server);
        config.proxy = through(&format!("https://{user}{}", proxy.address));
        let error = ask(&config).await.unwrap_err();
        let expected = format!("failed to connect to {} through proxy {}", server.address(), proxy.address);
        assert_eq!(error.to_string(), expected);
        assert!(proxy.seen().is_empty(), "nobody tells a stranger of a password");

        let both = format!("{}{}", proxies.certificate(), server.ca_pem().unwrap());
        config.authorities = Authorities::Pem(both);
        assert_eq!(ask(&config).await.unwrap(), StatusCode::OK);
        assert_eq!(proxy.seen(), [format!("CONNECT {} HTTP/1.1", server.address())]);
    }
    server.stop().await;
}

#[tokio::test]
async fn a_proxy_of_socks5_is_asked_with_and_without_credentials() {
    let server = ApiServer::builder().start().await.unwrap();
    for (must, user) in [(None, ""), (Some(("ada", "p@ss")), "ada:p%40ss@")] {
        let proxy = Server::start(Speaks::Socks(must)).await;
        let mut config = config(&server);
        config.proxy = through(&format!("socks5://{user}{}", proxy.address));
        assert_eq!(ask(&config).await.unwrap(), StatusCode::OK);
        assert_eq!(proxy.seen(), [format!("SOCKS {}", server.address())]);
    }
    server.stop().await;
}

#[tokio::test]
async fn a_proxy_that_refuses_is_named_without_its_password() {
    let server = ApiServer::builder().start().await.unwrap();
    for (scheme, speaks) in
        [("http", Speaks::Http(Some(ADA))), ("socks5", Speaks::Socks(Some(("ada", "p@ss"))))]
    {
        let proxy = Server::start(speaks).await;
        let mut config = config(&server);
        config.proxy = through(&format!("{scheme}://ada:wrong-password@{}", proxy.address));
        let error = ask(&config).await.unwrap_err();
        let expected = format!("failed to connect to {} through proxy {}", server.address(), proxy.address);
        assert_eq!(error.to_string(), expected);
        assert!(!error.was_sent() && !error.is_refused());
        let TransportError::Connect(connect) = &error else { panic!("{error:?}") };
        assert!(matches!(**connect, ConnectError::Proxy { .. }));
        let shown = format!("{error:?} {config:?} {:?}", Transport::from_config(&config).unwrap());
        assert!(!shown.contains("wrong-password") && shown.contains(&proxy.address.to_string()), "{shown}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_proxy_that_is_not_there_is_named() {
    let server = ApiServer::builder().start().await.unwrap();
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    for scheme in ["http", "https", "socks5"] {
        let mut config = config(&server);
        config.proxy = through(&format!("{scheme}://{gone}"));
        let error = ask(&config).await.unwrap_err();
        let expected = format!("failed to connect to {} through proxy {gone}", server.address());
        assert_eq!(error.to_string(), expected);
        assert!(!error.is_refused(), "the server was not even asked");
    }
    server.stop().await;
}

/// As in Go: a proxy may let tunnels through to ports of TLS only.
#[tokio::test]
async fn a_request_of_plain_http_is_sent_on_by_the_proxy() {
    let server = ApiServer::builder().plain_http().start().await.unwrap();
    for (must, user) in [(None, ""), (Some(ADA), "ada:p%40ss@")] {
        let proxy = Server::start(Speaks::Http(must)).await;
        let mut config = config(&server);
        config.proxy = through(&format!("http://{user}{}", proxy.address));
        assert_eq!(ask(&config).await.unwrap(), StatusCode::OK);
        assert_eq!(proxy.seen(), [format!("GET http://{}/version?x=y HTTP/1.1", server.address())]);

        config.proxy = through(&format!("http://stranger:x@{}", proxy.address));
        let expected = StatusCode::PROXY_AUTHENTICATION_REQUIRED;
        assert_eq!(ask(&config).await.unwrap(), expected, "here the proxy answers in the server's place");
    }
    let proxy = Server::start(Speaks::Socks(None)).await;
    let mut config = config(&server);
    config.proxy = through(&format!("socks5://{}", proxy.address));
    assert_eq!(ask(&config).await.unwrap(), StatusCode::OK);
    assert_eq!(proxy.seen(), [format!("SOCKS {}", server.address())]);
    server.stop().await;
}

#[tokio::test]
async fn a_kubeconfig_names_a_proxy_and_a_server_name() {
    let server = ApiServer::builder().start().await.unwrap();
    let proxy = Server::start(Speaks::Http(Some(ADA))).await;
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
    assert_eq!(ask(&config).await.unwrap(), StatusCode::OK);
    assert_eq!(proxy.seen(), [format!("CONNECT {} HTTP/1.1", server.address())]);
    server.stop().await;
}
