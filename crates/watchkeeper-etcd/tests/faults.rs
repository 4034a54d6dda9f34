//! Responses that are truncated, garbled, endless or missing. Each is reported as an error, in time.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use h2::server::{self, SendResponse};
use http::{HeaderMap, Response};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::time::Instant;
use watchkeeper_etcd::{DEAD_AFTER, Error, Etcd, Put, Range, Watch};

/// A response of the server.
#[derive(Clone)]
enum Fault {
    /// A body and trailers.
    Whole(&'static [u8], &'static [(&'static str, &'static str)]),
    /// The body ends without trailers.
    NoTrailers(&'static [u8]),
    /// The stream is reset within the body.
    Reset(&'static [u8]),
    /// Only headers.
    Headers(u16, &'static [(&'static str, &'static str)]),
    /// Nothing.
    Silence,
    /// A body without an end; once notified, the connection is no longer served.
    Death(&'static [u8], Arc<Notify>),
}

const OK: &[(&str, &str)] = &[("grpc-status", "0")];
const GRPC: &[(&str, &str)] = &[("content-type", "application/grpc")];

/// Starts a server that responds to every request like this, and returns its address.
async fn server(fault: Fault) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (socket, _) = listener.accept().await.unwrap();
            let fault = fault.clone();
            tokio::spawn(async move {
                let mut connection = server::handshake(socket).await.unwrap();
                while let Some(Ok((_, mut respond))) = connection.accept().await {
                    if let Fault::Death(body, dies) = &fault {
                        let mut stream = respond.send_response(response(200, GRPC), false).unwrap();
                        stream.send_data(Bytes::from_static(body), false).unwrap();
                        tokio::select! {
                            _ = std::future::poll_fn(|context| connection.poll_closed(context)) => {}
                            () = dies.notified() => {}
                        }
                        std::future::pending::<()>().await;
                    }
                    tokio::spawn(respond_with(fault.clone(), respond));
                }
            });
        }
    });
    format!("http://{address}")
}

async fn respond_with(fault: Fault, mut respond: SendResponse<Bytes>) {
    let (body, trailers) = match fault {
        Fault::Silence | Fault::Death(..) => return std::future::pending().await,
        Fault::Headers(status, headers) => {
            respond.send_response(response(status, headers), true).unwrap();
            return;
        }
        Fault::Whole(body, trailers) => (body, Some(trailers)),
        Fault::NoTrailers(body) | Fault::Reset(body) => (body, None),
    };
    let mut stream = respond.send_response(response(200, GRPC), false).unwrap();
    match (fault, trailers) {
        (_, Some(trailers)) => {
            stream.send_data(Bytes::from_static(body), false).unwrap();
            let pairs = trailers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
            stream.send_trailers(pairs.collect::<HeaderMap>()).unwrap();
        }
        (Fault::Reset(_), _) => {
            stream.send_data(Bytes::from_static(body), false).unwrap();
            stream.send_reset(h2::Reason::INTERNAL_ERROR);
        }
        _ => stream.send_data(Bytes::from_static(body), true).unwrap(),
    }
}

fn response(status: u16, headers: &[(&str, &str)]) -> Response<()> {
    let builder = Response::builder().status(status);
    headers.iter().fold(builder, |builder, (name, value)| builder.header(*name, *value)).body(()).unwrap()
}

async fn client(fault: Fault) -> Etcd {
    Etcd::builder([server(fault).await]).build().unwrap()
}

#[tokio::test]
async fn incomplete_responses_are_unavailable_errors() {
    let unavailable = [
        Fault::NoTrailers(b"\0\0\0\0\x02\x20\x03"),
        Fault::NoTrailers(b""),
        Fault::NoTrailers(b"\0\0\0\0\x09\x20"),
        Fault::Reset(b"\0\0\0\0\x02\x20\x03"),
        Fault::Whole(b"\0\0\0\0\x09\x20", OK),
        Fault::Whole(b"\0\0", OK),
        Fault::Whole(b"", OK),
        Fault::Whole(b"\0\0\0\0\x02\x20\x03", &[]),
        Fault::Headers(200, &[("content-type", "application/grpc"), ("grpc-status", "0")]),
        Fault::Headers(503, &[]),
        Fault::Whole(b"\0\0\0\0\x00", &[("grpc-status", "14"), ("grpc-message", "etcdserver: no leader")]),
    ];
    for (case, fault) in unavailable.into_iter().enumerate() {
        let outcome = client(fault).await.range(Range::key("a")).await;
        assert!(matches!(outcome, Err(Error::Unavailable { .. })), "case {case}: {outcome:?}");
    }
    let whole = client(Fault::Whole(b"\0\0\0\0\x02\x20\x03", OK)).await;
    assert_eq!(whole.range(Range::key("a")).await.unwrap().count, 3);
}

#[tokio::test]
async fn invalid_responses_are_rejected() {
    let malformed = [
        Fault::Whole(b"\0\0\0\0\x02\x20\x80", OK), // an unterminated varint
        Fault::Whole(b"\0\0\0\0\x02\x0f\x00", OK), // an unknown wire type
        Fault::Whole(b"\0\0\0\0\x03\x12\x05\x0a", OK), // a key longer than its message
        Fault::Whole(b"\x01\0\0\0\x02\x20\x03", OK), // compressed
    ];
    for (case, fault) in malformed.into_iter().enumerate() {
        let outcome = client(fault).await.range(Range::key("a")).await;
        assert!(matches!(outcome, Err(Error::Malformed(_))), "case {case}: {outcome:?}");
    }
    let twice = client(Fault::Whole(b"\0\0\0\0\x00\0\0\0\0\x00", OK)).await.range(Range::key("a")).await;
    assert!(matches!(twice, Err(Error::NotEtcd(_))), "{twice:?}");
    for headers in [&[("content-type", "text/html")][..], &[]] {
        let outcome = client(Fault::Headers(200, headers)).await.range(Range::key("a")).await;
        assert!(matches!(outcome, Err(Error::NotEtcd(_))), "{outcome:?}");
    }
    let long = client(Fault::NoTrailers(b"\0\xff\xff\xff\xff")).await.range(Range::key("a")).await;
    assert!(matches!(long, Err(Error::TooLong { length: 0xffff_ffff, .. })), "{long:?}");
    let not_created = client(Fault::Whole(b"\0\0\0\0\x00", OK)).await.watch(&Watch::key("a")).await;
    assert!(matches!(not_created, Err(Error::NotEtcd(_))), "{not_created:?}");
}

#[tokio::test]
async fn silent_endpoints_time_out_and_reads_go_to_the_next() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mute = format!("http://{}", listener.local_addr().unwrap());
    let silent = server(Fault::Silence).await;
    let good = server(Fault::Whole(b"\0\0\0\0\x02\x20\x03", OK)).await;
    let short = Duration::from_secs(1); // long enough for a server that responds
    let etcd = |endpoints: &[&String]| {
        let endpoints = endpoints.iter().map(|endpoint| (*endpoint).clone());
        Etcd::builder(endpoints).connect_timeout(short).request_timeout(short).build().unwrap()
    };
    for endpoint in [&mute, &silent] {
        let outcome = etcd(&[endpoint]).range(Range::key("a")).await;
        assert!(outcome.as_ref().is_err_and(Error::is_unavailable), "{outcome:?}");
        let read = etcd(&[endpoint, &good]).range(Range::key("a")).await;
        assert_eq!(read.unwrap().count, 3, "a read is retried at the next endpoint");
    }
    let write = etcd(&[&silent, &good]).put(Put::new("a", "1")).await;
    assert!(matches!(write, Err(Error::Unavailable { .. })), "a write is not retried: {write:?}");
}

#[tokio::test]
async fn a_dead_connection_is_detected() {
    let created = b"\0\0\0\0\x06\x0a\x02\x18\x07\x18\x01";
    let dies = Arc::new(Notify::new());
    let etcd = client(Fault::Death(created, dies.clone())).await;
    let mut watch = etcd.watch(&Watch::key("a")).await.unwrap();
    assert_eq!(watch.created().revision, 7);
    dies.notify_one();
    tokio::time::pause(); // from here on, waiting takes no time
    let begun = Instant::now();
    let outcome = watch.next().await;
    assert!(matches!(outcome, Err(Error::Unavailable { .. })), "{outcome:?}");
    let took = begun.elapsed();
    assert!(took <= DEAD_AFTER + Duration::from_secs(1) && took < Duration::from_secs(45), "{took:?}");
}
