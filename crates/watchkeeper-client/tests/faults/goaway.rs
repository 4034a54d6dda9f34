//! HTTP/2 servers that close a connection or refuse a stream.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use watchkeeper_apiserver::http::Authority;
use watchkeeper_client::Config;
use watchkeeper_client::config::{Authorities, Proxy};
use watchkeeper_client::rest::{Request, RequestError, RetryPolicy};

use super::{core, with_cause};

/// HTTP/2 frame types.
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;

/// The server's reaction to a request.
#[derive(Debug, Clone, Copy)]
enum Act {
    /// Responds with 200 and `{}`.
    Respond,
    /// Sends GOAWAY with this last stream id; 0 if no request was processed.
    GoAway { after: u32, code: u32 },
    /// Resets the stream with this code.
    Reset { code: u32 },
}

struct Server {
    address: SocketAddr,
    authority: Authority,
    requests: Arc<AtomicUsize>,
}

impl Server {
    /// Performs one act per request, and repeats the last one.
    async fn start(acts: &'static [Act]) -> Self {
        let authority = Authority::generate().unwrap();
        let tls = authority.serve(&authority.sign_server(&[]).unwrap()).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(AtomicUsize::new(0));
        let count = requests.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let stream = TlsAcceptor::from(tls.clone()).accept(stream).await.unwrap();
                tokio::spawn(serve(stream, acts, count.clone()));
            }
        });
        Self { address, authority, requests }
    }

    fn config(&self) -> Config {
        let mut config = Config::new(format!("https://{}", self.address).parse().unwrap());
        config.authorities = Authorities::Pem(self.authority.certificate().to_owned());
        config.proxy = Proxy::Direct;
        config
    }

    fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

async fn serve(
    mut stream: TlsStream<TcpStream>,
    acts: &'static [Act],
    count: Arc<AtomicUsize>,
) -> Option<()> {
    stream.write_all(&frame(SETTINGS, 0, 0, &[])).await.ok()?;
    let mut preface = [0; 24];
    stream.read_exact(&mut preface).await.ok()?;
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).await.ok()?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; length as usize];
        stream.read_exact(&mut payload).await.ok()?;
        let id = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        match head[3] {
            SETTINGS if head[4] == 0 => stream.write_all(&frame(SETTINGS, 1, 0, &[])).await.ok()?,
            HEADERS => {
                let number = count.fetch_add(1, Ordering::SeqCst);
                match acts[number.min(acts.len() - 1)] {
                    Act::Respond => {
                        // :status 200, and content-type by its index in the static table.
                        let json = b"application/json";
                        let headers = [&[0x88, 0x5f, json.len() as u8], json.as_slice()].concat();
                        stream.write_all(&frame(HEADERS, 4, id, &headers)).await.ok()?;
                        stream.write_all(&frame(0, 1, id, b"{}")).await.ok()?;
                    }
                    Act::GoAway { after, code } => {
                        let payload = [after.to_be_bytes(), code.to_be_bytes()].concat();
                        stream.write_all(&frame(GOAWAY, 0, 0, &payload)).await.ok()?;
                        stream.shutdown().await.ok()?;
                    }
                    Act::Reset { code } => {
                        stream.write_all(&frame(RST_STREAM, 0, id, &code.to_be_bytes())).await.ok()?;
                    }
                }
                stream.flush().await.ok()?;
            }
            _ => {}
        }
    }
}

const NO_ERROR: u32 = 0;
const INTERNAL_ERROR: u32 = 2;
const REFUSED_STREAM: u32 = 7;
const ENHANCE_YOUR_CALM: u32 = 11;

const GONE: Act = Act::GoAway { after: 0, code: NO_ERROR };

fn post(server: &Server) -> Request {
    core(&server.config()).post().namespace("ns").resource("configmaps").object(&json!({}))
}

#[tokio::test]
async fn an_unprocessed_request_is_retried_on_another_connection_whatever_its_verb() {
    for acts in [
        &[GONE, Act::Respond],
        &[Act::GoAway { after: 0, code: ENHANCE_YOUR_CALM }, Act::Respond],
        &[Act::Reset { code: REFUSED_STREAM }, Act::Respond],
    ] {
        let server = Server::start(acts).await;
        let stored: Value =
            post(&server).retry_policy(RetryPolicy::NONE).send().await.unwrap().into().unwrap();
        assert_eq!((stored, server.requests()), (json!({}), 2), "{acts:?}");
    }
}

#[tokio::test]
async fn retries_of_unprocessed_requests_are_limited() {
    for acts in [&[GONE], &[Act::Reset { code: REFUSED_STREAM }]] {
        let server = Server::start(acts).await;
        let error = post(&server).send().await.unwrap_err();
        let expected =
            "POST /api/v1/namespaces/ns/configmaps failed: request was not processed by the server";
        assert_eq!((with_cause(&error).as_str(), server.requests()), (expected, 4), "{acts:?}");
        assert!(!error.may_have_happened());
    }
}

/// The request may have been processed.
#[tokio::test]
async fn a_request_that_may_have_been_processed_is_not_sent_twice() {
    for acts in [
        &[Act::GoAway { after: 1, code: NO_ERROR }, Act::Respond],
        &[Act::Reset { code: INTERNAL_ERROR }, Act::Respond],
    ] {
        let server = Server::start(acts).await;
        let error = post(&server).send().await.unwrap_err();
        let expected = "POST /api/v1/namespaces/ns/configmaps failed: connection lost before the response";
        assert_eq!((with_cause(&error).as_str(), server.requests()), (expected, 1), "{acts:?}");
        assert!(error.may_have_happened());

        // The REST client retries a GET, after a second.
        let server = Server::start(acts).await;
        core(&server.config()).get().resource("pods").send().await.unwrap();
        assert_eq!(server.requests(), 2, "{acts:?}");
    }
}

#[tokio::test]
async fn a_streaming_body_is_not_sent_twice_but_known_to_be_unprocessed() {
    use watchkeeper_client::transport::Body;
    let server = Server::start(&[GONE, Act::Respond]).await;
    let put = core(&server.config()).put().resource("nodes").name("a");
    let error = put.body_stream(Body::stream(Body::from("{}"))).send().await.unwrap_err();
    assert!(matches!(error, RequestError::Transport { .. }) && !error.may_have_happened(), "{error:?}");
    assert_eq!(server.requests(), 1);
}
