//! Requests and responses over both protocols.

use super::*;

#[tokio::test]
async fn both_protocols_are_served_over_tls() {
    let server = Server::start(Options::default()).await;
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
async fn objects_are_read_and_returned_in_any_encoding() {
    let server = Server::start(Options::default()).await;
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
async fn large_answers_are_compressed() {
    let server = Server::start(Options::default()).await;
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

#[tokio::test]
async fn a_handler_panic_is_a_500_and_affects_no_other_request() {
    let server = Server::start(Options::default()).await;
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
    let server = Server::start(Options::default()).await;
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
async fn a_request_with_two_lengths_is_refused_and_its_connection_closed() {
    let server = Server::start(Options { plain: true, ..Default::default() }).await;
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
