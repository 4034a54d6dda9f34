//! Limits of sizes, times and numbers.

use super::*;

#[tokio::test]
async fn a_body_that_is_too_large_is_refused() {
    let server = Server::start(Options::default()).await;
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
async fn a_head_that_is_too_large_is_refused() {
    let connections = Some(ConnectionLimits { head_bytes: 8 << 10, ..Default::default() });
    let server = Server::start(Options { plain: true, connections, ..Default::default() }).await;
    let head = format!("GET /livez HTTP/1.1\r\nhost: x\r\nx: {}\r\n\r\n", "x".repeat(16 << 10));
    let answer = until_closed(raw(&server, &head).await).await;
    assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
    server.stop().await;
}

#[tokio::test]
async fn a_client_that_does_not_send_its_head_is_cut_off() {
    let connections = Some(ConnectionLimits { head: SHORT, ..Default::default() });
    let server = Server::start(Options { plain: true, connections, ..Default::default() }).await;
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
    let server = Server::start(Options { plain: true, requests, ..Default::default() }).await;
    let head = "POST /api/v1/namespaces/x/configmaps HTTP/1.1\r\nhost: x\r\nauthorization: Bearer user\r\ncontent-length: 10\r\n\r\n{";
    let answer = until_closed(raw(&server, head).await).await;
    assert!(answer.starts_with("HTTP/1.1 504"), "{answer}");
    assert!(answer.contains("request did not complete within requested timeout"), "{answer}");
    server.stop().await;
}

#[tokio::test]
async fn a_client_that_does_not_finish_its_handshake_is_cut_off() {
    let connections = Some(ConnectionLimits { handshake: SHORT, ..Default::default() });
    let server = Server::start(Options { connections, ..Default::default() }).await;
    assert_eq!(until_closed(raw(&server, "").await).await, "");
    server.stop().await;
}

#[tokio::test]
async fn a_client_that_opens_http2_and_asks_nothing_is_cut_off() {
    let connections = Some(ConnectionLimits { head: SHORT, ..Default::default() });
    let server = Server::start(Options { connections, ..Default::default() }).await;
    let begun = std::time::Instant::now();
    let mut stream = server.tls("h2", None).await;
    let mut answer = Vec::new();
    let closed = tokio::time::timeout(Duration::from_secs(30), stream.read_to_end(&mut answer)).await;
    assert!(closed.is_ok(), "the connection stays open");
    assert!(begun.elapsed() >= SHORT, "closed before the time was over");
    server.stop().await;
}

#[tokio::test]
async fn a_request_that_takes_too_long_times_out() {
    let server = Server::start(Options::default()).await;
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
async fn requests_beyond_the_limit_get_a_429() {
    let requests = Some(RequestLimits { reads: 1, ..Default::default() });
    let server = Server::start(Options { requests, ..Default::default() }).await;
    let mut first = server.connect("h2", None).await;
    let blocked = tokio::spawn(async move { first.get("/block", &[USER]).await.2 });
    server.handler.blocked.notified().await;

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

    server.handler.release.add_permits(1);
    assert_eq!(blocked.await.unwrap(), "released");
    let mut client = server.connect("http/1.1", None).await;
    assert_eq!(client.get("/whoami", &[USER]).await.0, StatusCode::OK);
    server.stop().await;
}

#[tokio::test]
async fn connections_beyond_the_limit_wait_for_their_turn() {
    let connections = Some(ConnectionLimits { connections: 1, ..Default::default() });
    let server = Server::start(Options { plain: true, connections, ..Default::default() }).await;
    let ask = "GET /livez HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    let first = raw(&server, "").await;
    let second = raw(&server, ask).await;
    drop(first);
    assert!(until_closed(second).await.ends_with("\r\n\r\nok"));
    server.stop().await;
}
