//! Host and origin checks, and security headers.

use watchkeeper_web::Options;

use crate::world::{World, ask};

/// Returns the status of a request with these header lines.
async fn status(world: &World, lines: &str) -> u16 {
    ask(world.address(), format!("{lines}\r\nConnection: close\r\n\r\n")).await.status
}

#[tokio::test]
async fn dns_rebinding_is_rejected() {
    let world = World::start(Options::default().allow_host("keep.example")).await;
    let port = world.address().port();
    for host in ["localhost", "127.0.0.1", "127.0.0.1:8888", "[::1]", "keep.example", "Keep.Example.:443"] {
        assert_eq!(status(&world, &format!("GET /ping HTTP/1.1\r\nHost: {host}")).await, 200, "{host}");
    }
    for host in
        ["evil.example", &format!("evil.example:{port}"), "localhost.evil.example", "10.1.2.3", "0.0.0.0"]
    {
        let request = format!("GET /ping HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        let answer = ask(world.address(), request).await;
        assert_eq!(answer.status, 421, "{host}");
        assert!(answer.body.contains("--allow-host"), "{answer:?}");
    }
    // Both the authority and the Host header must be allowed.
    let absolute = "GET http://evil.example/ping HTTP/1.1\r\nHost: localhost";
    assert_eq!(status(&world, absolute).await, 421);
    let absolute = "GET http://localhost/ping HTTP/1.1\r\nHost: evil.example";
    assert_eq!(status(&world, absolute).await, 421);
    world.stop().await;
}

#[tokio::test]
async fn requests_have_exactly_one_host() {
    let world = World::start(Options::default()).await;
    assert_eq!(status(&world, "GET /ping HTTP/1.1").await, 400);
    assert_eq!(status(&world, "GET /ping HTTP/1.0").await, 400);
    assert_eq!(status(&world, "GET /ping HTTP/1.1\r\nHost:").await, 400);
    assert_eq!(status(&world, "GET /ping HTTP/1.1\r\nHost: a@localhost").await, 400);
    assert_eq!(status(&world, "GET /ping HTTP/1.1\r\nHost: localhost\r\nHost: localhost").await, 400);
    world.stop().await;
}

#[tokio::test]
async fn cross_origin_writes_and_upgrades_are_rejected() {
    let world = World::start(Options::default()).await;
    let foreign = ["http://evil.example", "null", "http://localhost:1", "https://localhost"];
    for origin in foreign {
        let head = format!("HTTP/1.1\r\nHost: localhost:8888\r\nOrigin: {origin}");
        for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"] {
            assert_eq!(status(&world, &format!("{method} /ping {head}")).await, 403, "{method} {origin}");
        }
        let upgrade = format!("GET /ping {head}\r\nUpgrade: websocket");
        assert_eq!(status(&world, &upgrade).await, 403, "{origin}");
        assert_eq!(status(&world, &format!("GET /ping {head}")).await, 200, "{origin}");
    }
    let own = "POST /ping HTTP/1.1\r\nHost: localhost:8888\r\nOrigin: http://localhost:8888";
    assert_eq!(status(&world, own).await, 405);
    let none = "POST /ping HTTP/1.1\r\nHost: localhost:8888";
    assert_eq!(status(&world, none).await, 405);
    let both =
        "POST /ping HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\nOrigin: http://evil.example";
    assert_eq!(status(&world, both).await, 403);
    world.stop().await;
}

#[tokio::test]
async fn all_responses_have_security_headers() {
    let world = World::start(Options::default()).await;
    let foreign = "GET /ping HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n";
    let cross =
        "GET /ping HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\nConnection: close\r\n\r\n";
    let answers = [
        world.get("/ping").await,
        world.get("/none").await,
        ask(world.address(), foreign).await,
        ask(world.address(), cross).await,
    ];
    for answer in answers {
        let policy = answer.header("content-security-policy").unwrap();
        assert!(
            policy.starts_with("default-src 'self'; ") && policy.contains("frame-ancestors 'none'"),
            "{policy}"
        );
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
        assert_eq!(answer.header("cross-origin-resource-policy"), Some("same-origin"));
        assert!(!answer.head.to_ascii_lowercase().contains("access-control-"), "{answer:?}");
    }
    world.stop().await;
}

#[tokio::test]
async fn queries_are_limited() {
    let world = World::start(Options::default()).await;
    let query = |bytes: usize| format!("/ping?{}", "a".repeat(bytes));
    assert_eq!(world.get(&query(8 << 10)).await.status, 200);
    let answer = world.get(&query((8 << 10) + 1)).await;
    assert_eq!(answer.status, 414);
    assert!(answer.body.starts_with(r#"{"code":40000,"message":"query exceeds"#), "{answer:?}");
    world.stop().await;
}

#[tokio::test]
async fn bodies_are_limited_with_and_without_content_length() {
    let world = World::start(Options::default()).await;
    let head = "POST /ping HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
    let announced = format!("{head}Content-Length: {}\r\n\r\n", (1 << 20) + 1);
    assert_eq!(ask(world.address(), announced).await.status, 413);

    let chunk = format!("{:x}\r\n{}\r\n", 64 << 10, "a".repeat(64 << 10));
    let chunks =
        |count: usize| format!("{head}Transfer-Encoding: chunked\r\n\r\n{}0\r\n\r\n", chunk.repeat(count));
    assert_eq!(ask(world.address(), chunks(16)).await.status, 405);
    assert_eq!(ask(world.address(), chunks(17)).await.status, 413);
    world.stop().await;
}

#[tokio::test]
async fn path_traversal_is_rejected() {
    let world = World::start(Options::default()).await;
    for path in [
        "/assets/../../etc/passwd",
        "/assets/%2e%2e/%2e%2e/etc/passwd",
        "/assets/..%2f..%2fetc%2fpasswd",
        "/assets/....//....//etc/passwd",
        "/assets/%252e%252e%252fetc/passwd",
        "/assets/..\\..\\etc\\passwd",
        "//etc/passwd",
        "/../etc/passwd",
        "/assets/%00",
    ] {
        let answer = world.get(path).await;
        assert!((400..500).contains(&answer.status), "{path}: {answer:?}");
        assert!(!answer.body.contains("root:"), "{path}: {answer:?}");
    }
    world.stop().await;
}
