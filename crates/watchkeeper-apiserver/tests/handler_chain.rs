//! The HTTP handler chain over real sockets, with both protocols.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http::{HeaderMap, Request as HttpRequest, Response as HttpResponse, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_util::sync::CancellationToken;
use watchkeeper_apiserver::http::*;
use watchkeeper_core::Status;

/// Responds by path, so that a test can choose what happens.
#[derive(Clone)]
struct Answers {
    /// A request for `/block` reports that it has started, and waits to be released.
    blocked: Arc<Notify>,
    release: Arc<Semaphore>,
}

impl Handler for Answers {
    async fn handle(&self, request: Request) -> Result<Response, Status> {
        match &request.target {
            Target::Path(path) => match path.as_str() {
                "/whoami" => {
                    let User { name, groups, .. } = &request.user;
                    Ok(Response::text(StatusCode::OK, format!("{name} {}", groups.join(","))))
                }
                "/block" => {
                    self.blocked.notify_one();
                    let permit = self.release.acquire().await.map_err(Status::internal_error)?;
                    permit.forget();
                    Ok(Response::text(StatusCode::OK, "released"))
                }
                "/large" => {
                    Ok(Response::encoded(StatusCode::OK, MediaType::JSON, vec![b' '; GZIP_BYTES + 1]))
                }
                "/panic" => panic!("as asked"),
                _ => Ok(Response::page_not_found()),
            },
            Target::Resource(resource) => match resource.verb {
                Verb::Watch => {
                    let options = ListOptions::read(&request.query)?;
                    let accepted = request.preferences.watch(&Offer::COLLECTION)?;
                    let event = Bytes::from("{\"type\":\"ADDED\",\"object\":{}}\n");
                    let events = stream::iter([Ok(event)]).chain(stream::pending());
                    let compressed = options.is_watch_list() && request.preferences.gzip;
                    Ok(Response::watch(accepted.media, compressed, events))
                }
                Verb::Create => {
                    let media = sent_object(&request.headers)?;
                    let body = request.body.read().await?;
                    let kind = watchkeeper_core::GroupVersionKind::new("", "v1", "ConfigMap");
                    let decoded = decode_object(&body, media, &kind, FieldValidation::Warn)?;
                    let accepted = request.preferences.object(&Offer::OBJECT)?;
                    let response =
                        Response::object(StatusCode::CREATED, accepted, &decoded.value, &kind.into())?;
                    Ok(response.with_warnings(&decoded.warnings))
                }
                _ => Err(no_such_resource()),
            },
        }
    }
}

/// A running server, which is stopped and joined by [`stop`](Self::stop).
struct Server {
    address: std::net::SocketAddr,
    authority: Arc<Authority>,
    answers: Answers,
    stop: CancellationToken,
    run: JoinHandle<()>,
}

/// Settings that differ from the defaults.
#[derive(Default)]
struct Wishes {
    plain: bool,
    requests: Option<RequestLimits>,
    connections: Option<ConnectionLimits>,
}

impl Server {
    async fn start(wishes: Wishes) -> Self {
        let authority = Arc::new(Authority::generate().unwrap());
        let security = match wishes.plain {
            true => Security::Plain,
            false => Security::Tls(authority.serve(&authority.sign_server(&[]).unwrap()).unwrap()),
        };
        let listener = Listener::bind(([127, 0, 0, 1], 0).into(), security).await.unwrap();
        let listener = listener.limits(wishes.connections.unwrap_or_default());
        let address = listener.address();
        let authenticator = Authenticator::default()
            .token("master", User::new("admin", [MASTERS]))
            .token("user", User::new("jo", ["dev"]));
        let answers = Answers { blocked: Arc::default(), release: Arc::new(Semaphore::new(0)) };
        let chain =
            HandlerChain::new(answers.clone(), authenticator).limits(wishes.requests.unwrap_or_default());
        let stop = CancellationToken::new();
        let run = tokio::spawn(listener.run(chain, stop.clone()));
        Self { address, authority, answers, stop, run }
    }

    async fn stop(self) {
        self.stop.cancel();
        self.run.await.unwrap();
    }

    async fn tls(
        &self,
        protocol: &str,
        identity: Option<&Identity>,
    ) -> tokio_rustls::client::TlsStream<TcpStream> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(self.authority.certificate().as_bytes()).unwrap()).unwrap();
        let config =
            ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let config = config.with_root_certificates(roots);
        let mut config = match identity {
            None => config.with_no_client_auth(),
            Some(identity) => {
                let chain = vec![CertificateDer::from_pem_slice(identity.certificate.as_bytes()).unwrap()];
                let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).unwrap();
                config.with_client_auth_cert(chain, key).unwrap()
            }
        };
        config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
        let stream = TcpStream::connect(self.address).await.unwrap();
        let name = ServerName::try_from("kubernetes.default.svc").unwrap();
        TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap()
    }

    async fn connect(&self, protocol: &str, identity: Option<&Identity>) -> Client {
        Client::over(self.tls(protocol, identity).await, protocol).await
    }
}

/// One connection.
enum Client {
    Http1(hyper::client::conn::http1::SendRequest<Full<Bytes>>),
    Http2(hyper::client::conn::http2::SendRequest<Full<Bytes>>),
}

impl Client {
    async fn over(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, protocol: &str) -> Self {
        let io = TokioIo::new(stream);
        match protocol {
            "h2" => {
                let handshake = hyper::client::conn::http2::handshake(TokioExecutor::new(), io);
                let (sender, connection) = handshake.await.unwrap();
                tokio::spawn(connection);
                Self::Http2(sender)
            }
            _ => {
                let (sender, connection) = hyper::client::conn::http1::handshake(io).await.unwrap();
                tokio::spawn(connection);
                Self::Http1(sender)
            }
        }
    }

    async fn send(&mut self, request: HttpRequest<Full<Bytes>>) -> HttpResponse<Incoming> {
        match self {
            Self::Http1(sender) => sender.send_request(request).await.unwrap(),
            Self::Http2(sender) => sender.send_request(request).await.unwrap(),
        }
    }

    async fn get(&mut self, path: &str, headers: &[(&str, &str)]) -> (StatusCode, HeaderMap, String) {
        read(self.send(request("GET", path, headers, "")).await).await
    }
}

fn request(
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Bytes>,
) -> HttpRequest<Full<Bytes>> {
    let mut request = HttpRequest::builder().method(method).uri(format!("https://kubernetes{path}"));
    for (name, value) in headers.iter().chain(&[("host", "kubernetes")]) {
        request = request.header(*name, *value);
    }
    request.body(Full::new(body.into())).unwrap()
}

async fn read(response: HttpResponse<Incoming>) -> (StatusCode, HeaderMap, String) {
    let (head, body) = response.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    (head.status, head.headers, String::from_utf8_lossy(&body).into_owned())
}

const MASTER: (&str, &str) = ("authorization", "Bearer master");
const USER: (&str, &str) = ("authorization", "Bearer user");
const PROTOCOLS: [&str; 2] = ["http/1.1", "h2"];

#[tokio::test]
async fn both_protocols_are_served_over_tls() {
    let server = Server::start(Wishes::default()).await;
    for protocol in PROTOCOLS {
        let mut client = server.connect(protocol, None).await;
        let (code, headers, body) = client.get("/version", &[MASTER]).await;
        assert_eq!((code, &headers["content-type"]), (StatusCode::OK, &"application/json".parse().unwrap()));
        assert!(body.contains("\"gitVersion\": \"v1.37.1+watchkeeper\""), "{body}");
        assert_eq!(headers["cache-control"], "no-cache, private");
        assert_eq!(headers["audit-id"].len(), 36);
        let (code, headers, body) = client.get("/bogus", &[MASTER, ("audit-id", "mine")]).await;
        assert_eq!((code, body.as_str()), (StatusCode::NOT_FOUND, "404 page not found\n"));
        assert_eq!(headers["audit-id"], "mine");
        let (code, _, body) = client.get("/readyz?verbose", &[MASTER]).await;
        assert_eq!((code, body.as_str()), (StatusCode::OK, "[+]ping ok\nreadyz check passed\n"));
        let (code, _, _) = client.get("/api/v1/bogus", &[MASTER]).await;
        assert_eq!(code, StatusCode::NOT_FOUND);
        let (code, _, body) = client.get("/version", &[MASTER, ("accept", "application/yaml")]).await;
        assert_eq!(code, StatusCode::NOT_ACCEPTABLE);
        assert!(
            body.contains(
                "message: |-\n  406: Not Acceptable\n\n  Available representations: application/json\n"
            ),
            "{body}"
        );
    }
    server.stop().await;
}

#[tokio::test]
async fn unauthenticated_requests_are_refused_in_upstream_words() {
    let server = Server::start(Wishes::default()).await;
    let unauthorized = "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":\"Unauthorized\",\"reason\":\"Unauthorized\",\"code\":401}\n";
    for protocol in PROTOCOLS {
        for (path, headers) in [("/api", vec![]), ("/livez", vec![("authorization", "Bearer nope")])] {
            let mut client = server.connect(protocol, None).await;
            let (code, _, body) = client.get(path, &headers).await;
            assert_eq!((code.as_u16(), body.as_str()), (401, unauthorized), "{path}");
        }
        for path in ["/livez", "/readyz", "/healthz", "/version"] {
            let mut client = server.connect(protocol, None).await;
            assert_eq!(client.get(path, &[]).await.0, StatusCode::OK, "{path}");
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn a_client_authenticates_with_a_certificate_or_a_token() {
    let server = Server::start(Wishes::default()).await;
    let identity = server.authority.sign_client("jane", &["dev", "ops"]).unwrap();
    for protocol in PROTOCOLS {
        let mut client = server.connect(protocol, Some(&identity)).await;
        assert_eq!(client.get("/whoami", &[]).await.2, "jane dev,ops,system:authenticated");
        let mut client = server.connect(protocol, None).await;
        assert_eq!(client.get("/whoami", &[USER]).await.2, "jo dev,system:authenticated");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_certificate_of_somebody_elses_is_refused() {
    let server = Server::start(Wishes::default()).await;
    let identity = Authority::generate().unwrap().sign_client("mallory", &[MASTERS]).unwrap();
    let mut stream = server.tls("http/1.1", Some(&identity)).await;
    let _ = stream.write_all(b"GET /whoami HTTP/1.1\r\nhost: x\r\n\r\n").await;
    let mut answer = Vec::new();
    assert!(stream.read_to_end(&mut answer).await.is_err(), "{answer:?}");
    server.stop().await;
}

#[tokio::test]
async fn objects_are_read_and_returned_in_any_encoding() {
    let server = Server::start(Wishes::default()).await;
    let path = "/api/v1/namespaces/x/configmaps";
    for protocol in PROTOCOLS {
        let mut client = server.connect(protocol, None).await;
        let headers = [MASTER, ("content-type", "application/yaml"), ("accept", "application/yaml")];
        let (code, headers, body) =
            read(client.send(request("POST", path, &headers, "data: {a: b}\nbogus: 1\n")).await).await;
        assert_eq!(code, StatusCode::CREATED);
        assert_eq!(headers["warning"], "299 - \"unknown field \\\"bogus\\\"\"");
        assert_eq!(body, "apiVersion: v1\ndata:\n  a: b\nkind: ConfigMap\n");
        let headers = [MASTER, ("content-type", "text/plain")];
        let (code, _, _) = read(client.send(request("POST", path, &headers, "x")).await).await;
        assert_eq!(code, StatusCode::UNSUPPORTED_MEDIA_TYPE);
    }
    server.stop().await;
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused() {
    let server = Server::start(Wishes::default()).await;
    for protocol in PROTOCOLS {
        let mut client = server.connect(protocol, None).await;
        let body = vec![b'x'; BodyLimits::DEFAULT.bytes + 1];
        let response = client.send(request("POST", "/api/v1/namespaces/x/configmaps", &[MASTER], body)).await;
        let (code, _, body) = read(response).await;
        assert_eq!(code, StatusCode::PAYLOAD_TOO_LARGE);
        assert!(body.contains("\"message\":\"Request entity too large: limit is 3145728\""), "{body}");
    }
    server.stop().await;
}

#[tokio::test]
async fn large_answers_are_compressed() {
    let server = Server::start(Wishes::default()).await;
    for protocol in PROTOCOLS {
        let mut client = server.connect(protocol, None).await;
        let (_, headers, body) = client.get("/large", &[MASTER, ("accept-encoding", "gzip")]).await;
        assert_eq!(
            (&headers["content-encoding"], &headers["vary"]),
            (&"gzip".parse().unwrap(), &"Accept-Encoding".parse().unwrap())
        );
        assert!(body.len() < 1024);
        let (_, headers, body) = client.get("/large", &[MASTER]).await;
        assert!(!headers.contains_key("content-encoding"));
        assert_eq!(body.len(), GZIP_BYTES + 1);
    }
    server.stop().await;
}

/// A connection without TLS, to which a test writes raw bytes.
async fn raw(server: &Server, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    stream
}

/// Returns what the server sends before it closes the connection.
async fn until_closed(mut stream: TcpStream) -> String {
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await; // a reset counts as an end too
    String::from_utf8_lossy(&answer).into_owned()
}

const SHORT: Duration = Duration::from_millis(50);

#[tokio::test]
async fn a_client_that_does_not_send_its_head_is_cut_off() {
    let connections = Some(ConnectionLimits { head: SHORT, ..Default::default() });
    let server = Server::start(Wishes { plain: true, connections, ..Default::default() }).await;
    for begin in ["", "GET /livez HT"] {
        let answer = until_closed(raw(&server, begin).await).await;
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 408"), "{answer}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_client_that_does_not_send_its_body_is_cut_off() {
    let body = BodyLimits { idle: SHORT, ..Default::default() };
    let requests = Some(RequestLimits { body, ..Default::default() });
    let server = Server::start(Wishes { plain: true, requests, ..Default::default() }).await;
    let head = "POST /api/v1/namespaces/x/configmaps HTTP/1.1\r\nhost: x\r\nauthorization: Bearer user\r\ncontent-length: 10\r\n\r\n{";
    let answer = until_closed(raw(&server, head).await).await;
    assert!(answer.starts_with("HTTP/1.1 504"), "{answer}");
    assert!(answer.contains("request did not complete within requested timeout"), "{answer}");
    server.stop().await;
}

#[tokio::test]
async fn a_client_that_does_not_finish_its_handshake_is_cut_off() {
    let connections = Some(ConnectionLimits { handshake: SHORT, ..Default::default() });
    let server = Server::start(Wishes { connections, ..Default::default() }).await;
    assert_eq!(until_closed(raw(&server, "").await).await, "");
    server.stop().await;
}

#[tokio::test]
async fn a_client_that_opens_http2_and_asks_nothing_is_cut_off() {
    let connections = Some(ConnectionLimits { head: SHORT, ..Default::default() });
    let server = Server::start(Wishes { connections, ..Default::default() }).await;
    let begun = std::time::Instant::now();
    let mut stream = server.tls("h2", None).await;
    let mut answer = Vec::new();
    let closed = tokio::time::timeout(Duration::from_secs(30), stream.read_to_end(&mut answer)).await;
    assert!(closed.is_ok(), "the connection stays open");
    assert!(begun.elapsed() >= SHORT, "closed before the time was over");
    server.stop().await;
}

#[tokio::test]
async fn a_head_that_is_too_large_is_refused() {
    let connections = Some(ConnectionLimits { head_bytes: 8 << 10, ..Default::default() });
    let server = Server::start(Wishes { plain: true, connections, ..Default::default() }).await;
    let head = format!("GET /livez HTTP/1.1\r\nhost: x\r\nx: {}\r\n\r\n", "x".repeat(16 << 10));
    let answer = until_closed(raw(&server, &head).await).await;
    assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
    server.stop().await;
}

#[tokio::test]
async fn requests_beyond_the_limit_get_a_429() {
    let requests = Some(RequestLimits { reads: 1, ..Default::default() });
    let server = Server::start(Wishes { requests, ..Default::default() }).await;
    let mut first = server.connect("h2", None).await;
    let blocked = tokio::spawn(async move { first.get("/block", &[USER]).await.2 });
    server.answers.blocked.notified().await;

    let mut client = server.connect("http/1.1", None).await;
    let (code, headers, body) = client.get("/whoami", &[USER]).await;
    assert_eq!((code.as_u16(), body.as_str()), (429, "Too many requests, please try again later.\n"));
    assert_eq!(
        (&headers["retry-after"], &headers["content-type"]),
        (&"1".parse().unwrap(), &"text/plain; charset=utf-8".parse().unwrap())
    );
    assert_eq!(client.get("/whoami", &[MASTER]).await.0, StatusCode::OK); // masters are exempt
    assert_eq!(client.get("/livez", &[USER]).await.0, StatusCode::OK);
    let watch = client.send(request("GET", "/api/v1/pods?watch=1", &[USER], "")).await;
    assert_eq!(watch.status(), StatusCode::OK); // watches are not counted

    server.answers.release.add_permits(1);
    assert_eq!(blocked.await.unwrap(), "released");
    let mut client = server.connect("http/1.1", None).await;
    assert_eq!(client.get("/whoami", &[USER]).await.0, StatusCode::OK);
    server.stop().await;
}

#[tokio::test]
async fn a_request_that_takes_too_long_times_out() {
    let server = Server::start(Wishes::default()).await;
    let mut client = server.connect("h2", None).await;
    let (code, _, body) = client.get("/block?timeout=20ms", &[USER]).await;
    assert_eq!(code, StatusCode::GATEWAY_TIMEOUT);
    assert!(body.contains("Timeout: request did not complete within the allotted timeout"), "{body}");
    let (code, _, body) = client.get("/block?timeout=x", &[USER]).await;
    assert_eq!(code, StatusCode::BAD_REQUEST);
    assert!(body.contains("invalid timeout specified in the request URL"), "{body}");
    server.stop().await;
}

#[tokio::test]
async fn a_stop_ends_watches_cleanly_and_joins_everything() {
    for protocol in PROTOCOLS {
        for headers in [vec![MASTER], vec![MASTER, ("accept-encoding", "gzip")]] {
            let server = Server::start(Wishes::default()).await;
            let mut client = server.connect(protocol, None).await;
            let path = "/api/v1/pods?watch=1&allowWatchBookmarks=true";
            let mut watch = client.send(request("GET", path, &headers, "")).await;
            assert_eq!(watch.status(), StatusCode::OK);
            assert_eq!(watch.headers().contains_key("content-encoding"), headers.len() > 1);
            let event = watch.frame().await.unwrap().unwrap().into_data().unwrap();
            assert!(event.starts_with(if headers.len() > 1 { b"\x1f\x8b" } else { b"{\"type\"" }));
            let stopping = tokio::spawn(server.stop());
            let rest = watch.collect().await.expect("the stream ends, and does not break");
            assert_eq!(rest.to_bytes(), "");
            stopping.await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_stop_lets_requests_in_flight_finish() {
    for protocol in PROTOCOLS {
        let server = Server::start(Wishes::default()).await;
        let mut client = server.connect(protocol, None).await;
        let blocked = tokio::spawn(async move { client.get("/block", &[USER]).await.2 });
        server.answers.blocked.notified().await;
        server.stop.cancel();
        server.answers.release.add_permits(1);
        assert_eq!(blocked.await.unwrap(), "released");
        server.stop().await;
    }
}

#[tokio::test]
async fn a_stop_does_not_wait_forever() {
    for protocol in PROTOCOLS {
        let connections = Some(ConnectionLimits { drain: SHORT, ..Default::default() });
        let server = Server::start(Wishes { connections, ..Default::default() }).await;
        let mut client = server.connect(protocol, None).await;
        let blocked = tokio::spawn(async move {
            let request = request("GET", "/block", &[USER], "");
            match &mut client {
                Client::Http1(sender) => sender.send_request(request).await.is_err(),
                Client::Http2(sender) => sender.send_request(request).await.is_err(),
            }
        });
        server.answers.blocked.notified().await;
        server.stop().await;
        assert!(blocked.await.unwrap(), "the connection is cut off");
    }
}

#[tokio::test]
async fn connections_beyond_the_limit_wait_for_their_turn() {
    let connections = Some(ConnectionLimits { connections: 1, ..Default::default() });
    let server = Server::start(Wishes { plain: true, connections, ..Default::default() }).await;
    let ask = "GET /livez HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    let first = raw(&server, "").await;
    let second = raw(&server, ask).await;
    drop(first);
    assert!(until_closed(second).await.ends_with("\r\n\r\nok"));
    server.stop().await;
}

#[tokio::test]
async fn a_handler_panic_is_a_500_and_affects_no_other_request() {
    let server = Server::start(Wishes::default()).await;
    for protocol in ["http/1.1", "h2"] {
        let mut client = server.connect(protocol, None).await;
        let (code, _, body) = client.get("/panic", &[MASTER]).await;
        assert_eq!(code, StatusCode::INTERNAL_SERVER_ERROR);
        assert!(body.contains(r#""reason":"InternalError""#) && body.contains("panic"), "{body}");
        assert_eq!(client.get("/livez", &[MASTER]).await.0, StatusCode::OK);
    }
    server.stop().await;
}

#[tokio::test]
async fn a_refusal_before_the_body_is_read_reaches_the_client() {
    let server = Server::start(Wishes::default()).await;
    for protocol in ["http/1.1", "h2"] {
        let mut client = server.connect(protocol, None).await;
        for _ in 0..20 {
            let sent = client.send(request("POST", "/nothing", &[MASTER], vec![b'x'; 100_000])).await;
            let (code, _, body) = read(sent).await;
            assert_eq!((code, body.as_str()), (StatusCode::NOT_FOUND, "404 page not found\n"), "{protocol}");
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn plain_http_is_for_loopback_only() {
    let error = Listener::bind(([0, 0, 0, 0], 0).into(), Security::Plain).await.unwrap_err();
    assert!(matches!(error, ListenError::PlainBeyondLoopback { .. }), "{error}");
}

#[tokio::test]
async fn an_address_that_is_taken_is_an_error() {
    let taken = Listener::bind(([127, 0, 0, 1], 0).into(), Security::Plain).await.unwrap();
    let error = Listener::bind(taken.address(), Security::Plain).await.unwrap_err();
    assert!(matches!(error, ListenError::Bind { .. }), "{error}");
}

#[tokio::test]
async fn a_request_with_two_lengths_is_refused_and_its_connection_closed() {
    let server = Server::start(Wishes { plain: true, ..Default::default() }).await;
    let head = "POST /api/v1/namespaces/x/configmaps HTTP/1.1\r\nhost: x\r\nauthorization: Bearer master\r\n\
                content-type: application/json\r\n";
    let body = "2\r\n{}\r\n0\r\n\r\n";
    let hidden = "GET /whoami HTTP/1.1\r\nhost: x\r\nauthorization: Bearer master\r\n\r\n";
    for lengths in [
        "transfer-encoding: chunked\r\ncontent-length: 12\r\n",
        "content-length: 12\r\ntransfer-encoding: chunked\r\n",
        "Content-Length:12\r\nTransfer-Encoding:\tchunked\r\n",
    ] {
        for before in ["", "GET /version HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n"] {
            let text = format!("{before}{head}{lengths}\r\n{body}{hidden}");
            let answer = until_closed(raw(&server, &text).await).await;
            let refused = answer.find("HTTP/1.1 400 Bad Request\r\n").unwrap_or_else(|| panic!("{answer}"));
            assert_eq!(answer.matches("HTTP/1.1 ").count(), 1 + usize::from(!before.is_empty()), "{answer}");
            assert!(answer[refused..].contains("\r\nconnection: close\r\n"), "{answer}");
            assert!(
                answer.ends_with("400 Bad Request: both Transfer-Encoding and Content-Length\n"),
                "{answer}"
            );
        }
    }
    // A single length is valid, and bytes after a chunked request are not a second request.
    let text = format!("{head}transfer-encoding: chunked\r\n\r\n{body}{hidden}");
    let answer = until_closed(raw(&server, &text).await).await;
    assert!(answer.starts_with("HTTP/1.1 201 Created\r\n"), "{answer}");
    assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{answer}");
    server.stop().await;
}

#[tokio::test]
async fn wrong_tokens_of_an_address_are_delayed_and_valid_ones_are_not() {
    let server = Server::start(Wishes { plain: true, ..Default::default() }).await;
    let ask = |token: &str| {
        format!(
            "GET /whoami HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\r\n"
        )
    };
    for _ in 0..slowdown::FREE_REFUSALS + 2 {
        let answer = until_closed(raw(&server, &ask("wrong")).await).await;
        assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
    }
    let begun = std::time::Instant::now();
    // The next one is delayed four times as long as the first delayed one: a valid token overtakes it.
    let mut wrong = Box::pin(async { until_closed(raw(&server, &ask("wrong")).await).await });
    let right = async { until_closed(raw(&server, &ask("user")).await).await };
    tokio::select! {
        answer = &mut wrong => panic!("{answer}"),
        answer = right => assert!(answer.ends_with("jo dev,system:authenticated"), "{answer}"),
    }
    assert!(wrong.await.starts_with("HTTP/1.1 401 "));
    assert!(begun.elapsed() >= 4 * slowdown::FIRST_DELAY, "{:?}", begun.elapsed());
    server.stop().await;
}
