//! What no etcd does: answers that are cut, garbled, without an end, or that never come. Each is an error that says
//! so, within its time.

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

/// What the server does with a request.
#[derive(Clone)]
enum Answer {
    /// Frames of a body, and trailers.
    Whole(&'static [u8], &'static [(&'static str, &'static str)]),
    /// The body ends without trailers.
    NoTrailers(&'static [u8]),
    /// The stream is reset amid the body.
    Reset(&'static [u8]),
    /// All of it in the headers.
    Headers(u16, &'static [(&'static str, &'static str)]),
    /// Nothing.
    Silence,
    /// A body without an end, and then nobody does anything at all once this is told.
    Death(&'static [u8], Arc<Notify>),
}

const OK: &[(&str, &str)] = &[("grpc-status", "0")];
const GRPC: &[(&str, &str)] = &[("content-type", "application/grpc")];

/// A server that answers everything so. Returns its address.
async fn server(answer: Answer) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (socket, _) = listener.accept().await.unwrap();
            let answer = answer.clone();
            tokio::spawn(async move {
                let mut connection = server::handshake(socket).await.unwrap();
                while let Some(Ok((_, mut respond))) = connection.accept().await {
                    if let Answer::Death(body, dies) = &answer {
                        let mut stream = respond.send_response(response(200, GRPC), false).unwrap();
                        stream.send_data(Bytes::from_static(body), false).unwrap();
                        tokio::select! {
                            _ = std::future::poll_fn(|context| connection.poll_closed(context)) => {}
                            () = dies.notified() => {}
                        }
                        std::future::pending::<()>().await;
                    }
                    tokio::spawn(say(answer.clone(), respond));
                }
            });
        }
    });
    format!("http://{address}")
}

async fn say(answer: Answer, mut respond: SendResponse<Bytes>) {
    let (body, trailers) = match answer {
        Answer::Silence | Answer::Death(..) => return std::future::pending().await,
        Answer::Headers(status, headers) => {
            respond.send_response(response(status, headers), true).unwrap();
            return;
        }
        Answer::Whole(body, trailers) => (body, Some(trailers)),
        Answer::NoTrailers(body) | Answer::Reset(body) => (body, None),
    };
    let mut stream = respond.send_response(response(200, GRPC), false).unwrap();
    match (answer, trailers) {
        (_, Some(trailers)) => {
            stream.send_data(Bytes::from_static(body), false).unwrap();
            let pairs = trailers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
            stream.send_trailers(pairs.collect::<HeaderMap>()).unwrap();
        }
        (Answer::Reset(_), _) => {
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

async fn client(answer: Answer) -> Etcd {
    Etcd::builder([server(answer).await]).build().unwrap()
}

#[tokio::test]
async fn an_answer_that_is_not_whole_is_no_answer() {
    let unavailable = [
        Answer::NoTrailers(b"\0\0\0\0\x02\x20\x03"),
        Answer::NoTrailers(b""),
        Answer::NoTrailers(b"\0\0\0\0\x09\x20"),
        Answer::Reset(b"\0\0\0\0\x02\x20\x03"),
        Answer::Whole(b"\0\0\0\0\x09\x20", OK),
        Answer::Whole(b"\0\0", OK),
        Answer::Whole(b"", OK),
        Answer::Whole(b"\0\0\0\0\x02\x20\x03", &[]),
        Answer::Headers(200, &[("content-type", "application/grpc"), ("grpc-status", "0")]),
        Answer::Headers(503, &[]),
        Answer::Whole(b"\0\0\0\0\x00", &[("grpc-status", "14"), ("grpc-message", "etcdserver: no leader")]),
    ];
    for (case, answer) in unavailable.into_iter().enumerate() {
        let outcome = client(answer).await.range(Range::key("a")).await;
        assert!(matches!(outcome, Err(Error::Unavailable { .. })), "case {case}: {outcome:?}");
    }
    let whole = client(Answer::Whole(b"\0\0\0\0\x02\x20\x03", OK)).await;
    assert_eq!(whole.range(Range::key("a")).await.unwrap().count, 3);
}

#[tokio::test]
async fn what_is_no_message_of_etcds_is_refused() {
    let malformed = [
        Answer::Whole(b"\0\0\0\0\x02\x20\x80", OK), // a number that does not end
        Answer::Whole(b"\0\0\0\0\x02\x0f\x00", OK), // a wire type that there is not
        Answer::Whole(b"\0\0\0\0\x03\x12\x05\x0a", OK), // a key that is longer than its message
        Answer::Whole(b"\x01\0\0\0\x02\x20\x03", OK), // compressed
    ];
    for (case, answer) in malformed.into_iter().enumerate() {
        let outcome = client(answer).await.range(Range::key("a")).await;
        assert!(matches!(outcome, Err(Error::Malformed(_))), "case {case}: {outcome:?}");
    }
    let twice = client(Answer::Whole(b"\0\0\0\0\x00\0\0\0\0\x00", OK)).await.range(Range::key("a")).await;
    assert!(matches!(twice, Err(Error::NotEtcd(_))), "{twice:?}");
    for headers in [&[("content-type", "text/html")][..], &[]] {
        let outcome = client(Answer::Headers(200, headers)).await.range(Range::key("a")).await;
        assert!(matches!(outcome, Err(Error::NotEtcd(_))), "{outcome:?}");
    }
    let long = client(Answer::NoTrailers(b"\0\xff\xff\xff\xff")).await.range(Range::key("a")).await;
    assert!(matches!(long, Err(Error::TooLong { length: 0xffff_ffff, .. })), "{long:?}");
    let unheard = client(Answer::Whole(b"\0\0\0\0\x00", OK)).await.watch(&Watch::key("a")).await;
    assert!(matches!(unheard, Err(Error::NotEtcd(_))), "{unheard:?}");
}

#[tokio::test]
async fn who_listens_and_says_nothing_is_not_waited_for() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mute = format!("http://{}", listener.local_addr().unwrap());
    let silent = server(Answer::Silence).await;
    let good = server(Answer::Whole(b"\0\0\0\0\x02\x20\x03", OK)).await;
    let short = Duration::from_secs(1); // long enough for who answers
    let etcd = |endpoints: &[&String]| {
        let endpoints = endpoints.iter().map(|endpoint| (*endpoint).clone());
        Etcd::builder(endpoints).connect_timeout(short).request_timeout(short).build().unwrap()
    };
    for endpoint in [&mute, &silent] {
        let outcome = etcd(&[endpoint]).range(Range::key("a")).await;
        assert!(outcome.as_ref().is_err_and(Error::is_unavailable), "{outcome:?}");
        let read = etcd(&[endpoint, &good]).range(Range::key("a")).await;
        assert_eq!(read.unwrap().count, 3, "a read is asked of the next");
    }
    let write = etcd(&[&silent, &good]).put(Put::new("a", "1")).await;
    assert!(matches!(write, Err(Error::Unavailable { .. })), "a write is not: {write:?}");
}

#[tokio::test]
async fn a_connection_that_has_died_is_noticed() {
    let created = b"\0\0\0\0\x06\x0a\x02\x18\x07\x18\x01";
    let dies = Arc::new(Notify::new());
    let etcd = client(Answer::Death(created, dies.clone())).await;
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
