//! Where the service listens, whom it waits for, and how it stops.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use watchkeeper_apiserver::http::{Authority, Identity};
use watchkeeper_web::listen::{ConnectionLimits, LIMITS, ServeError, Tls};
use watchkeeper_web::{Options, Server};

use crate::world::{Answer, LONG, World, short};

const GET: &[u8] = b"GET /ping HTTP/1.1\r\nHost: localhost\r\n\r\n";

#[tokio::test]
async fn the_address_is_known_before_anybody_is_answered() {
    let world = World::start(Options::default()).await;
    let server = Server::bind(&world.service, Options::default()).await.unwrap();
    assert!(server.address().port() > 0);
    assert_eq!(server.url(), format!("http://{}", server.address()));
    let taken = Server::bind(&world.service, Options::new(server.address())).await.unwrap_err();
    assert!(matches!(taken, ServeError::Listen(_)), "{taken}");
    world.stop().await;
}

#[tokio::test]
async fn beyond_loopback_there_is_no_listening_without_tls() {
    let world = World::start(Options::default()).await;
    let error = Server::bind(&world.service, Options::new(([0, 0, 0, 0], 0).into())).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "0.0.0.0:0 is not on loopback: to listen there, say --tls-cert and --tls-key; every request needs a token then"
    );
    world.stop().await;
}

#[tokio::test]
async fn what_is_wrong_with_options_is_said() {
    let world = World::start(Options::default()).await;
    let bind = async |options| Server::bind(&world.service, options).await.unwrap_err().to_string();
    let host = bind(Options::default().allow_host("no host")).await;
    assert_eq!(host, r#""no host" is no host: say --allow-host with a name or an address"#);
    let none = Tls::Files { certificate: "/nonexistent/tls.crt".into(), key: "/nonexistent/tls.key".into() };
    assert_eq!(bind(Options::default().tls(none)).await, "/nonexistent/tls.crt cannot be read");
    let empty = Tls::Pem { certificate: String::new(), key: "".into() };
    assert!(bind(Options::default().tls(empty)).await.ends_with("there is no certificate"));
    world.stop().await;
}

#[tokio::test]
async fn who_trickles_a_request_is_cut_off() {
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
    timeout(LONG, trickle).await.expect("a slow client is waited for");
    assert!(begun.elapsed() >= Duration::from_millis(300));
    world.stop().await;
}

#[tokio::test]
async fn who_says_nothing_is_cut_off() {
    let world = World::start(Options::default().limits(short())).await;
    let mut silent = TcpStream::connect(world.address()).await.unwrap();
    let mut half = TcpStream::connect(world.address()).await.unwrap();
    half.write_all(b"GET /ping HT").await.unwrap();
    for stream in [&mut silent, &mut half] {
        timeout(LONG, stream.read_to_end(&mut Vec::new())).await.expect("it is waited for").unwrap();
    }
    world.stop().await;
}

#[tokio::test]
async fn a_head_has_a_longest() {
    let world = World::start(Options::default()).await;
    let many: String = (0..200).map(|number| format!("X-{number}: a\r\n")).collect();
    let long = format!("X: {}\r\n", "a".repeat(LIMITS.head_bytes * 2));
    for lines in [many, long] {
        let mut stream = TcpStream::connect(world.address()).await.unwrap();
        let request = format!("GET /ping HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{lines}\r\n");
        let _ = stream.write_all(request.as_bytes()).await; // it may be closed half-way
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
    let limits = ConnectionLimits { connections: 1, head: LONG, ..LIMITS };
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
async fn an_idle_connection_does_not_keep_a_server_from_stopping() {
    let world = World::start(Options::default()).await;
    let mut idle = TcpStream::connect(world.address()).await.unwrap();
    idle.write_all(GET).await.unwrap();
    idle.read_u8().await.unwrap();
    let begun = Instant::now();
    world.stop().await;
    assert!(begun.elapsed() < LIMITS.drain);
    timeout(LONG, idle.read_to_end(&mut Vec::new())).await.expect("it is still open").unwrap();
}

/// A server's certificate, and who believes it.
fn identity() -> (Authority, Identity) {
    let authority = Authority::generate().unwrap();
    let identity = authority.vouch_for_server(&[]).unwrap();
    (authority, identity)
}

#[tokio::test]
async fn tls_speaks_both_protocols() {
    let (authority, Identity { certificate, key, .. }) = identity();
    let world = World::start(Options::default().tls(Tls::Pem { certificate, key: key.into() })).await;
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.certificate().as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_root_certificates(roots).with_no_client_auth();
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
        let request = http::Request::get(uri).body(http_body_util::Empty::<bytes::Bytes>::new()).unwrap();
        assert_eq!(send.send_request(request).await.unwrap().status(), expected, "{uri}");
    }
    drop(send);
    timeout(LONG, connection).await.unwrap().unwrap().unwrap();
    world.stop().await;
}
