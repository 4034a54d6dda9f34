//! A server that ends an HTTP/2 connection, or refuses a request on it.

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
use watchkeeper_client::rest::{Request, RequestError, Retries};

use super::core;

/// Frames of HTTP/2.
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;

/// What a server does when a request has come, on the stream of this number.
#[derive(Debug, Clone, Copy)]
enum Act {
    /// 200, and `{}`.
    Answer,
    /// Goes away, and has looked at all requests up to this one: at none with 0.
    GoAway { after: u32, code: u32 },
    /// Resets the request with this code.
    Reset { code: u32 },
}

struct Server {
    address: SocketAddr,
    authority: Authority,
    asked: Arc<AtomicUsize>,
}

impl Server {
    /// Does one act for each request, and the last one for all that come after.
    async fn start(acts: &'static [Act]) -> Self {
        let authority = Authority::generate().unwrap();
        let tls = authority.serve(&authority.vouch_for_server(&[]).unwrap()).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(AtomicUsize::new(0));
        let count = asked.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let stream = TlsAcceptor::from(tls.clone()).accept(stream).await.unwrap();
                tokio::spawn(serve(stream, acts, count.clone()));
            }
        });
        Self { address, authority, asked }
    }

    fn config(&self) -> Config {
        let mut config = Config::new(format!("https://{}", self.address).parse().unwrap());
        config.authorities = Authorities::Pem(self.authority.certificate().to_owned());
        config.proxy = Proxy::Direct;
        config
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
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
                    Act::Answer => {
                        // :status 200, and content-type by its place in the static table.
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
async fn what_the_server_has_not_looked_at_goes_over_another_connection_whatever_it_is() {
    for acts in [
        &[GONE, Act::Answer],
        &[Act::GoAway { after: 0, code: ENHANCE_YOUR_CALM }, Act::Answer],
        &[Act::Reset { code: REFUSED_STREAM }, Act::Answer],
    ] {
        let server = Server::start(acts).await;
        let stored: Value = post(&server).retries(Retries::NONE).send().await.unwrap().into().unwrap();
        assert_eq!((stored, server.asked()), (json!({}), 2), "{acts:?}");
    }
}

#[tokio::test]
async fn a_server_that_always_goes_away_is_left_and_nothing_was_done() {
    for acts in [&[GONE], &[Act::Reset { code: REFUSED_STREAM }]] {
        let server = Server::start(acts).await;
        let error = post(&server).send().await.unwrap_err();
        let expected = "POST /api/v1/namespaces/ns/configmaps: request was not processed by the server";
        assert_eq!((error.to_string().as_str(), server.asked()), (expected, 4), "{acts:?}");
        assert!(!error.may_have_happened());
    }
}

/// Nobody can know what became of it.
#[tokio::test]
async fn what_the_server_may_have_looked_at_is_not_sent_twice() {
    for acts in [
        &[Act::GoAway { after: 1, code: NO_ERROR }, Act::Answer],
        &[Act::Reset { code: INTERNAL_ERROR }, Act::Answer],
    ] {
        let server = Server::start(acts).await;
        let error = post(&server).send().await.unwrap_err();
        let expected =
            "POST /api/v1/namespaces/ns/configmaps: connection lost before the response";
        assert_eq!((error.to_string().as_str(), server.asked()), (expected, 1), "{acts:?}");
        assert!(error.may_have_happened());

        // A GET is tried again by the REST client, after a second.
        let server = Server::start(acts).await;
        core(&server.config()).get().resource("pods").send().await.unwrap();
        assert_eq!(server.asked(), 2, "{acts:?}");
    }
}

#[tokio::test]
async fn a_body_that_is_a_stream_is_not_sent_twice_but_it_is_known_that_nothing_was_done() {
    use watchkeeper_client::transport::Body;
    let server = Server::start(&[GONE, Act::Answer]).await;
    let put = core(&server.config()).put().resource("nodes").name("a");
    let error = put.body_stream(Body::stream(Body::from("{}"))).send().await.unwrap_err();
    assert!(matches!(error, RequestError::Transport { .. }) && !error.may_have_happened(), "{error:?}");
    assert_eq!(server.asked(), 1);
}
