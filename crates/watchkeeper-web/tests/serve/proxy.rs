//! The proxy to the API server.

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::timeout;
use watchkeeper_client::config::Proxy;
use watchkeeper_client::streams::{ExecOptions, Exit};
use watchkeeper_client::{Client, Config};
use watchkeeper_testkit::Kubelet;
use watchkeeper_web::{Options, Service};

use crate::upstream::{Script, Upstream, get};
use crate::world::{Answer, LONG, Served, World, ask};

fn settings(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "b"}})
}

/// Creates a client that uses the proxy.
fn through(served: &Served) -> Client {
    let mut config = Config::new(format!("http://{}", served.address).parse().unwrap());
    config.proxy = Proxy::Direct;
    Client::new(&config).unwrap()
}

/// Returns the message of a status.
fn message(answer: &Answer) -> String {
    let status: Value = serde_json::from_str(&answer.body).unwrap_or_else(|_| panic!("{answer:?}"));
    assert_eq!((&status["kind"], &status["code"]), (&json!("Status"), &json!(answer.status)), "{answer:?}");
    status["message"].as_str().unwrap().to_owned()
}

/// A connection whose response has started.
struct Open {
    stream: BufReader<TcpStream>,
    head: String,
}

impl Open {
    async fn start(served: &Served, request: &str) -> Self {
        let mut stream = TcpStream::connect(served.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let (mut stream, mut head) = (BufReader::new(stream), String::new());
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(
                timeout(LONG, stream.read_line(&mut head)).await.expect("no head").unwrap(),
                0,
                "{head}"
            );
        }
        Self { stream, head }
    }

    /// Returns the next line of the body, skipping chunk framing.
    async fn line(&mut self) -> String {
        loop {
            let mut line = String::new();
            timeout(LONG, self.stream.read_line(&mut line)).await.expect("no line").unwrap();
            if line.is_empty() || line.starts_with('{') {
                return line;
            }
        }
    }

    async fn rest(mut self) -> String {
        let mut rest = Vec::new();
        timeout(LONG, self.stream.read_to_end(&mut rest)).await.expect("no end").unwrap();
        String::from_utf8(rest).unwrap()
    }
}

#[tokio::test]
async fn reads_return_the_api_servers_response() {
    let world = World::start(Options::default()).await;
    world.cluster.create(settings("one")).await.unwrap();
    let path = format!("/api/v1/namespaces/{}/configmaps", world.cluster.namespace());
    let one = world.get(&format!("{path}/one")).await;
    let object: Value = serde_json::from_str(&one.body).unwrap();
    assert_eq!((one.status, &object["data"]), (200, &json!({"a": "b"})));
    assert!(one.header("content-security-policy").unwrap().starts_with("sandbox; default-src 'none'"));
    assert_eq!(one.header("x-content-type-options"), Some("nosniff"));
    let none = world.get(&format!("{path}/none")).await;
    assert_eq!((none.status, message(&none).as_str()), (404, "configmaps \"none\" not found"));
    for path in ["/version", "/version/", "/api", "/apis", "/apis/apps/v1", "/openapi/v3"] {
        assert_eq!(world.get(path).await.status, 200, "{path}");
    }
    for path in ["/apix", "/versions", "/openapi.json5"] {
        assert!(!world.get(path).await.body.contains("\"kind\""), "{path}");
    }
    world.stop().await;
}

#[tokio::test]
async fn watches_stream_events_and_end_with_the_server() {
    let world = World::start(Options::default()).await;
    let path = format!("/api/v1/namespaces/{}/configmaps?watch=1", world.cluster.namespace());
    let mut watch = Open::start(&world.served, &get(&path, "")).await;
    for name in ["one", "two", "three"] {
        world.cluster.create(settings(name)).await.unwrap();
        let event: Value = serde_json::from_str(&watch.line().await).unwrap();
        assert_eq!((&event["type"], &event["object"]["metadata"]["name"]), (&json!("ADDED"), &json!(name)));
    }
    world.stop().await;
    assert!(watch.rest().await.ends_with("0\r\n\r\n"), "the body is incomplete");
}

#[tokio::test]
async fn compressed_responses_are_passed_through() {
    let world = World::start(Options::default()).await;
    let mut large = settings("large");
    large["data"]["a"] = "compressible ".repeat(20_000).into();
    world.cluster.create(large).await.unwrap();
    let path = format!("/api/v1/namespaces/{}/configmaps", world.cluster.namespace());
    let plain = world.get(&path).await;
    assert_eq!(plain.header("content-encoding"), None);
    assert!(plain.body.len() > 200_000);
    let compressed = ask(world.address(), get(&path, "Accept-Encoding: gzip\r\n")).await;
    assert_eq!(compressed.header("content-encoding"), Some("gzip"));
    assert!(compressed.body.len() < 50_000);
    world.stop().await;
}

#[tokio::test]
async fn chunks_are_forwarded_immediately() {
    let upstream = Upstream::start(Script::default()).await;
    let served = Served::start(&Service::new(&upstream.client), Options::default()).await;
    let (send, pieces) = mpsc::unbounded_channel();
    *upstream.script.pieces.lock() = Some(pieces);
    send.send(Bytes::from("{1}\n")).unwrap();
    let mut open = Open::start(&served, &get("/api/v1/pods", "")).await;
    assert_eq!(open.line().await, "{1}\n");
    send.send(Bytes::from("{2}\n")).unwrap();
    assert_eq!(open.line().await, "{2}\n");
    drop(send);
    assert!(open.rest().await.ends_with("0\r\n\r\n"));
    served.stop().await;
    upstream.stop().await;
}

#[tokio::test]
async fn disconnecting_cancels_the_request() {
    let upstream = Upstream::start(Script::default()).await;
    let served = Served::start(&Service::new(&upstream.client), Options::default()).await;
    let (send, pieces) = mpsc::unbounded_channel();
    *upstream.script.pieces.lock() = Some(pieces);
    send.send(Bytes::from("{1}\n")).unwrap();
    let open = Open::start(&served, &get("/api/v1/pods?watch=1", "")).await;
    drop(open);
    timeout(LONG, upstream.script.dropped.cancelled()).await.expect("request still running");
    served.stop().await;
    upstream.stop().await;
}

#[tokio::test]
async fn requests_use_their_own_token_or_the_services() {
    let upstream =
        Upstream::start(Script { users: [("hers", json!({"username": "her"}))].into(), ..Script::default() })
            .await;
    let service = Service::new(&upstream.client);
    let open = Served::start(&service, Options::default()).await;
    let closed = Served::start(&service, Options::default().require_tokens(true)).await;
    let claims = "Impersonate-User: admin\r\nX-Remote-User: admin\r\n";
    let received = async |served: &Served, lines: &str| {
        let answer = ask(served.address, get("/api/v1/pods", &format!("{lines}{claims}"))).await;
        assert_eq!((answer.status, answer.header("set-cookie")), (200, None), "{answer:?}");
        assert_eq!(answer.header("access-control-allow-origin"), None);
        upstream.script.requests.lock().pop().unwrap()
    };
    let ours = received(&open, "Cookie: a=b\r\n").await;
    assert_eq!(ours["authorization"], "Bearer ours");
    let theirs = received(&open, "Authorization: Bearer hers\r\n").await;
    assert_eq!(
        (&theirs["authorization"], &theirs["impersonate-user"]),
        (&"Bearer hers".parse().unwrap(), &"admin".parse().unwrap())
    );
    let by_cookie = received(&closed, "Cookie: watchkeeper_token=hers\r\n").await;
    assert_eq!(by_cookie["authorization"], "Bearer hers");
    for headers in [&ours, &theirs, &by_cookie] {
        assert!(!headers.contains_key("cookie") && !headers.contains_key("x-remote-user"), "{headers:?}");
    }
    assert!(!ours.contains_key("impersonate-user"), "{ours:?}");
    open.stop().await;
    closed.stop().await;
    upstream.stop().await;
}

#[tokio::test]
async fn writes_require_a_flag() {
    let world = World::start(Options::default()).await;
    let writing = Served::start(&world.service, Options::default().proxy_writes(true)).await;
    let path = format!("/api/v1/namespaces/{}/configmaps", world.cluster.namespace());
    let body = settings("new").to_string();
    let write = |method: &str, path: &str, body: &str| {
        let length = body.len();
        let head = "Host: localhost\r\nConnection: close\r\nContent-Type: application/json";
        format!("{method} {path} HTTP/1.1\r\n{head}\r\nContent-Length: {length}\r\n\r\n{body}")
    };
    for method in ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"] {
        let answer = ask(world.address(), write(method, &path, &body)).await;
        assert_eq!(answer.status, 403, "{method}");
        let expected =
            "this proxy does not allow writes; to allow them, start the service with --proxy-writes";
        assert_eq!(message(&answer), expected);
    }
    let created = ask(writing.address, write("POST", &path, &body)).await;
    assert_eq!(created.status, 201, "{created:?}");
    let deleted = ask(writing.address, write("DELETE", &format!("{path}/new"), "")).await;
    assert_eq!(deleted.status, 200, "{deleted:?}");
    writing.stop().await;
    world.stop().await;
}

#[tokio::test]
async fn secrets_and_tokens_require_a_flag() {
    let opened = || Options::default().proxy_writes(true);
    let world = World::start(opened()).await;
    let open = Served::start(&world.service, opened().proxy_secrets(true)).await;
    let here = world.cluster.namespace();
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "door"}, "data": {"key": "aHVudGVyMg=="}});
    world.cluster.create(secret).await.unwrap();
    let request = |method: &str, path: &str, body: &str| {
        let head = "Host: localhost\r\nConnection: close\r\nContent-Type: application/merge-patch+json";
        format!("{method} {path} HTTP/1.1\r\n{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
    };
    let expected = "this proxy does not allow Secrets and service account tokens; to allow them, \
                    start the service with --proxy-secrets";
    for path in [
        "/api/v1/secrets".to_owned(),
        "/api/v1/secrets/".to_owned(),
        "/api/v1/secrets?watch=1&resourceVersion=0".to_owned(),
        "/api/v1/watch/secrets".to_owned(),
        "/api/v1/%73ecrets".to_owned(),
        "/api/v1//secrets".to_owned(),
        "/api/v1/namespaces//secrets".to_owned(),
        format!("/api/v1/namespaces/{here}/secrets"),
        format!("/api/v1/namespaces/{here}/secrets/door"),
        format!("/api/v1/namespaces/{here}%2Fsecrets/door"),
        format!("/api/v1/watch/namespaces/{here}/secrets/door"),
        format!("/api/v1/namespaces/{here}/serviceaccounts/default/token"),
    ] {
        for method in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] {
            let answer = ask(world.address(), request(method, &path, "{}")).await;
            assert_eq!(answer.status, 403, "{method} {path}: {answer:?}");
            assert!(!answer.body.contains("aHVudGVyMg"), "{method} {path}: {answer:?}");
            if method != "HEAD" {
                assert_eq!(message(&answer), expected, "{method} {path}");
            }
        }
    }
    // Other resources with such a name are allowed.
    world.cluster.create(settings("secrets")).await.unwrap();
    assert_eq!(world.get(&format!("/api/v1/namespaces/{here}/configmaps/secrets")).await.status, 200);

    let path = format!("/api/v1/namespaces/{here}/secrets/door");
    let read = ask(open.address, request("GET", &path, "")).await;
    assert_eq!((read.status, read.body.contains("aHVudGVyMg")), (200, true), "{read:?}");
    let token = format!("/api/v1/namespaces/{here}/serviceaccounts/default/token");
    let body = r#"{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{}}"#;
    let issued = ask(open.address, request("POST", &token, body).replace("merge-patch+json", "json")).await;
    assert_ne!(issued.status, 403, "{issued:?}");
    open.stop().await;
    world.stop().await;
}

#[tokio::test]
async fn bodies_up_to_the_api_servers_limit_are_forwarded() {
    let world = World::start(Options::default().proxy_writes(true)).await;
    let path = format!("/api/v1/namespaces/{}/configmaps", world.cluster.namespace());
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n"
    );
    let announced = format!("{head}Content-Length: {}\r\n\r\n", (3 << 20) + 1);
    let answer = ask(world.address(), announced).await;
    assert_eq!((answer.status, message(&answer).contains("limit is 3145728")), (413, true));

    let chunk = format!("{:x}\r\n{}\r\n", 1 << 20, " ".repeat(1 << 20));
    let too_long =
        ask(world.address(), format!("{head}Transfer-Encoding: chunked\r\n\r\n{}0\r\n\r\n", chunk.repeat(4)))
            .await;
    assert_eq!(too_long.status, 413, "{too_long:?}");
    let body = settings("long").to_string();
    let last = format!("{:x}\r\n{body}\r\n", body.len());
    let long = ask(
        world.address(),
        format!("{head}Transfer-Encoding: chunked\r\n\r\n{chunk}{chunk}{last}0\r\n\r\n"),
    )
    .await;
    assert_eq!(long.status, 201, "{long:?}");
    world.stop().await;
}

#[tokio::test]
async fn exec_and_port_forward_require_a_flag() {
    let world = World::start(Options::default().proxy_writes(true)).await;
    let upgrading = Served::start(&world.service, Options::default().proxy_upgrades(true)).await;
    let kubelet = Kubelet::start(&world.cluster, "node-1").await.unwrap();
    let spec = json!({"nodeName": "node-1", "containers": [{"name": "main", "image": "app"}]});
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": spec});
    world.cluster.create(pod).await.unwrap();

    let pod = through(&upgrading).pod(world.cluster.namespace(), "web");
    let mut process = pod.exec(["cat"], &ExecOptions { stdin: true, ..Default::default() }).await.unwrap();
    let (mut stdin, mut stdout) = (process.stdin().unwrap(), process.stdout().unwrap());
    let mut echo = [0; 9];
    for _ in 0..2 {
        stdin.write_all(b"to & fro\n").await.unwrap();
        timeout(LONG, stdout.read_exact(&mut echo)).await.expect("no echo").unwrap();
        assert_eq!(&echo, b"to & fro\n");
    }
    stdin.shutdown().await.unwrap();
    assert_eq!(timeout(LONG, process.wait()).await.expect("no end").unwrap(), Exit::Success);

    let mut forward = pod.port_forward(&[80]).await.unwrap();
    let mut port = forward.port(80).unwrap();
    port.write_all(b"to & fro\n").await.unwrap();
    timeout(LONG, port.read_exact(&mut echo)).await.expect("no echo").unwrap();
    drop((port, forward));
    while kubelet.open_streams() > 0 {
        tokio::task::yield_now().await;
    }

    let refused = through(&world.served).pod(world.cluster.namespace(), "web");
    let error = refused.exec(["cat"], &ExecOptions::default()).await.unwrap_err();
    let status = error.status().unwrap_or_else(|| panic!("{error:?}"));
    assert_eq!((status.code, status.message.ends_with("--proxy-upgrades")), (403, true), "{status:?}");

    upgrading.stop().await;
    let World { cluster, service, served } = world;
    served.stop().await;
    service.stop().await;
    cluster.stop().await;
    kubelet.stop().await;
}

#[tokio::test]
async fn connections_and_upgrades_are_recognized_in_any_spelling() {
    let world = World::start(Options::default().proxy_writes(true)).await;
    let upgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n";
    for (path, lines) in [
        ("/api/v1/namespaces/a/pods/b/exec", ""),
        ("/api/v1/namespaces/a/pods/b/%65xec?command=sh", ""),
        ("/api/v1/namespaces/a/pods/b/attach", ""),
        ("/api/v1/namespaces/a/pods/b/portforward", upgrade),
        ("/api/v1/namespaces/a/services/b/proxy/", ""),
        ("/api/v1/nodes/n/proxy/metrics", ""),
        ("/api/v1/pods?watch=1", upgrade),
    ] {
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{lines}\r\n");
        let mut open = Open::start(&world.served, &request).await;
        assert!(open.head.starts_with("HTTP/1.1 403 "), "{path}: {}", open.head);
        let mut body = String::new();
        while !body.ends_with("\"code\":403}") {
            body.push(char::from(timeout(LONG, open.stream.read_u8()).await.unwrap().unwrap()));
        }
        assert!(body.contains("--proxy-upgrades"), "{path}: {body}");
    }
    world.stop().await;
}

#[tokio::test]
async fn half_closed_upgrades_continue() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut config = Config::new(format!("http://{}", listener.local_addr().unwrap()).parse().unwrap());
    config.proxy = Proxy::Direct;
    let service = Service::new(&Client::new(&config).unwrap());
    let served = Served::start(&service, Options::default().proxy_upgrades(true)).await;
    let upstream = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let (mut stream, mut head) = (BufReader::new(stream), String::new());
        while !head.ends_with("\r\n\r\n") {
            stream.read_line(&mut head).await.unwrap();
        }
        let answer = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4\r\n\r\n";
        stream.write_all(answer.as_bytes()).await.unwrap();
        let mut received = Vec::new();
        stream.read_to_end(&mut received).await.unwrap(); // until the client has ended its side
        stream.write_all(&received).await.unwrap();
        stream.write_all(b", and then some").await.unwrap();
        head
    });
    let request = "POST /api/v1/namespaces/a/pods/b/exec HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n";
    let mut open = Open::start(&served, request).await;
    assert!(open.head.starts_with("HTTP/1.1 101 "), "{}", open.head);
    let lines = open.head.to_ascii_lowercase();
    assert!(
        lines.contains("\r\nupgrade: spdy/3.1\r\n")
            && lines.contains("\r\nx-stream-protocol-version: v4\r\n"),
        "{lines}"
    );
    open.stream.get_mut().write_all(b"all that I have to say").await.unwrap();
    open.stream.get_mut().shutdown().await.unwrap();
    assert_eq!(open.rest().await, "all that I have to say, and then some");
    let head = upstream.await.unwrap().to_ascii_lowercase();
    assert!(head.contains("upgrade: spdy/3.1\r\n") && head.contains("connection: upgrade\r\n"), "{head}");
    served.stop().await;
}

#[tokio::test]
async fn a_dead_api_server_ends_watches_and_gives_bad_gateway() {
    let world = World::start(Options::default()).await;
    let path = format!("/api/v1/namespaces/{}/configmaps?watch=1", world.cluster.namespace());
    let cut = world.cluster.faults().add(
        watchkeeper_testkit::Fault::on(watchkeeper_testkit::Verb::Watch)
            .resource("configmaps")
            .cut()
            .times(1),
    );
    let watch = Open::start(&world.served, &get(&path, "")).await;
    world.cluster.create(settings("one")).await.unwrap();
    let rest = watch.rest().await;
    assert_eq!(
        (cut.hits(), rest.ends_with("0\r\n\r\n")),
        (1, false),
        "a truncated body looks complete: {rest}"
    );
    let World { cluster, service, served } = world;
    cluster.stop().await;
    let answer = ask(served.address, get("/api/v1/pods", "")).await;
    assert_eq!(answer.status, 502);
    assert!(message(&answer).starts_with("the API server did not respond: "), "{answer:?}");
    served.stop().await;
    service.stop().await;
}

#[tokio::test]
async fn path_traversal_through_the_proxy_is_rejected() {
    let world = World::start(Options::default()).await;
    for path in [
        "/api/../v1/resources",
        "/api/v1/%2e%2e/%2e%2e/debug",
        "/api/%2e/v1",
        "/api/v1/..%2f..%2fmetrics",
        "/apis/%",
    ] {
        let answer = world.get(path).await;
        assert_eq!((answer.status, message(&answer).as_str()), (400, "invalid path"), "{path}");
    }
    world.stop().await;
}
