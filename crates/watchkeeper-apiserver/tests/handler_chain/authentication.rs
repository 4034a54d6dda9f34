//! Authentication by certificates and tokens.

use super::*;

#[tokio::test]
async fn unauthenticated_requests_are_refused_in_upstream_words() {
    let server = Server::start(Options::default()).await;
    let unauthorized = "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":\"Unauthorized\",\"reason\":\"Unauthorized\",\"code\":401}\n";
    for protocol in PROTOCOLS {
        for (path, headers) in [("/api", vec![]), ("/livez", vec![("authorization", "Bearer nope")])] {
            let mut client = server.connect(protocol, None).await;
            let (code, _, body) = client.get(path, &headers).await;
            assert_eq!((code.as_u16(), body.as_str()), (401, unauthorized), "{path}");
        }
        for path in ["/livez", "/readyz", "/healthz", "/version"] {
            let mut client = server.connect(protocol, None).await;
            assert_eq!(client.get(path, &[]).await.0, StatusCode::OK, "{path}");
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn a_client_authenticates_with_a_certificate_or_a_token() {
    let server = Server::start(Options::default()).await;
    let identity = server.authority.sign_client("jane", &["dev", "ops"]).unwrap();
    for protocol in PROTOCOLS {
        let mut client = server.connect(protocol, Some(&identity)).await;
        assert_eq!(client.get("/whoami", &[]).await.2, "jane dev,ops,system:authenticated");
        let mut client = server.connect(protocol, None).await;
        assert_eq!(client.get("/whoami", &[USER]).await.2, "jo dev,system:authenticated");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_certificate_of_another_authority_is_rejected() {
    let server = Server::start(Options::default()).await;
    let identity = Authority::generate().unwrap().sign_client("mallory", &[MASTERS]).unwrap();
    let mut stream = server.tls("http/1.1", Some(&identity)).await;
    let _ = stream.write_all(b"GET /whoami HTTP/1.1\r\nhost: x\r\n\r\n").await;
    let mut answer = Vec::new();
    assert!(stream.read_to_end(&mut answer).await.is_err(), "{answer:?}");
    server.stop().await;
}

#[tokio::test]
async fn wrong_tokens_of_an_address_are_delayed_and_valid_ones_are_not() {
    let server = Server::start(Options { plain: true, ..Default::default() }).await;
    let ask = |token: &str| {
        format!(
            "GET /whoami HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\r\n"
        )
    };
    for _ in 0..slowdown::FREE_REFUSALS + 2 {
        let answer = until_closed(raw(&server, &ask("wrong")).await).await;
        assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
    }
    let begun = std::time::Instant::now();
    // The next one is delayed four times as long as the first delayed one: a valid token overtakes it.
    let mut wrong = Box::pin(async { until_closed(raw(&server, &ask("wrong")).await).await });
    let right = async { until_closed(raw(&server, &ask("user")).await).await };
    tokio::select! {
        answer = &mut wrong => panic!("{answer}"),
        answer = right => assert!(answer.ends_with("jo dev,system:authenticated"), "{answer}"),
    }
    assert!(wrong.await.starts_with("HTTP/1.1 401 "));
    assert!(begun.elapsed() >= 4 * slowdown::FIRST_DELAY, "{:?}", begun.elapsed());
    server.stop().await;
}
