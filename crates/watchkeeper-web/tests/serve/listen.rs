//! Listening, connection limits and shutdown.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty};
use hyper::client::conn::http1::SendRequest;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use watchkeeper_apiserver::http::{Authority, Identity};
use watchkeeper_web::listen::{ConnectionLimits, DEFAULT_LIMITS, ServeError, Tls};
use watchkeeper_web::{Options, Server};

use crate::world::{Answer, LONG, World, short};

const GET: &[u8] = b"GET /ping HTTP/1.1\r\nHost: localhost\r\n\r\n";

#[tokio::test]
async fn address_is_known_before_requests_are_answered() {
    let world = World::start(Options::default()).await;
    let server = Server::bind(&world.service, Options::default()).await.unwrap();
    assert!(server.address().port() > 0);
    assert_eq!(server.url(), format!("http://{}", server.address()));
    let taken = Server::bind(&world.service, Options::new(server.address())).await.unwrap_err();
    assert!(matches!(taken, ServeError::Listen(_)), "{taken}");
    world.stop().await;
}

#[tokio::test]
async fn non_loopback_addresses_require_tls() {
    let world = World::start(Options::default()).await;
    let error = Server::bind(&world.service, Options::new(([0, 0, 0, 0], 0).into())).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "0.0.0.0:0 is not a loopback address; listening there requires --tls-cert and --tls-key, and a token with every request"
    );
    world.stop().await;
}

#[tokio::test]
async fn invalid_options_are_reported() {
    let world = World::start(Options::default()).await;
    let bind = async |options| Server::bind(&world.service, options).await.unwrap_err().to_string();
    let host = bind(Options::default().allow_host("no host")).await;
    assert_eq!(host, r#"invalid host "no host"; --allow-host takes a name or an IP address"#);
    let none = Tls::Files { certificate: "/nonexistent/tls.crt".into(), key: "/nonexistent/tls.key".into() };
    assert_eq!(bind(Options::default().tls(none)).await, "failed to read /nonexistent/tls.crt");
    let empty = Tls::Pem { certificate: String::new(), key: "".into() };
    assert!(bind(Options::default().tls(empty)).await.ends_with("no certificate found"));
    world.stop().await;
}

#[tokio::test]
async fn slow_request_heads_are_cut() {
    let world = World::start(Options::default().limits(short())).await;
    let mut stream = TcpStream::connect(world.address()).await.unwrap();
    let begun = Instant::now();
    let trickle = async {
        for byte in b"GET /ping HTTP/1.1\r\nHost: localhost\r\nX: ".iter().chain(std::iter::repeat(&b'a')) {
            if stream.write_all(&[*byte]).await.is_err() {
                break;
            }
            let closed = timeout(Duration::from_millis(5), stream.readable()).await;
            if closed.is_ok() && !matches!(stream.try_read(&mut [0; 512]), Ok(count) if count > 0) {
                break;
            }
        }
    };
    timeout(LONG, trickle).await.expect("the server waits for a slow client");
    assert!(begun.elapsed() >= Duration::from_millis(300));
    world.stop().await;
}

#[tokio::test]
async fn silent_connections_are_cut() {
    let world = World::start(Options::default().limits(short())).await;
    let mut silent = TcpStream::connect(world.address()).await.unwrap();
    let mut half = TcpStream::connect(world.address()).await.unwrap();
    half.write_all(b"GET /ping HT").await.unwrap();
    for stream in [&mut silent, &mut half] {
        timeout(LONG, stream.read_to_end(&mut Vec::new()))
            .await
            .expect("silent connection still open")
            .unwrap();
    }
    world.stop().await;
}

#[tokio::test]
async fn request_heads_are_limited() {
    let world = World::start(Options::default()).await;
    let many: String = (0..200).map(|number| format!("X-{number}: a\r\n")).collect();
    let long = format!("X: {}\r\n", "a".repeat(DEFAULT_LIMITS.head_bytes * 2));
    for lines in [many, long] {
        let mut stream = TcpStream::connect(world.address()).await.unwrap();
        let request = format!("GET /ping HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{lines}\r\n");
        let _ = stream.write_all(request.as_bytes()).await; // the server may close the connection first
        let mut bytes = Vec::new();
        let _ = timeout(LONG, stream.read_to_end(&mut bytes)).await.expect("no end");
        assert!(
            bytes.is_empty() || Answer::read(&bytes).status == 431,
            "{}",
            String::from_utf8_lossy(&bytes)
        );
    }
    world.stop().await;
}

#[tokio::test]
async fn connections_beyond_the_limit_wait() {
    let limits = ConnectionLimits { connections: 1, head: LONG, ..DEFAULT_LIMITS };
    let world = World::start(Options::default().limits(limits)).await;
    let mut first = TcpStream::connect(world.address()).await.unwrap();
    first.write_all(GET).await.unwrap();
    first.read_u8().await.unwrap();
    let mut second = TcpStream::connect(world.address()).await.unwrap();
    second.write_all(GET).await.unwrap();
    assert!(timeout(Duration::from_millis(200), second.read_u8()).await.is_err());
    drop(first);
    timeout(LONG, second.read_u8()).await.expect("it is still waiting").unwrap();
    world.stop().await;
}

#[tokio::test]
async fn idle_connections_do_not_delay_shutdown() {
    let world = World::start(Options::default()).await;
    let mut idle = TcpStream::connect(world.address()).await.unwrap();
    idle.write_all(GET).await.unwrap();
    idle.read_u8().await.unwrap();
    let begun = Instant::now();
    world.stop().await;
    assert!(begun.elapsed() < DEFAULT_LIMITS.drain);
    timeout(LONG, idle.read_to_end(&mut Vec::new())).await.expect("it is still open").unwrap();
}

/// Creates an authority and a server certificate.
fn identity() -> (Authority, Identity) {
    let authority = Authority::generate().unwrap();
    let identity = authority.sign_server(&[]).unwrap();
    (authority, identity)
}

/// Creates a TLS client that trusts these authorities.
fn trusting(authorities: &[&Authority]) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    for authority in authorities {
        roots.add(CertificateDer::from_pem_slice(authority.certificate().as_bytes()).unwrap()).unwrap();
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    config.with_root_certificates(roots).with_no_client_auth()
}

#[tokio::test]
async fn tls_supports_http1_and_http2() {
    let (authority, Identity { certificate, key, .. }) = identity();
    let world = World::start(Options::default().tls(Tls::Pem { certificate, key: key.into() })).await;
    let config = trusting(&[&authority]);
    for protocol in [&b"h2"[..], b"http/1.1"] {
        let mut config = config.clone();
        config.alpn_protocols = vec![protocol.to_vec()];
        let stream = TcpStream::connect(world.address()).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let mut stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(protocol));
        if protocol == b"http/1.1" {
            stream
                .write_all(b"GET /ping HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                .await
                .unwrap();
            let mut bytes = Vec::new();
            stream.read_to_end(&mut bytes).await.unwrap();
            assert_eq!(Answer::read(&bytes).status, 200);
        }
    }
    world.stop().await;
}

#[tokio::test]
async fn http_2_is_known_by_its_first_words_without_tls() {
    let world = World::start(Options::default()).await;
    let stream = TcpStream::connect(world.address()).await.unwrap();
    let (mut send, connection) = hyper::client::conn::http2::handshake(
        hyper_util::rt::TokioExecutor::new(),
        hyper_util::rt::TokioIo::new(stream),
    )
    .await
    .unwrap();
    let connection = tokio::spawn(connection);
    for (uri, expected) in [("http://localhost/ping", 200), ("http://evil.example/ping", 421)] {
        let request = http::Request::get(uri).body(Empty::<Bytes>::new()).unwrap();
        assert_eq!(send.send_request(request).await.unwrap().status(), expected, "{uri}");
    }
    drop(send);
    timeout(LONG, connection).await.unwrap().unwrap().unwrap();
    world.stop().await;
}

/// An open TLS connection.
struct Open {
    certificate: CertificateDer<'static>,
    sender: SendRequest<Empty<Bytes>>,
}

impl Open {
    async fn to(world: &World, config: ClientConfig) -> Self {
        let stream = TcpStream::connect(world.address()).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap();
        let certificate = stream.get_ref().1.peer_certificates().unwrap()[0].clone();
        let (sender, connection) =
            hyper::client::conn::http1::handshake(hyper_util::rt::TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        Self { certificate, sender }
    }

    /// Returns whether the server used this certificate.
    fn is_by(&self, identity: &Identity) -> bool {
        self.certificate == CertificateDer::from_pem_slice(identity.certificate.as_bytes()).unwrap()
    }

    async fn ping(&mut self) {
        let request = http::Request::get("/ping").header("host", "localhost").body(Empty::new()).unwrap();
        let answer = self.sender.send_request(request).await.unwrap();
        assert_eq!(answer.status(), 200);
        answer.into_body().collect().await.unwrap();
        self.sender.ready().await.unwrap();
    }
}

#[tokio::test]
async fn replaced_certificates_are_served_and_invalid_ones_are_not() {
    let home = tempfile::tempdir().unwrap();
    let (certificate, key) = (home.path().join("tls.crt"), home.path().join("tls.key"));
    let write = |identity: &Identity| {
        std::fs::write(&certificate, &identity.certificate).unwrap();
        std::fs::write(&key, &identity.key).unwrap();
    };
    let ((old_authority, old), (new_authority, new)) = (identity(), identity());
    write(&old);
    let files = Tls::Files { certificate: certificate.clone(), key: key.clone() };
    let world = World::start(Options::default().tls(files)).await;
    // A resumed TLS session shows no certificate, so every connection starts a new one.
    let connect = async || Open::to(&world, trusting(&[&old_authority, &new_authority])).await;
    let mut before = connect().await;
    assert!(before.is_by(&old));
    before.ping().await;

    std::fs::write(&certificate, &new.certificate).unwrap(); // while the key is still the old one
    assert!(connect().await.is_by(&old));
    std::fs::write(&key, "half a k").unwrap();
    assert!(connect().await.is_by(&old));
    std::fs::remove_file(&key).unwrap();
    let mut during = connect().await;
    assert!(during.is_by(&old));
    during.ping().await;

    write(&new);
    let mut after = connect().await;
    assert!(after.is_by(&new));
    for connection in [&mut before, &mut during, &mut after] {
        connection.ping().await;
    }
    std::fs::write(&certificate, "").unwrap();
    assert!(connect().await.is_by(&new));
    world.stop().await;
}
