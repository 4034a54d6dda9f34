//! Which requests are tried again: verb, outcome and kind of call, as in client-go.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use http::Method;
use tokio::net::TcpListener;
use watchkeeper_client::rest::{Limiter, MAX_RETRY_AFTER, Request, RequestError, Retries};

use super::core;
use super::scripted::{Act, Scripted, answer, plain};

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

/// Who tries again.
#[derive(Debug, Clone, Copy)]
enum Who {
    Everybody,
    GetAndWatch,
    Nobody,
}

impl Who {
    fn has(self, call: Call) -> bool {
        match self {
            Self::Everybody => true,
            Self::GetAndWatch => matches!(call, Call::Do("GET") | Call::Watch),
            Self::Nobody => false,
        }
    }
}

const BUSY: &str = "retry-after: 0\r\n";

fn outcomes() -> Vec<(&'static str, Act, Who)> {
    vec![
        ("200", answer(200, "", "{}"), Who::Nobody),
        ("429 with Retry-After", answer(429, BUSY, ""), Who::Everybody),
        ("429 without", answer(429, "", ""), Who::Nobody),
        ("429 with a date", answer(429, "retry-after: Wed, 21 Oct 2015 07:28:00 GMT\r\n", ""), Who::Nobody),
        ("503 with Retry-After", answer(503, BUSY, ""), Who::Everybody),
        ("503 without", answer(503, "", ""), Who::Nobody),
        ("500 with Retry-After", answer(500, BUSY, ""), Who::Everybody),
        ("404 with Retry-After", answer(404, BUSY, ""), Who::Nobody),
        ("reset", Act::Reset, Who::GetAndWatch),
        ("EOF", Act::Say(Vec::new()), Who::GetAndWatch),
        ("EOF within the head", Act::Say(b"HTTP/1.1 200 OK\r\ncont".to_vec()), Who::GetAndWatch),
        ("no HTTP", Act::Say(b"\x15\x03\x01 what?\r\n\r\n".to_vec()), Who::Nobody),
    ]
}

/// C28.
#[tokio::test]
async fn a_request_is_tried_again_by_its_verb_its_outcome_and_its_kind() {
    let cells = outcomes().into_iter().flat_map(|outcome| CALLS.map(|call| (call, outcome.clone())));
    join_all(cells.map(|(call, (name, act, who))| async move {
        let server = Scripted::start(vec![act]).await;
        let core = core(&server.config()).retries(Retries { times: 1, backoff: None });
        let request = core.request(call.method()).namespace("ns").resource("configmaps").name("a").body("{}");
        let outcome = call.make(request).await;
        let expected = if who.has(call) { 2 } else { 1 };
        assert_eq!(server.asked(), expected, "{call:?} {name}: {outcome:?}");
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

/// C28, what fails before anything is sent.
#[tokio::test]
async fn a_refused_connection_is_never_tried_again_and_one_that_is_not_made_in_time_only_for_a_watch() {
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    join_all(CALLS.map(|call| async move {
        let core = core(&plain(gone));
        let begun = Instant::now();
        let error = call.make(core.request(call.method()).resource("pods")).await.unwrap_err();
        assert!(begun.elapsed() < Duration::from_millis(900), "{call:?} has waited to try again");
        assert_eq!(error.to_string(), format!("{} /api/v1/pods: failed to connect to {gone}", call.method()));
        assert!(matches!(&error, RequestError::Transport { source, .. } if source.is_refused()));
        assert!(!error.may_have_happened());
    }))
    .await;

    // Its backlog is taken by connections that nobody accepts.
    let (deaf, _taken) = deaf().await;
    join_all(CALLS.map(|call| async move {
        let mut config = plain(deaf.0);
        config.connect_timeout = Duration::from_millis(200);
        let core = core(&config).retries(Retries { times: 1, backoff: None });
        let begun = Instant::now();
        let error = call.make(core.request(call.method()).resource("pods")).await.unwrap_err();
        let has_waited = begun.elapsed() >= Duration::from_secs(1);
        assert_eq!(has_waited, call == Call::Watch, "{call:?}: {:?}", begun.elapsed());
        assert!(error.to_string().starts_with(&format!("{} /api/v1/pods: cannot connect", call.method())));
        assert!(matches!(&error, RequestError::Transport { source, .. } if source.is_connect_timeout()));
    }))
    .await;
}

/// A port where nobody accepts, nor has room to wait.
async fn deaf() -> ((std::net::SocketAddr, TcpListener), Vec<tokio::net::TcpStream>) {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(0).unwrap();
    let address = listener.local_addr().unwrap();
    let mut taken = Vec::new();
    loop {
        let connecting = tokio::net::TcpStream::connect(address);
        match tokio::time::timeout(Duration::from_millis(300), connecting).await {
            Ok(stream) => taken.push(stream.unwrap()),
            Err(_) => return ((address, listener), taken),
        }
    }
}

/// C29.
#[tokio::test]
async fn a_request_waits_as_long_as_the_server_asks_for() {
    let server = Scripted::start(vec![answer(429, "retry-after: 2\r\n", ""), answer(200, "", "{}")]).await;
    let begun = Instant::now();
    core(&server.config()).get().resource("pods").send().await.unwrap();
    assert!(begun.elapsed() >= Duration::from_secs(2), "{:?}", begun.elapsed());
    assert_eq!(server.asked(), 2);
}

/// C29: and no longer than [`MAX_RETRY_AFTER`].
#[tokio::test]
async fn a_server_that_asks_for_too_long_a_wait_is_not_asked_again() {
    assert_eq!(MAX_RETRY_AFTER.as_secs(), 300);
    for seconds in ["99999999999", "301", "18446744073709551615"] {
        let headers = format!("retry-after: {seconds}\r\ncontent-type: text/plain\r\n");
        let server = Scripted::start(vec![answer(429, &headers, "busy")]).await;
        let begun = Instant::now();
        let error = core(&server.config()).get().resource("pods").send().await.unwrap_err();
        assert!(begun.elapsed() < Duration::from_secs(60), "it has not waited");
        assert!(matches!(error, RequestError::RetryAfter { .. }), "{error:?}");
        assert!(error.status().unwrap().is_too_many_requests() && !error.may_have_happened());
        let expected = format!("not retried: Retry-After is {seconds} s, and the limit is 300 s");
        assert!(error.to_string().contains(&expected), "{error}");
        assert_eq!(server.asked(), 1);
    }
}

#[tokio::test]
async fn a_request_is_tried_ten_times_more_and_then_it_has_failed() {
    let status = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","message":"go away",
        "reason":"TooManyRequests","code":429}"#;
    let headers = "retry-after: 0\r\ncontent-type: application/json\r\n";
    let server = Scripted::start(vec![answer(429, headers, status)]).await;
    let error = core(&server.config()).post().resource("pods").body("{}").send().await.unwrap_err();
    assert_eq!(server.asked(), 11);
    assert_eq!((error.request(), error.to_string().as_str()), ("POST /api/v1/pods", "go away"));
    assert!(error.status().unwrap().is_too_many_requests());
}

/// R3.
#[tokio::test]
async fn a_body_that_is_a_stream_is_sent_once() {
    let server = Scripted::start(vec![answer(503, BUSY, ""), answer(200, "", "{}")]).await;
    let body = watchkeeper_client::transport::Body::stream(watchkeeper_client::transport::Body::from("{}"));
    let error = core(&server.config()).get().resource("pods").body_stream(body).send().await.unwrap_err();
    assert_eq!((server.asked(), error.status().unwrap().code), (1, 503));
}

#[tokio::test]
async fn a_server_that_hangs_is_left_when_the_time_is_up() {
    let server = Scripted::start(vec![Act::Hang]).await;
    let get = core(&server.config()).get().resource("pods").timeout(Duration::from_millis(300));
    let begun = Instant::now();
    let error = get.send().await.unwrap_err();
    assert_eq!(error.to_string(), "GET /api/v1/pods: timed out after 0.3s");
    assert!(begun.elapsed() < Duration::from_secs(5) && error.may_have_happened());
    assert_eq!(server.asked(), 1);
}

/// C29: a watch is not limited when it is sent first, and everything is when it is sent again.
#[tokio::test]
async fn the_limiter_is_asked_for_every_attempt_but_the_first_of_a_watch() {
    let acts = vec![answer(429, BUSY, ""), answer(200, "", "{}"), answer(429, BUSY, "")];
    let server = Scripted::start(acts).await;
    let one_token = Arc::new(Limiter::new(0.001, 1));
    let core = core(&server.config()).limited_by(one_token);
    core.get().resource("pods").open_watch().await.unwrap(); // the second attempt has taken the token
    assert_eq!(server.asked(), 2);
    let watch = core.get().resource("pods").open_watch();
    assert!(tokio::time::timeout(Duration::from_millis(300), watch).await.is_err());
    assert_eq!(server.asked(), 3, "the first attempt was sent, and the second waits");
    let get = core.get().resource("pods").send();
    assert!(tokio::time::timeout(Duration::from_millis(300), get).await.is_err());
    assert_eq!(server.asked(), 3, "others wait before their first");
}
