//! Untrusted servers and TLS failures.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use watchkeeper_apiserver::server::ApiServer;
use watchkeeper_client::Config;
use watchkeeper_client::config::{Authorities, Proxy};
use watchkeeper_client::rest::RequestError;
use watchkeeper_core::ErrorChain;
use watchkeeper_testkit::{Direction, FaultProxy, NetworkFault};

use super::scripted::{Act, plain, read_request, response};
use super::{core, support, with_cause};

/// Returns the TLS error of `GET /version`, which must fail without a retry.
async fn tls_error(config: &Config) -> String {
    let started = Instant::now();
    let error = core(config).get().abs_path("/version").send().await.unwrap_err();
    assert!(started.elapsed() < Duration::from_millis(900), "{error} was retried");
    assert!(matches!(error, RequestError::Transport { .. }) && !error.may_have_happened(), "{error:?}");
    let start =
        format!("GET /version failed: TLS handshake with {} failed: ", config.server.authority().unwrap());
    let text = ErrorChain(&error).to_string();
    text.strip_prefix(&start).unwrap_or_else(|| panic!("{text}")).to_owned()
}

#[tokio::test]
async fn a_server_of_another_authority_is_rejected() {
    let server = ApiServer::builder().start().await.unwrap();
    let other = ApiServer::builder().start().await.unwrap();
    let mut config = support::config(&server);
    config.authorities = Authorities::Pem(other.ca_pem().unwrap().to_owned());
    let why = tls_error(&config).await;
    assert!(why.contains("BadSignature") || why.contains("UnknownIssuer"), "{why}");
    other.stop().await;
    server.stop().await;
}

#[tokio::test]
async fn the_expected_server_name_can_differ_from_the_address() {
    let server = ApiServer::builder().start().await.unwrap();
    let mut config = support::config(&server);
    config.tls_server_name = Some("kubernetes.default.svc".to_owned());
    core(&config).get().abs_path("/version").send().await.unwrap();
    config.tls_server_name = Some("elsewhere.example".to_owned());
    let why = tls_error(&config).await;
    assert!(why.contains("elsewhere.example"), "{why}");
    server.stop().await;
}

/// A server whose certificate for 127.0.0.1 is valid in these years; returns its address and authority.
async fn server_valid_in(from: i32, to: i32) -> (SocketAddr, String) {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let authority = params.self_signed(&key).unwrap().pem();
    let issuer = Issuer::new(params, key);
    let mut params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    (params.not_before, params.not_after) = (date_time_ymd(from, 1, 1), date_time_ymd(to, 1, 1));
    let key = KeyPair::generate().unwrap();
    let certificate = params.signed_by(&key, &issuer).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from(certificate.der().to_vec())],
            PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        )
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            if let Act::Send(bytes) = response(200, "", "{}")
                && read_request(&mut stream).await
            {
                let _ = stream.write_all(&bytes).await; // the client may be gone
            }
        }
    });
    (address, authority)
}

#[tokio::test]
async fn a_certificate_is_rejected_outside_its_validity_period() {
    for (from, to, expected) in [(2000, 2001, "Expired"), (2900, 2901, "NotValidYet"), (2000, 2900, "")] {
        let (address, authority) = server_valid_in(from, to).await;
        let mut config = Config::new(format!("https://{address}").parse().unwrap());
        config.proxy = Proxy::Direct;
        config.authorities = Authorities::Pem(authority);
        match expected {
            "" => drop(core(&config).get().abs_path("/version").send().await.unwrap()),
            _ => {
                let why = tls_error(&config).await.to_lowercase().replace(' ', "");
                assert!(why.contains(&expected.to_lowercase()), "{why}");
                config.authorities = Authorities::SkipVerify; // insecure-skip-tls-verify ignores the dates
                core(&config).get().abs_path("/version").send().await.unwrap();
            }
        }
    }
}

#[tokio::test]
async fn plain_http_instead_of_tls_is_an_error() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            stream.read_u8().await.unwrap();
            stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\nspeak plainly").await.unwrap();
        }
    });
    let mut config = Config::new(format!("https://{address}").parse().unwrap());
    config.proxy = Proxy::Direct;
    let why = tls_error(&config).await;
    assert!(why.contains("InvalidContentType"), "{why}");
}

/// As in client-go, the TLS handshake has its own timeout. The clock is paused once nothing arrives.
#[tokio::test]
async fn a_silent_tls_server_times_out_after_ten_seconds() {
    let server = ApiServer::builder().start().await.unwrap();
    let proxy = FaultProxy::start(server.address()).await.unwrap();
    proxy.inject_on_connect(NetworkFault::stall(Direction::Both));
    let mut config = support::config(&server);
    config.server = proxy.url(server.url()).parse().unwrap();
    let request = tokio::spawn(core(&config).get().abs_path("/version").send());
    proxy.stalled(1).await;
    tokio::time::pause();
    let started = tokio::time::Instant::now();
    let error = request.await.unwrap().unwrap_err();
    let after = started.elapsed();
    tokio::time::resume();
    let expected = format!("GET /version failed: connecting to {} timed out after 10s", proxy.address());
    assert_eq!(with_cause(&error), expected);
    assert!(after > Duration::from_secs(8) && after < Duration::from_millis(10_010), "{after:?}");
    proxy.stop().await;
    server.stop().await;
}

#[tokio::test]
async fn the_connect_timeout_is_configurable() {
    let server = ApiServer::builder().start().await.unwrap();
    let proxy = FaultProxy::start(server.address()).await.unwrap();
    proxy.inject_on_connect(NetworkFault::stall(Direction::Both));
    let mut config = support::config(&server);
    config.server = proxy.url(server.url()).parse().unwrap();
    config.connect_timeout = Duration::from_millis(250);
    let error = core(&config).get().abs_path("/version").send().await.unwrap_err();
    let expected = format!("GET /version failed: connecting to {} timed out after 0.25s", proxy.address());
    assert_eq!(with_cause(&error), expected);
    assert!(!error.may_have_happened());
    proxy.stop().await;
    server.stop().await;
}

/// A TLS alert in response to plain HTTP is not retried.
#[tokio::test]
async fn tls_instead_of_plain_http_is_an_error() {
    let (address, _) = server_valid_in(2000, 2900).await;
    let started = Instant::now();
    let error = core(&plain(address)).get().abs_path("/version").send().await.unwrap_err();
    assert_eq!(with_cause(&error), "GET /version failed: invalid HTTP response");
    assert!(started.elapsed() < Duration::from_millis(900));
}
