//! The HTTP handler chain over real sockets, with both protocols.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod authentication;
mod lifecycle;
mod limits;
mod protocols;

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
struct TestHandler {
    /// A request for `/block` reports that it has started, and waits to be released.
    blocked: Arc<Notify>,
    release: Arc<Semaphore>,
}

impl Handler for TestHandler {
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
    handler: TestHandler,
    stop: CancellationToken,
    run: JoinHandle<()>,
}

/// Settings that differ from the defaults.
#[derive(Default)]
struct Options {
    plain: bool,
    requests: Option<RequestLimits>,
    connections: Option<ConnectionLimits>,
}

impl Server {
    async fn start(options: Options) -> Self {
        let authority = Arc::new(Authority::generate().unwrap());
        let security = match options.plain {
            true => Security::Plain,
            false => Security::Tls(authority.serve(&authority.sign_server(&[]).unwrap()).unwrap()),
        };
        let listener = Listener::bind(([127, 0, 0, 1], 0).into(), security).await.unwrap();
        let listener = listener.limits(options.connections.unwrap_or_default());
        let address = listener.address();
        let authenticator = Authenticator::default()
            .token("master", User::new("admin", [MASTERS]))
            .token("user", User::new("jo", ["dev"]));
        let handler = TestHandler { blocked: Arc::default(), release: Arc::new(Semaphore::new(0)) };
        let chain =
            HandlerChain::new(handler.clone(), authenticator).limits(options.requests.unwrap_or_default());
        let stop = CancellationToken::new();
        let run = tokio::spawn(listener.run(chain, stop.clone()));
        Self { address, authority, handler, stop, run }
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
