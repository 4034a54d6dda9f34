//! Start and stop of the listener.

use super::*;

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
async fn a_stop_ends_watches_cleanly_and_joins_everything() {
    for protocol in PROTOCOLS {
        for headers in [vec![MASTER], vec![MASTER, ("accept-encoding", "gzip")]] {
            let server = Server::start(Options::default()).await;
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
        let server = Server::start(Options::default()).await;
        let mut client = server.connect(protocol, None).await;
        let blocked = tokio::spawn(async move { client.get("/block", &[USER]).await.2 });
        server.handler.blocked.notified().await;
        server.stop.cancel();
        server.handler.release.add_permits(1);
        assert_eq!(blocked.await.unwrap(), "released");
        server.stop().await;
    }
}

#[tokio::test]
async fn a_stop_does_not_wait_forever() {
    for protocol in PROTOCOLS {
        let connections = Some(ConnectionLimits { drain: SHORT, ..Default::default() });
        let server = Server::start(Options { connections, ..Default::default() }).await;
        let mut client = server.connect(protocol, None).await;
        let blocked = tokio::spawn(async move {
            let request = request("GET", "/block", &[USER], "");
            match &mut client {
                Client::Http1(sender) => sender.send_request(request).await.is_err(),
                Client::Http2(sender) => sender.send_request(request).await.is_err(),
            }
        });
        server.handler.blocked.notified().await;
        server.stop().await;
        assert!(blocked.await.unwrap(), "the connection is cut off");
    }
}
