//! Ten thousand idle streams.

use std::time::Instant;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Incoming;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;
use watchkeeper_web::Options;
use watchkeeper_web::listen::DEFAULT_LIMITS;

use crate::world::{LONG, World};

const STREAMS: usize = 10_000;

/// Opens streams on one HTTP/2 connection, and returns them once each has received `hello`.
async fn open(world: &World, count: usize) -> (http2::SendRequest<Empty<Bytes>>, Vec<Incoming>) {
    let stream = TcpStream::connect(world.address()).await.unwrap();
    let (mut send, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection); // ends with the server
    let mut bodies = Vec::with_capacity(count);
    for _ in 0..count {
        let request = Request::get("http://localhost/v1/stream").body(Empty::new()).unwrap();
        let answer = send.send_request(request).await.unwrap();
        assert_eq!(answer.status(), 200);
        let mut body = answer.into_body();
        let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
        assert!(first.windows(12).any(|part| part == b"event: hello"), "{first:?}");
        bodies.push(body);
    }
    (send, bodies)
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_idle_streams_end_with_the_server() {
    let world = World::start(Options::default()).await;
    let each = DEFAULT_LIMITS.streams as usize;
    let mut opened = Vec::new();
    for _ in 0..STREAMS / each {
        opened.push(open(&world, each).await);
    }
    let held: usize = opened.iter().map(|(_, bodies)| bodies.len()).sum();
    assert_eq!(held, STREAMS);
    let begun = Instant::now();
    assert_eq!(world.get("/ping").await.status, 200);
    assert!(begun.elapsed().as_secs() < 5, "idle streams delay other requests: {:?}", begun.elapsed());

    let World { cluster, service, served } = world;
    let mut ends = JoinSet::new();
    for (send, bodies) in opened {
        ends.spawn(async move {
            let _send = send;
            for body in bodies {
                body.collect().await.expect("a stream was cut off");
            }
        });
    }
    let begun = Instant::now();
    served.stop().await;
    assert!(begun.elapsed() < DEFAULT_LIMITS.drain, "streams kept the server from stopping");
    let ended = async {
        while let Some(end) = ends.join_next().await {
            end.unwrap();
        }
    };
    timeout(LONG, ended).await.expect("streams are still open");
    service.stop().await;
    cluster.stop().await;
}
