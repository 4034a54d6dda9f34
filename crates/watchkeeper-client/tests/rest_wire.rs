//! Requests and responses on the wire, against a scripted server.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::Method;
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use watchkeeper_client::config::Proxy;
use watchkeeper_client::rest::{Content, RateLimiter, Request, RequestError, RetryPolicy};
use watchkeeper_client::transport::Body;
use watchkeeper_client::{Config, RestClient, Transport};
use watchkeeper_core::ErrorChain;

/// The server's reaction to a request.
#[derive(Clone)]
enum Reply {
    /// Responds with this code, headers and body.
    Respond(u16, String, Vec<u8>),
    /// Sends the head at once and the body later.
    Slow(Duration, &'static str),
    /// Closes the connection.
    Close,
    /// Never responds.
    Hang,
}

fn respond(code: u16, headers: &str, body: impl Into<Vec<u8>>) -> Reply {
    Reply::Respond(code, headers.to_owned(), body.into())
}

fn json(code: u16, body: &str) -> Reply {
    respond(code, "content-type: application/json\r\n", body)
}

fn ok() -> Reply {
    json(200, "{}")
}

/// An HTTP/1.1 server with one request per connection. The last reply is repeated.
struct Server {
    address: String,
    state: Arc<State>,
    _serving: JoinSet<()>,
}

#[derive(Default)]
struct State {
    replies: Mutex<VecDeque<Reply>>,
    /// Methods and targets.
    requests: Mutex<Vec<String>>,
    hangs: Notify,
    gone: Notify,
}

impl Server {
    async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let state =
            Arc::new(State { replies: Mutex::new(replies.into_iter().collect()), ..State::default() });
        let mut serving = JoinSet::new();
        let shared = state.clone();
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(shared.clone().serve(stream));
            }
        });
        Self { address, state, _serving: serving }
    }

    fn client(&self, path: &str) -> RestClient {
        self.below("", path)
    }

    /// A client of a server with a path prefix in its address.
    fn below(&self, prefix: &str, path: &str) -> RestClient {
        let mut config = Config::new(format!("http://{}{prefix}", self.address).parse().unwrap());
        config.proxy = Proxy::Direct;
        RestClient::new(Transport::from_config(&config).unwrap(), path, Content::json())
    }

    fn core(&self) -> RestClient {
        self.client("/api/v1")
    }

    /// Returns the requests since the last call.
    fn requests(&self) -> Vec<String> {
        std::mem::take(&mut *self.state.requests.lock())
    }

    fn set_replies(&self, replies: impl IntoIterator<Item = Reply>) {
        *self.state.replies.lock() = replies.into_iter().collect();
    }
}

impl State {
    async fn serve(self: Arc<Self>, mut stream: TcpStream) {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            match stream.read_u8().await {
                Ok(byte) => head.push(byte),
                Err(_) => return,
            }
        }
        let head = String::from_utf8(head).unwrap().to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
        stream.read_exact(&mut body).await.unwrap();
        self.requests.lock().push(head.lines().next().unwrap().trim_end_matches(" http/1.1").to_owned());
        let reply = {
            let mut replies = self.replies.lock();
            if replies.len() > 1 { replies.pop_front() } else { replies.front().cloned() }
        };
        let (text, later) = match reply.unwrap() {
            Reply::Respond(code, headers, body) => {
                let length = body.len();
                let head = format!(
                    "HTTP/1.1 {code} X\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n"
                );
                ([head.as_bytes(), &body].concat(), None)
            }
            Reply::Slow(after, body) => {
                let head =
                    format!("HTTP/1.1 200 X\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
                (head.into_bytes(), Some((after, body)))
            }
            Reply::Close => return,
            Reply::Hang => {
                self.hangs.notify_one();
                let ended = stream.read_u8().await;
                assert!(ended.is_err(), "unexpected bytes after the request");
                self.gone.notify_one();
                return;
            }
        };
        // The client may be gone.
        let _ = stream.write_all(&text).await;
        if let Some((after, body)) = later {
            tokio::time::sleep(after).await;
            let _ = stream.write_all(body.as_bytes()).await;
        }
    }
}

#[tokio::test]
async fn the_target_does_not_depend_on_the_order_of_the_parts() {
    let server = Server::start([ok()]).await;
    let core = server.core();
    let apps = server.client("/apis/apps/v1/");
    let below = server.below("/p1/api/p2/", "/api/v1");
    for (request, target) in [
        (core.get().resource("pods"), "/api/v1/pods"),
        (
            core.get().subresource("log").name("a").namespace("n").resource("PODS"),
            "/api/v1/namespaces/n/pods/a/log",
        ),
        (
            core.get().namespace("n").resource("pods").name("a").subresource("log"),
            "/api/v1/namespaces/n/pods/a/log",
        ),
        (core.get().namespace("").resource("pods"), "/api/v1/pods"),
        (
            core.get().resource("services").name("s").subresource("proxy").suffix("x").suffix("y z"),
            "/api/v1/services/s/proxy/x/y%20z",
        ),
        (apps.get().resource("deployments").namespace("n"), "/apis/apps/v1/namespaces/n/deployments"),
        (core.get().abs_path("/healthz/"), "/healthz/"),
        (core.get().abs_path("/healthz"), "/healthz"),
        (core.get().abs_path("/"), "/"),
        (core.get().abs_path("/apis/x/v1/").resource("foos").name("f"), "/apis/x/v1/foos/f"),
        (below.get().resource("pods"), "/p1/api/p2/api/v1/pods"),
        (below.get().abs_path("/api/"), "/p1/api/p2/api/"),
        (
            core.get().resource("pods").param("b", "2").param("a", "x y&z").param("b", "1"),
            "/api/v1/pods?a=x%20y%26z&b=2&b=1",
        ),
        (
            core.get().resource("pods").param("timeout", "5s").timeout(Duration::from_secs(2)),
            "/api/v1/pods?timeout=2s",
        ),
    ] {
        let template = request.template();
        request.raw().await.unwrap();
        assert_eq!(server.requests(), [format!("get {}", target.to_lowercase())], "{template}");
    }
}

#[tokio::test]
async fn every_part_is_set_once_and_stays_one_segment() {
    let server = Server::start([ok()]).await;
    let core = server.core();
    type Set = fn(Request, &str) -> Request;
    let parts: [(&str, Set); 4] = [
        ("namespace", Request::namespace),
        ("resource", Request::resource),
        ("name", Request::name),
        ("subresource", Request::subresource),
    ];
    for (part, set) in parts {
        let error = set(set(core.get(), "a"), "b").send().await.unwrap_err();
        assert!(
            ErrorChain(&error).to_string().ends_with(&format!("{part} set twice: \"a\" and \"b\"")),
            "{error}"
        );
        for bad in [".", "..", "a/b", "a%2fb", "/"] {
            let error = set(core.get(), bad).send().await.unwrap_err();
            assert!(ErrorChain(&error).to_string().contains(&format!("invalid {part} {bad:?}: ")), "{error}");
            assert!(matches!(set(core.get(), bad).open_watch().await, Err(RequestError::Invalid { .. })));
        }
        for good in ["...", "a.b", ".a", "a..b"] {
            set(core.get(), good).send().await.unwrap();
        }
    }
    server.requests();
    let first = core.get().name("a/b").name("c").resource("d/e").send().await.unwrap_err();
    assert!(
        ErrorChain(&first).to_string().contains("name \"a/b\""),
        "the first mistake is reported: {first}"
    );
    for (method, name, is_invalid) in [
        (Method::POST, "", true),
        (Method::GET, "a", true),
        (Method::PUT, "a", true),
        (Method::DELETE, "a", true),
        (Method::GET, "", false),
        (Method::DELETE, "", false),
        (Method::PATCH, "a", false),
    ] {
        let request = core.request(method.clone()).namespace("").resource("pods");
        let request = if name.is_empty() { request } else { request.name(name) };
        assert_eq!(request.send().await.is_err(), is_invalid, "{method} {name:?}");
    }
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn error_responses_are_retried_alike_for_every_verb() {
    let server = Server::start([ok()]).await;
    let core = server.core();
    let after = |code: u16| respond(code, "retry-after: 0\r\n", "");
    for method in [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
        for (first, requests) in [
            (after(429), 2),
            (after(500), 2),
            (after(503), 2),
            (respond(429, "", ""), 1),
            (respond(503, "", ""), 1),
            (after(404), 1),
            (after(409), 1),
            (ok(), 1),
        ] {
            let request = || core.request(method.clone()).resource("pods").body("x");
            server.set_replies([first.clone(), ok()]);
            let is_ok = requests == 2 || matches!(first, Reply::Respond(200, ..));
            assert_eq!(request().send().await.is_ok(), is_ok);
            assert_eq!(server.requests().len(), requests, "{method}");
            server.set_replies([first.clone(), ok()]);
            let _ = request().stream().await;
            assert_eq!(server.requests().len(), requests, "{method}, as a stream");
            server.set_replies([first.clone(), ok()]);
            let _ = request().open_watch().await;
            assert_eq!(server.requests().len(), requests, "{method}, as a watch");
            server.set_replies([first, ok()]);
            let _ = request().body_stream(Body::from("x")).send().await;
            assert_eq!(server.requests().len(), 1, "{method}: a streaming body is sent once");
        }
    }
    server.set_replies([after(503)]);
    let error =
        core.post().resource("pods").retry_policy(RetryPolicy { max_retries: 3, backoff: None }).send().await;
    assert!(error.unwrap_err().status().unwrap().is_service_unavailable());
    assert_eq!(server.requests().len(), 4);
}

#[tokio::test]
async fn a_lost_connection_is_retried_only_if_nothing_can_happen_twice() {
    let check = async |call: fn(RestClient) -> Call, expected: usize| {
        let server = Server::start([Reply::Close, ok()]).await;
        let outcome = call(server.core()).await;
        assert_eq!(server.requests().len(), expected);
        match expected {
            2 => outcome.unwrap(),
            _ => assert!(outcome.unwrap_err().may_have_happened()),
        }
    };
    // Concurrently, since each waits a second before its retry.
    tokio::join!(
        check(|core| Box::pin(async move { core.get().resource("pods").send().await.map(drop) }), 2),
        check(|core| Box::pin(async move { core.get().resource("pods").open_watch().await.map(drop) }), 2),
        check(|core| Box::pin(async move { core.get().resource("pods").stream().await.map(drop) }), 1),
        check(|core| Box::pin(async move { core.post().resource("pods").send().await.map(drop) }), 1),
        check(|core| Box::pin(async move { core.put().resource("pods").send().await.map(drop) }), 1),
        check(|core| Box::pin(async move { core.delete().resource("pods").send().await.map(drop) }), 1),
    );
    // client-go returns an empty watch here; we return the error.
    let server = Server::start([Reply::Close]).await;
    let watch = server.core().get().resource("pods").retry_policy(RetryPolicy::NONE).open_watch();
    let error = watch.await.unwrap_err();
    assert!(matches!(&error, RequestError::Transport { source, .. } if source.was_sent()), "{error}");
}

type Call = std::pin::Pin<Box<dyn Future<Output = Result<(), RequestError>>>>;

#[tokio::test]
async fn the_status_in_the_body_wins_over_the_code() {
    let server = Server::start([ok()]).await;
    let get = async |reply: Reply| {
        server.set_replies([reply]);
        let error = server.core().get().resource("pods").name("a").send().await.unwrap_err();
        let status = error.status().unwrap().clone();
        (status.code, status.reason.to_string(), status.message)
    };
    let failure = r#"{"metadata":{},"details":{"name":"a name that is long enough to push the kind back"},
        "status":"Failure","message":"no","reason":"Expired","code":410,"apiVersion":"v1","kind":"Status"}"#;
    assert_eq!(get(json(500, failure)).await, (410, "Expired".into(), "no".into()));
    let untyped = r#"{"kind":"Status","status":"Failure","message":"no","reason":"Expired","code":410}"#;
    assert_eq!(get(json(500, untyped)).await.0, 410, "apiVersion is optional");
    for ignored in [
        r#"{"kind":"Status","apiVersion":"v1","status":"Success","code":200}"#,
        r#"{"apiVersion":"v1","status":"Failure","message":"no","reason":"Expired","code":410}"#,
        r#"{"kind":"Pod","apiVersion":"v1","status":"Failure","code":410}"#,
        r#"{"kind":"Status","#,
        "",
    ] {
        let (code, reason, message) = get(json(500, ignored)).await;
        assert_eq!((code, &*reason), (500, "InternalError"), "{ignored}");
        let expected =
            "an error on the server (\"unknown\") has prevented the request from succeeding (get pods a)";
        assert_eq!(message, expected, "JSON is not shown as text: {ignored}");
    }
    for (code, reason) in [
        (400, "BadRequest"),
        (401, "Unauthorized"),
        (403, "Forbidden"),
        (404, "NotFound"),
        (405, "MethodNotAllowed"),
        (406, "NotAcceptable"),
        (409, "Conflict"),
        (415, "UnsupportedMediaType"),
        (422, "Invalid"),
        (429, "TooManyRequests"),
        (502, "InternalError"),
        (503, "ServiceUnavailable"),
        (504, "Timeout"),
    ] {
        assert_eq!(get(respond(code, "", "")).await.1, reason, "{code}");
    }
    server.set_replies([respond(409, "", "")]);
    let error = server.core().post().resource("pods").send().await.unwrap_err();
    assert!(error.is_already_exists(), "409 to a POST");

    for headers in ["content-type: text/plain\r\n", ""] {
        let (_, _, message) = get(respond(502, headers, "x".repeat(5000))).await;
        assert_eq!(message.matches('x').count(), 2048, "{headers}");
    }
    // A failure Status with code 200.
    server.set_replies([json(200, failure)]);
    let raw = server.core().get().resource("pods").raw().await.unwrap();
    assert_eq!(raw, failure, "raw does not decode");
    server.set_replies([json(200, untyped)]);
    let response = server.core().get().resource("pods").send().await.unwrap();
    assert_eq!(response.into::<serde_json::Value>().unwrap_err().to_string(), "no");
    server.set_replies([respond(200, "", "")]);
    let response = server.core().get().resource("pods").send().await.unwrap();
    let error = response.into::<serde_json::Value>().unwrap_err().to_string();
    assert_eq!(error, "GET /api/v1/pods: failed to decode the response: empty body");
}

#[tokio::test]
async fn a_timeout_covers_all_attempts_but_not_the_wait_for_the_rate_limiter() {
    let server = Server::start([respond(429, "retry-after: 1\r\n", "")]).await;
    let started = Instant::now();
    let list = server.core().get().resource("pods").timeout(Duration::from_millis(200));
    let error = list.send().await.unwrap_err();
    assert!(matches!(error, RequestError::TimedOut { .. }), "{error}");
    assert!(started.elapsed() < Duration::from_secs(1), "it does not wait for the retry");
    assert_eq!(server.requests(), ["get /api/v1/pods?timeout=0.2s"]);

    server.set_replies([Reply::Slow(Duration::from_secs(600), "late")]);
    let list = server.core().get().resource("pods").timeout(Duration::from_millis(200));
    assert!(matches!(list.send().await.unwrap_err(), RequestError::TimedOut { .. }), "the body is included");

    server.set_replies([ok()]);
    let limiter = Arc::new(RateLimiter::new(2.0, 1));
    limiter.wait().await;
    let started = Instant::now();
    let core = server.core().rate_limiter(limiter);
    core.get().resource("pods").timeout(Duration::from_millis(250)).send().await.unwrap();
    assert!(started.elapsed() > Duration::from_millis(250), "it waited longer than its timeout");
}

#[tokio::test]
async fn a_timeout_does_not_cut_off_watches_and_streams() {
    let server = Server::start([Reply::Slow(Duration::from_millis(200), "late")]).await;
    let request = || server.core().get().resource("pods").timeout(Duration::from_millis(50));
    let watch = request().open_watch().await.unwrap();
    assert_eq!(watch.into_body().bytes().await.unwrap(), "late");
    let stream = request().stream().await.unwrap();
    assert_eq!(stream.into_body().bytes().await.unwrap(), "late");
}

#[tokio::test]
async fn dropping_a_request_cancels_it_at_the_server() {
    let server = Server::start([Reply::Hang]).await;
    let request = || server.core().get().resource("pods");
    let kinds: [Call; 3] = [
        Box::pin({
            let request = request();
            async { request.send().await.map(drop) }
        }),
        Box::pin({
            let request = request();
            async { request.stream().await.map(drop) }
        }),
        Box::pin({
            let request = request();
            async { request.open_watch().await.map(drop) }
        }),
    ];
    for call in kinds {
        tokio::select! {
            outcome = call => panic!("unexpected response: {outcome:?}"),
            () = server.state.hangs.notified() => {}
        }
        server.state.gone.notified().await;
    }
}
