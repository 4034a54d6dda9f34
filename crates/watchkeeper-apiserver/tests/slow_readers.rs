//! Clients that do not read their responses: the memory they cost, and their disconnection.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use parking_lot::Mutex;
use serde_json::json;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};
use watchkeeper_apiserver::http::{ConnectionLimits, GZIP_BYTES, RequestLimits};
use watchkeeper_apiserver::server::{ApiServer, Builder as ServerBuilder};
use watchkeeper_apiserver::store::{CollectionId, Precondition, Unversioned};

/// The maximum wait for an expected event.
const PATIENCE: Duration = Duration::from_secs(60);

/// The stall timeout in tests of it.
const SHORT: Duration = Duration::from_millis(200);

/// The list has 2 MB.
const OBJECTS: usize = 500;
const OBJECT_BYTES: usize = 4 << 10;

/// As many streams as a connection can have.
const STREAMS: usize = 100;

const LIST: &str = "/api/v1/namespaces/n/configmaps";
const WATCH_LIST: &str = "/api/v1/namespaces/n/configmaps?watch=true&sendInitialEvents=true\
    &resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";

async fn server(builder: ServerBuilder) -> ApiServer {
    let server = builder.plain_http().token("t").start().await.unwrap();
    for number in 0..OBJECTS {
        put(&server, &format!("c{number:04}"), OBJECT_BYTES).await;
    }
    server
}

async fn put(server: &ApiServer, name: &str, bytes: usize) {
    let body = json!({"metadata": {"name": name, "namespace": "n"}, "data": {"text": "x".repeat(bytes)}});
    let value = Unversioned::from_json(body.to_string().as_bytes()).unwrap();
    server.store().put(&CollectionId::from("configmaps"), value, Precondition::Any).await.unwrap();
}

/// Opens an HTTP/2 connection with a stream window of `window` bytes.
async fn connect(server: &ApiServer, window: u32) -> SendRequest<Full<Bytes>> {
    let stream = TcpStream::connect(server.address()).await.unwrap();
    let handshake =
        Builder::new(TokioExecutor::new()).initial_stream_window_size(window).handshake(TokioIo::new(stream));
    let (sender, connection) = handshake.await.unwrap();
    tokio::spawn(connection);
    sender
}

async fn get(sender: &SendRequest<Full<Bytes>>, path: &str, headers: &[(&str, &str)]) -> Response<Incoming> {
    let mut sender = sender.clone();
    sender.ready().await.unwrap();
    let mut request =
        Request::builder().uri(format!("http://kubernetes{path}")).header("authorization", "Bearer t");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Full::default()).unwrap();
    timeout(PATIENCE, sender.send_request(request)).await.unwrap().unwrap()
}

async fn text(response: Response<Incoming>) -> String {
    let body = timeout(PATIENCE, response.into_body().collect()).await.unwrap().unwrap().to_bytes();
    String::from_utf8_lossy(&body).into_owned()
}

/// Returns the unread response bytes that the server reports.
async fn unread_bytes(sender: &SendRequest<Full<Bytes>>) -> usize {
    let metrics = text(get(sender, "/metrics", &[]).await).await;
    let gauge = metrics.lines().find_map(|line| line.strip_prefix("watchkeeper_unread_response_bytes "));
    gauge.unwrap().parse().unwrap()
}

/// Waits until no unread bytes are held.
async fn until_nothing_is_unread(sender: &SendRequest<Full<Bytes>>) {
    let begun = Instant::now();
    while unread_bytes(sender).await > 0 {
        assert!(begun.elapsed() < PATIENCE, "{} bytes are still held", unread_bytes(sender).await);
        tokio::task::yield_now().await;
    }
}

/// Returns the resident memory of this process: the server, and clients that have received only response heads.
#[cfg(target_os = "linux")]
fn resident_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
}

/// A hundred unread responses of 2 MB would be 200 MB if each were held whole.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn unread_responses_of_every_form_hold_little() {
    const TABLE: &str = "application/json;as=Table;g=meta.k8s.io;v=v1";
    const PARTIAL: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
    let server = server(ApiServer::builder()).await;
    let observer = connect(&server, 1 << 20).await;
    for (path, accept, encoding) in [
        (LIST, "application/json", "identity"),
        (LIST, "application/json", "gzip"),
        (&*format!("{LIST}?pretty=true"), "application/json", "identity"),
        (LIST, "application/yaml", "identity"),
        (LIST, PROTOBUF, "identity"),
        (&*format!("{LIST}?includeObject=Object"), TABLE, "identity"),
        (LIST, PARTIAL, "identity"),
        (WATCH_LIST, "application/json", "identity"),
        (WATCH_LIST, "application/json", "gzip"),
        (WATCH_LIST, PROTOBUF, "identity"),
    ] {
        let before = resident_bytes();
        let client = connect(&server, 0).await;
        let mut unread = Vec::new();
        for _ in 0..STREAMS {
            let response = get(&client, path, &[("accept", accept), ("accept-encoding", encoding)]).await;
            assert_eq!(response.status(), StatusCode::OK, "{path} as {accept}");
            unread.push(response);
        }
        let (held, grown) = (unread_bytes(&observer).await, resident_bytes().saturating_sub(before));
        // A list of metadata is short enough to be held whole.
        let most = if accept == PARTIAL { GZIP_BYTES } else { 2 * OBJECT_BYTES };
        assert!(held < STREAMS * most, "{path} as {accept}, {encoding}: {held} bytes are charged");
        assert!(grown < 48 << 20, "{path} as {accept}, {encoding}: {grown} bytes more are resident");
        drop((unread, client));
        until_nothing_is_unread(&observer).await;
    }
    server.stop().await;
}

#[tokio::test]
async fn a_list_that_is_encoded_while_it_is_read_is_complete() {
    let server = server(ApiServer::builder()).await;
    for window in [1000, 100_000, 10_000_000] {
        let client = connect(&server, window).await;
        let list: serde_json::Value =
            serde_json::from_str(&text(get(&client, LIST, &[]).await).await).unwrap();
        let items = list["items"].as_array().unwrap();
        assert_eq!((items.len(), &list["kind"]), (OBJECTS, &json!("ConfigMapList")));
        for (number, item) in items.iter().enumerate() {
            assert_eq!(item["metadata"]["name"], format!("c{number:04}"));
        }
    }
    server.stop().await;
}

/// Captures log output.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Log {
    fn start(&self) -> tracing::subscriber::DefaultGuard {
        let log = self.clone();
        let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(move || log.clone());
        tracing::subscriber::set_default(subscriber.finish())
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock()).into_owned()
    }
}

#[tokio::test]
async fn a_slow_reader_is_disconnected_with_a_logged_reason_and_other_streams_go_on() {
    let log = Log::default();
    let _guard = log.start();
    let limits = ConnectionLimits { stall: SHORT, ..ConnectionLimits::DEFAULT };
    let server = server(ApiServer::builder().connection_limits(limits)).await;
    let client = connect(&server, 20_000).await;
    // Its only event fits into the window, so it does not stall.
    let idle = format!("{LIST}?watch=true&fieldSelector=metadata.name=c0000");
    let mut idle = get(&client, &idle, &[]).await.into_body();
    for path in [LIST, WATCH_LIST, "/api/v1/namespaces/n/configmaps/large"] {
        if path.ends_with("large") {
            put(&server, "large", 100_000).await;
        }
        let unread = get(&client, path, &[]).await;
        assert_eq!(unread.status(), StatusCode::OK);
        // The server resets the stream while nothing is read from it.
        let begun = Instant::now();
        let path = path.split('?').next().unwrap();
        while !log.text().contains(&format!("path=\"{path}\"")) {
            assert!(begun.elapsed() < PATIENCE, "{path} goes on: {}", log.text());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let broken = timeout(PATIENCE, unread.into_body().collect()).await.unwrap();
        assert!(broken.is_err(), "{path} is complete");
        log.0.lock().clear();
    }
    until_nothing_is_unread(&client).await;
    put(&server, "c0000", 10).await;
    for kind in ["ADDED", "MODIFIED"] {
        let event = timeout(PATIENCE, idle.frame()).await.unwrap().unwrap().unwrap();
        let start = format!("{{\"type\":\"{kind}\"");
        assert!(event.data_ref().unwrap().starts_with(start.as_bytes()), "{kind}: {event:?}");
    }
    server.stop().await;
}

#[tokio::test]
async fn unread_bytes_are_bounded_and_slow_readers_make_room_for_others() {
    const LIMIT: usize = 256 << 10;
    let limits = ConnectionLimits {
        unread_bytes: LIMIT,
        connection_unread_bytes: LIMIT,
        stall_when_scarce: SHORT,
        ..ConnectionLimits::DEFAULT
    };
    let server = server(ApiServer::builder().connection_limits(limits)).await;
    put(&server, "large", 200_000).await;
    let slow = connect(&server, 1000).await;
    let gets: Vec<_> = (0..20)
        .map(|_| {
            let slow = slow.clone();
            tokio::spawn(async move { get(&slow, "/api/v1/namespaces/n/configmaps/large", &[]).await })
        })
        .collect();
    let client = connect(&server, 1 << 20).await;
    for _ in 0..20 {
        let asked = Instant::now();
        assert_eq!(text(get(&client, "/readyz", &[]).await).await, "ok");
        assert!(asked.elapsed() < Duration::from_secs(5), "/readyz took {:?}", asked.elapsed());
        let held = unread_bytes(&client).await;
        assert!(held < LIMIT + 300_000, "{held} bytes are held");
    }
    let list = text(get(&client, LIST, &[]).await).await;
    assert_eq!(list.matches("\"name\":\"c0").count(), OBJECTS);
    for get in gets {
        get.await.unwrap();
    }
    server.stop().await;
}

#[tokio::test]
async fn watches_are_limited_for_everybody() {
    let requests = RequestLimits { watches: 2, ..RequestLimits::DEFAULT };
    let server = ApiServer::builder().request_limits(requests).plain_http().token("t").start().await.unwrap();
    let client = connect(&server, 1 << 20).await;
    let first = get(&client, "/api/v1/pods?watch=true", &[]).await;
    let second = get(&client, "/api/v1/pods?watch=true", &[]).await;
    let refused = get(&client, "/api/v1/pods?watch=true", &[]).await;
    assert_eq!(
        (refused.status(), &refused.headers()["retry-after"]),
        (StatusCode::TOO_MANY_REQUESTS, &"1".parse().unwrap())
    );
    assert_eq!(text(refused).await, "Too many requests, please try again later.\n");
    assert_eq!(get(&client, "/api/v1/pods", &[]).await.status(), StatusCode::OK);
    drop(first);
    let begun = Instant::now();
    while get(&client, "/api/v1/pods?watch=true", &[]).await.status() != StatusCode::OK {
        assert!(begun.elapsed() < PATIENCE, "an ended watch still counts");
        tokio::task::yield_now().await;
    }
    drop(second);
    server.stop().await;
}
