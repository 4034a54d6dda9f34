//! Retries of requests by verb, outcome and kind of call, as in client-go.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use http::Method;
use tokio::net::TcpListener;
use watchkeeper_client::rest::{MAX_RETRY_AFTER, RateLimiter, Request, RequestError, RetryPolicy};

use super::scripted::{Act, Scripted, plain, response};
use super::{core, with_cause};

#[derive(Debug, Clone, Copy, PartialEq)]
enum Call {
    Do(&'static str),
    Watch,
    Stream,
}

const CALLS: [Call; 7] = [
    Call::Do("GET"),
    Call::Do("POST"),
    Call::Do("PUT"),
    Call::Do("PATCH"),
    Call::Do("DELETE"),
    Call::Watch,
    Call::Stream,
];

impl Call {
    fn method(self) -> Method {
        match self {
            Self::Do(method) => method.parse().unwrap(),
            Self::Watch | Self::Stream => Method::GET,
        }
    }

    async fn make(self, request: Request) -> Result<(), RequestError> {
        match self {
            Self::Do(_) => request.send().await.map(drop),
            Self::Watch => request.open_watch().await.map(drop),
            Self::Stream => request.stream().await.map(drop),
        }
    }
}

/// The calls that are retried.
#[derive(Debug, Clone, Copy)]
enum Retried {
    All,
    GetAndWatch,
    None,
}

impl Retried {
    fn includes(self, call: Call) -> bool {
        match self {
            Self::All => true,
            Self::GetAndWatch => matches!(call, Call::Do("GET") | Call::Watch),
            Self::None => false,
        }
    }
}

const BUSY: &str = "retry-after: 0\r\n";

fn outcomes() -> Vec<(&'static str, Act, Retried)> {
    vec![
        ("200", response(200, "", "{}"), Retried::None),
        ("429 with Retry-After", response(429, BUSY, ""), Retried::All),
        ("429 without", response(429, "", ""), Retried::None),
        (
            "429 with a date",
            response(429, "retry-after: Wed, 21 Oct 2015 07:28:00 GMT\r\n", ""),
            Retried::None,
        ),
        ("503 with Retry-After", response(503, BUSY, ""), Retried::All),
        ("503 without", response(503, "", ""), Retried::None),
        ("500 with Retry-After", response(500, BUSY, ""), Retried::All),
        ("404 with Retry-After", response(404, BUSY, ""), Retried::None),
        ("reset", Act::Reset, Retried::GetAndWatch),
        ("EOF", Act::Send(Vec::new()), Retried::GetAndWatch),
        ("EOF within the head", Act::Send(b"HTTP/1.1 200 OK\r\ncont".to_vec()), Retried::GetAndWatch),
        ("invalid HTTP", Act::Send(b"\x15\x03\x01 what?\r\n\r\n".to_vec()), Retried::None),
    ]
}

#[tokio::test]
async fn retries_depend_on_verb_outcome_and_kind_of_call() {
    let cells = outcomes().into_iter().flat_map(|outcome| CALLS.map(|call| (call, outcome.clone())));
    join_all(cells.map(|(call, (name, act, retried))| async move {
        let server = Scripted::start(vec![act]).await;
        let core = core(&server.config()).retry_policy(RetryPolicy { max_retries: 1, backoff: None });
        let request = core.request(call.method()).namespace("ns").resource("configmaps").name("a").body("{}");
        let outcome = call.make(request).await;
        let expected = if retried.includes(call) { 2 } else { 1 };
        assert_eq!(server.requests(), expected, "{call:?} {name}: {outcome:?}");
        match outcome {
            Ok(()) => assert_eq!(name, "200"),
            Err(error) => {
                let request = format!("{} /api/v1/namespaces/ns/configmaps/a", call.method());
                assert_eq!(error.request(), request, "{call:?} {name}");
            }
        }
    }))
    .await;
}

/// Failures before anything is sent.
#[tokio::test]
async fn a_refused_connection_is_never_retried_and_a_connect_timeout_only_for_a_watch() {
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    join_all(CALLS.map(|call| async move {
        let core = core(&plain(gone));
        let started = Instant::now();
        let error = call.make(core.request(call.method()).resource("pods")).await.unwrap_err();
        assert!(started.elapsed() < Duration::from_millis(900), "{call:?} was retried");
        assert_eq!(
            with_cause(&error),
            format!("{} /api/v1/pods failed: failed to connect to {gone}", call.method())
        );
        assert!(matches!(&error, RequestError::Transport { source, .. } if source.is_connection_refused()));
        assert!(!error.may_have_happened());
    }))
    .await;

    // The backlog is full of connections that are never accepted.
    let (deaf, _backlog) = deaf().await;
    join_all(CALLS.map(|call| async move {
        let mut config = plain(deaf.0);
        config.connect_timeout = Duration::from_millis(200);
        let core = core(&config).retry_policy(RetryPolicy { max_retries: 1, backoff: None });
        let started = Instant::now();
        let error = call.make(core.request(call.method()).resource("pods")).await.unwrap_err();
        let was_retried = started.elapsed() >= Duration::from_secs(1);
        assert_eq!(was_retried, call == Call::Watch, "{call:?}: {:?}", started.elapsed());
        let prefix = format!("{} /api/v1/pods failed: ", call.method());
        let text = with_cause(&error);
        let message = text.strip_prefix(&prefix).unwrap_or_else(|| panic!("{text}"));
        assert!(
            message.starts_with("connecting to ") || message.starts_with("failed to connect to "),
            "{text}"
        );
        assert!(matches!(&error, RequestError::Transport { source, .. } if source.is_connect_timeout()));
    }))
    .await;
}

/// A port with a full backlog.
async fn deaf() -> ((std::net::SocketAddr, TcpListener), Vec<tokio::net::TcpStream>) {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(0).unwrap();
    let address = listener.local_addr().unwrap();
    let mut backlog = Vec::new();
    loop {
        let connecting = tokio::net::TcpStream::connect(address);
        match tokio::time::timeout(Duration::from_millis(300), connecting).await {
            Ok(stream) => backlog.push(stream.unwrap()),
            Err(_) => return ((address, listener), backlog),
        }
    }
}

#[tokio::test]
async fn retry_after_is_honoured() {
    let server =
        Scripted::start(vec![response(429, "retry-after: 2\r\n", ""), response(200, "", "{}")]).await;
    let started = Instant::now();
    core(&server.config()).get().resource("pods").send().await.unwrap();
    assert!(started.elapsed() >= Duration::from_secs(2), "{:?}", started.elapsed());
    assert_eq!(server.requests(), 2);
}

/// No longer than [`MAX_RETRY_AFTER`].
#[tokio::test]
async fn an_excessive_retry_after_is_an_error_without_a_retry() {
    assert_eq!(MAX_RETRY_AFTER.as_secs(), 300);
    for seconds in ["99999999999", "301", "18446744073709551615"] {
        let headers = format!("retry-after: {seconds}\r\ncontent-type: text/plain\r\n");
        let server = Scripted::start(vec![response(429, &headers, "busy")]).await;
        let started = Instant::now();
        let error = core(&server.config()).get().resource("pods").send().await.unwrap_err();
        assert!(started.elapsed() < Duration::from_secs(60), "waited");
        assert!(matches!(error, RequestError::RetryAfter { .. }), "{error:?}");
        assert!(error.status().unwrap().is_too_many_requests() && !error.may_have_happened());
        let expected = format!("not retried because Retry-After of {seconds}s exceeds the limit of 300s");
        assert!(error.to_string().contains(&expected), "{error}");
        assert_eq!(server.requests(), 1);
    }
}

#[tokio::test]
async fn a_request_is_retried_ten_times() {
    let status = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","message":"go away",
        "reason":"TooManyRequests","code":429}"#;
    let headers = "retry-after: 0\r\ncontent-type: application/json\r\n";
    let server = Scripted::start(vec![response(429, headers, status)]).await;
    let error = core(&server.config()).post().resource("pods").body("{}").send().await.unwrap_err();
    assert_eq!(server.requests(), 11);
    assert_eq!((error.request(), error.to_string().as_str()), ("POST /api/v1/pods", "go away"));
    assert!(error.status().unwrap().is_too_many_requests());
}

/// `rest.R3`.
#[tokio::test]
async fn a_streaming_body_is_sent_once() {
    let server = Scripted::start(vec![response(503, BUSY, ""), response(200, "", "{}")]).await;
    let body = watchkeeper_client::transport::Body::stream(watchkeeper_client::transport::Body::from("{}"));
    let error = core(&server.config()).get().resource("pods").body_stream(body).send().await.unwrap_err();
    assert_eq!((server.requests(), error.status().unwrap().code), (1, 503));
}

#[tokio::test]
async fn a_hanging_server_times_out() {
    let server = Scripted::start(vec![Act::Hang]).await;
    let get = core(&server.config()).get().resource("pods").timeout(Duration::from_millis(300));
    let started = Instant::now();
    let error = get.send().await.unwrap_err();
    assert_eq!(error.to_string(), "GET /api/v1/pods: timed out after 0.3s");
    assert!(started.elapsed() < Duration::from_secs(5) && error.may_have_happened());
    assert_eq!(server.requests(), 1);
}

/// The first attempt of a watch is not rate limited; every other attempt is.
#[tokio::test]
async fn every_attempt_but_the_first_of_a_watch_is_rate_limited() {
    let acts = vec![response(429, BUSY, ""), response(200, "", "{}"), response(429, BUSY, "")];
    let server = Scripted::start(acts).await;
    let one_token = Arc::new(RateLimiter::new(0.001, 1));
    let core = core(&server.config()).rate_limiter(one_token);
    core.get().resource("pods").open_watch().await.unwrap(); // the second attempt took the token
    assert_eq!(server.requests(), 2);
    let watch = core.get().resource("pods").open_watch();
    assert!(tokio::time::timeout(Duration::from_millis(300), watch).await.is_err());
    assert_eq!(server.requests(), 3, "the first attempt was sent, the second waits");
    let get = core.get().resource("pods").send();
    assert!(tokio::time::timeout(Duration::from_millis(300), get).await.is_err());
    assert_eq!(server.requests(), 3, "other requests wait before their first attempt");
}
