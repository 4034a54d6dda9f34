//! Injected faults over HTTP.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use watchkeeper_apiserver::faults::{Fault, Requests};
use watchkeeper_apiserver::http::Verb;
use watchkeeper_apiserver::server::ApiServer;
use watchkeeper_core::Status;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const PROTOCOLS: [&str; 2] = ["http/1.1", "h2"];
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf;stream=watch";

/// The time for which nothing must happen. Too short a time can hide a bug, but never fails a correct server.
const A_WHILE: Duration = Duration::from_millis(100);

async fn start() -> ApiServer {
    ApiServer::builder().start().await.unwrap()
}

enum Client {
    Http1(http1::SendRequest<Full<Bytes>>),
    Http2(http2::SendRequest<Full<Bytes>>),
}

impl Client {
    async fn of(server: &ApiServer, protocol: &str) -> Self {
        let mut roots = RootCertStore::empty();
        let authority = server.ca_pem().unwrap().as_bytes();
        roots.add(CertificateDer::from_pem_slice(authority).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config =
            ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let mut config = config.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
        let stream = TcpStream::connect(server.address()).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let io = TokioIo::new(TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap());
        if protocol == "h2" {
            let (sender, connection) = http2::handshake(TokioExecutor::new(), io).await.unwrap();
            tokio::spawn(connection);
            return Self::Http2(sender);
        }
        let (sender, connection) = http1::handshake(io).await.unwrap();
        tokio::spawn(connection);
        Self::Http1(sender)
    }

    async fn try_send(&mut self, request: Request<Full<Bytes>>) -> hyper::Result<Response<Incoming>> {
        match self {
            Self::Http1(sender) => {
                sender.ready().await?;
                sender.send_request(request).await
            }
            Self::Http2(sender) => {
                sender.ready().await?;
                sender.send_request(request).await
            }
        }
    }
}

fn request(server: &ApiServer, method: &str, path: &str, body: &Value) -> Request<Full<Bytes>> {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    Request::builder()
        .method(method)
        .uri(format!("{}{path}", server.url()))
        .header("host", "k")
        .header("user-agent", "tester/1")
        .header("authorization", format!("Bearer {}", server.token()))
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from(body)))
        .unwrap()
}

/// Sends a request on its own connection.
async fn send(server: &ApiServer, method: &str, path: &str, body: Value) -> (u16, HeaderMap, Value) {
    let mut client = Client::of(server, "http/1.1").await;
    let answer = client.try_send(request(server, method, path, &body)).await.unwrap();
    let (head, body) = answer.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let text = || Value::String(String::from_utf8_lossy(&body).into_owned());
    (head.status.as_u16(), head.headers, serde_json::from_slice(&body).unwrap_or_else(|_| text()))
}

async fn get(server: &ApiServer, path: &str) -> (u16, Value) {
    let (code, _, body) = send(server, "GET", path, Value::Null).await;
    (code, body)
}

/// Creates a config map and returns its version.
async fn create(server: &ApiServer, name: &str) -> String {
    let (code, _, stored) = send(server, "POST", MAPS, json!({"metadata": {"name": name}})).await;
    assert_eq!(code, 201, "{stored}");
    stored["metadata"]["resourceVersion"].as_str().unwrap().to_owned()
}

/// An open watch and the bytes received.
struct Watching {
    body: Incoming,
    read: Vec<u8>,
}

/// The end of a watch.
#[derive(Debug, PartialEq)]
enum End {
    Clean,
    Broken,
}

impl Watching {
    async fn open(server: &ApiServer, client: &mut Client, query: &str, accept: &str) -> Self {
        let path = format!("{MAPS}?watch=true&{query}");
        let mut request = request(server, "GET", &path, &Value::Null);
        request.headers_mut().insert("accept", accept.parse().unwrap());
        let response = client.try_send(request).await.unwrap();
        assert_eq!(response.status(), 200);
        Self { body: response.into_body(), read: Vec::new() }
    }

    /// Returns the events up to the end, any leftover bytes, and the end.
    async fn end(mut self) -> (Vec<Value>, Vec<u8>, End) {
        let mut end = End::Clean;
        while let Some(frame) = self.body.frame().await {
            match frame {
                Ok(frame) => self.read.extend_from_slice(frame.data_ref().unwrap()),
                Err(_) => {
                    end = End::Broken;
                    break;
                }
            }
        }
        let whole = self.read.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        let rest = self.read.split_off(whole);
        let lines = self.read.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        (lines.map(|line| serde_json::from_slice(line).unwrap()).collect(), rest, end)
    }

    /// Reads until this many events have arrived.
    async fn read(&mut self, events: usize) {
        while self.read.iter().filter(|byte| **byte == b'\n').count() < events {
            let frame = self.body.frame().await.unwrap().unwrap();
            self.read.extend_from_slice(frame.data_ref().unwrap());
        }
    }

    async fn is_silent(&mut self, time: Duration) -> bool {
        tokio::time::timeout(time, self.body.frame()).await.is_err()
    }
}

fn names(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["object"]["metadata"]["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn every_code_is_injected_with_the_servers_own_status_the_given_number_of_times() {
    let server = start().await;
    create(&server, "a").await;
    for (code, reason) in [
        (404, "NotFound"),
        (409, "Conflict"),
        (410, "Expired"),
        (429, "TooManyRequests"),
        (500, "InternalError"),
        (503, "ServiceUnavailable"),
        (504, "Timeout"),
    ] {
        let rule = server.faults().add(Fault::on(Verb::Get).resource("configmaps").answer(code).times(2));
        for _ in 0..2 {
            let (found, headers, body) = send(&server, "GET", &format!("{MAPS}/a"), Value::Null).await;
            assert_eq!((found, &body["reason"], &body["code"]), (code, &json!(reason), &json!(code)));
            assert_eq!(headers.get("retry-after").is_some(), code == 429, "{headers:?}");
        }
        assert_eq!(get(&server, &format!("{MAPS}/a")).await.0, 200);
        assert_eq!(rule.hits(), 2);
    }
    let (_, metrics) = get(&server, "/metrics").await;
    assert!(metrics.as_str().unwrap().contains("{verb=\"GET\",code=\"429\"} 2"), "{metrics}");
    server.stop().await;
}

#[tokio::test]
async fn an_injected_status_is_returned_and_the_request_is_not_served() {
    let server = start().await;
    let busy = Status::too_many_requests("come back", Duration::from_secs(7));
    server.faults().add(Fault::on(Verb::Create).resource("configmaps").answer(busy).times(1));
    let (code, headers, body) = send(&server, "POST", MAPS, json!({"metadata": {"name": "a"}})).await;
    assert_eq!((code, &headers["retry-after"]), (429, &"7".parse().unwrap()));
    assert_eq!(body["message"], "come back");
    assert_eq!(get(&server, &format!("{MAPS}/a")).await.0, 404);
    create(&server, "a").await;
    server.stop().await;
}

#[tokio::test]
async fn a_rule_affects_only_matching_requests() {
    let server = start().await;
    create(&server, "a").await;
    let fault = |which: Requests| server.faults().add(which.answer(503));
    fault(Fault::on(Verb::Get).resource("secrets"));
    fault(Fault::on(Verb::Get).resource("configmaps/status"));
    fault(Fault::on(Verb::List).resource("configmaps"));
    fault(Fault::on(Verb::Get).group("apps"));
    fault(Fault::on(Verb::Get).namespace("kube-system"));
    fault(Fault::on(Verb::Get).name("b"));
    fault(Fault::on(Verb::Get).user_agent("kubectl/"));
    assert_eq!(get(&server, &format!("{MAPS}/a")).await.0, 200);
    assert_eq!(server.faults().list().iter().map(|(_, _, hits)| hits).sum::<u64>(), 0);
    let rule = fault(Fault::on(Verb::Get).namespace("default").name("a").user_agent("tester/"));
    assert_eq!(get(&server, &format!("{MAPS}/a")).await.0, 503);
    assert_eq!(get(&server, MAPS).await.0, 503);
    rule.remove();
    assert_eq!(get(&server, &format!("{MAPS}/a")).await.0, 200);
    server.faults().clear();
    assert_eq!(get(&server, MAPS).await.0, 200);
    server.stop().await;
}

#[tokio::test]
async fn every_third_request_fails_and_no_other() {
    let server = start().await;
    let rule = server.faults().add(Fault::on(Verb::List).answer(500).every(3).times(2));
    let mut codes = Vec::new();
    for _ in 0..12 {
        codes.push(get(&server, MAPS).await.0);
    }
    assert_eq!(codes, [200, 200, 500, 200, 200, 500, 200, 200, 200, 200, 200, 200]);
    assert_eq!(rule.hits(), 2);
    server.stop().await;
}

#[tokio::test]
async fn a_request_is_delayed_and_then_answered_or_failed() {
    let server = start().await;
    let delay = server.faults().add(Fault::on(Verb::List).delay(A_WHILE).times(2));
    let begun = std::time::Instant::now();
    assert_eq!(get(&server, MAPS).await.0, 200);
    assert!(begun.elapsed() >= A_WHILE);
    server.faults().add(Fault::on(Verb::List).answer(500).times(1));
    let begun = std::time::Instant::now();
    assert_eq!(get(&server, MAPS).await.0, 500);
    assert!(begun.elapsed() >= A_WHILE);
    assert_eq!(delay.hits(), 2);
    server.stop().await;
}

#[tokio::test]
async fn a_watch_breaks_off_inside_an_event_after_the_given_number() {
    let server = start().await;
    for name in ["a", "b", "c"] {
        create(&server, name).await;
    }
    for protocol in PROTOCOLS {
        let rule = server.faults().add(Fault::on(Verb::Watch).cut().after_events(2).times(1));
        let mut client = Client::of(&server, protocol).await;
        let watch = Watching::open(&server, &mut client, "resourceVersion=2", "").await;
        let (events, rest, end) = watch.end().await;
        assert_eq!((names(&events), end), (vec!["a", "b"], End::Broken), "{protocol}");
        assert!(!rest.is_empty(), "it breaks off within an event");
        assert_eq!(rule.hits(), 1);
        // Other streams of an HTTP/2 connection are unaffected.
        let again = client.try_send(request(&server, "GET", MAPS, &Value::Null)).await;
        assert_eq!(again.is_ok(), protocol == "h2", "{protocol}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_cut_in_protobuf_leaves_a_message_without_its_end() {
    let server = start().await;
    create(&server, "a").await;
    server.faults().add(Fault::on(Verb::Watch).cut().after_events(1));
    let mut client = Client::of(&server, "h2").await;
    let query = "resourceVersion=2&allowWatchBookmarks=true";
    let mut watch = Watching::open(&server, &mut client, query, PROTOBUF).await;
    while let Some(Ok(frame)) = watch.body.frame().await {
        watch.read.extend_from_slice(frame.data_ref().unwrap());
    }
    let length = u32::from_be_bytes(*watch.read.first_chunk::<4>().unwrap()) as usize;
    let rest = &watch.read[4 + length..];
    let length = u32::from_be_bytes(*rest.first_chunk::<4>().unwrap()) as usize;
    assert!(rest.len() > 4 && rest.len() < 4 + length);
    server.stop().await;
}

#[tokio::test]
async fn cutting_a_connection_ends_every_request_on_it() {
    let server = start().await;
    for protocol in PROTOCOLS {
        let mut client = Client::of(&server, protocol).await;
        let bystander = match protocol {
            "h2" => Some(Watching::open(&server, &mut client, "", "").await),
            _ => None, // one request at a time
        };
        let rule = server.faults().add(Fault::on(Verb::Watch).resource("configmaps").cut_connection());
        let watch = Watching::open(&server, &mut client, "", "").await;
        assert_eq!(watch.end().await.2, End::Broken);
        if let Some(bystander) = bystander {
            assert_eq!(bystander.end().await.2, End::Broken);
        }
        assert!(client.try_send(request(&server, "GET", MAPS, &Value::Null)).await.is_err(), "{protocol}");
        assert_eq!(rule.hits(), 1);
        rule.remove();
    }
    server.stop().await;
}

#[tokio::test]
async fn a_watch_ends_cleanly_after_the_given_number_of_events() {
    let server = start().await;
    create(&server, "a").await;
    for protocol in PROTOCOLS {
        server.faults().add(Fault::on(Verb::Watch).end().after_events(1).times(1));
        let mut client = Client::of(&server, protocol).await;
        let watch = Watching::open(
            &server,
            &mut client,
            "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
            "",
        )
        .await;
        let (events, rest, end) = watch.end().await;
        assert_eq!((names(&events), rest.len(), end), (vec!["a"], 0, End::Clean));
        let again = client.try_send(request(&server, "GET", MAPS, &Value::Null)).await.unwrap();
        assert_eq!(again.status(), 200);
    }
    server.stop().await;
}

#[tokio::test]
async fn an_expired_watch_ends_with_an_error_event() {
    let server = start().await;
    let version = create(&server, "a").await;
    server.faults().add(Fault::on(Verb::Watch).expire().times(1));
    server.faults().add(Fault::on(Verb::Watch).fail(Status::internal_error("etcd is away")).times(1));
    for code in [410, 500] {
        let mut client = Client::of(&server, "h2").await;
        let query = format!("resourceVersion={version}");
        let (events, rest, end) = Watching::open(&server, &mut client, &query, "").await.end().await;
        assert_eq!((events.len(), rest.len(), end), (1, 0, End::Clean));
        assert_eq!((&events[0]["type"], &events[0]["object"]["code"]), (&json!("ERROR"), &json!(code)));
        assert_eq!(events[0]["object"]["kind"], "Status");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_watch_stalls_beyond_its_own_time_until_it_is_cut() {
    let server = start().await;
    let rule = server.faults().add(Fault::on(Verb::Watch).stall().after_events(1).times(1));
    for protocol in PROTOCOLS {
        let mut client = Client::of(&server, protocol).await;
        let version = create(&server, &format!("before-{}", protocol.len())).await;
        let query = format!("resourceVersion={version}&timeoutSeconds=1&allowWatchBookmarks=true");
        let mut watch = Watching::open(&server, &mut client, &query, "").await;
        let name = format!("of-{}", protocol.len());
        create(&server, &name).await;
        watch.read(1).await;
        if protocol == PROTOCOLS[1] {
            // No rule applies to this one: it stalls because of the order.
            assert_eq!(server.faults().stall_watches(&Requests::any().resource("configmaps")), 1);
        }
        create(&server, &format!("{name}-missed")).await;
        assert!(watch.is_silent(Duration::from_secs(1) + A_WHILE).await); // longer than its own timeout
        assert_eq!(server.faults().cut_watches(&Requests::any().resource("secrets")), 0);
        assert_eq!(server.faults().cut_watches(&Requests::of(Verb::Watch).namespace("default")), 1);
        let (events, rest, end) = watch.end().await;
        assert_eq!((names(&events), end), (vec![name.as_str()], End::Broken));
        assert!(!rest.is_empty());
    }
    assert_eq!(rule.hits(), 1);
    server.stop().await;
}

#[tokio::test]
async fn idle_watches_can_be_cut_ended_and_expired() {
    let server = start().await;
    for protocol in PROTOCOLS {
        let mut client = Client::of(&server, protocol).await;
        let watch = Watching::open(&server, &mut client, "", "").await;
        server.faults().wait_for_watches(&Requests::any(), 1).await;
        assert_eq!(server.faults().open_watches(&Requests::any().user_agent("tester")), 1);
        assert_eq!(server.faults().cut_watches(&Requests::any()), 1);
        assert_eq!(watch.end().await.2, End::Broken);

        let mut client = Client::of(&server, protocol).await;
        let watch = Watching::open(&server, &mut client, "", "").await;
        assert_eq!(server.faults().end_watches(&Requests::any()), 1);
        assert_eq!(watch.end().await.2, End::Clean);
        let watch = Watching::open(&server, &mut client, "", "").await;
        assert_eq!(server.faults().expire_watches(&Requests::any().resource("configmaps")), 1);
        let (events, _, end) = watch.end().await;
        assert_eq!((&events[0]["object"]["reason"], end), (&json!("Expired"), End::Clean));
        drop(client);
        assert_eq!(server.faults().open_watches(&Requests::any()), 0);
    }
    server.stop().await;
}

#[tokio::test]
async fn a_write_whose_response_is_lost_has_happened() {
    let server = start().await;
    for protocol in PROTOCOLS {
        let name = format!("of-{}", protocol.len());
        let rule = server.faults().add(Fault::on(Verb::Create).cut().times(1));
        let mut client = Client::of(&server, protocol).await;
        let body = json!({"metadata": {"name": name}});
        let answer = client.try_send(request(&server, "POST", MAPS, &body)).await.unwrap();
        assert!(answer.into_body().collect().await.is_err());
        assert_eq!(get(&server, &format!("{MAPS}/{name}")).await.0, 200);
        assert_eq!(rule.hits(), 1);
    }
    server.stop().await;
}

#[tokio::test]
async fn a_stalled_request_times_out_without_being_served() {
    let server = start().await;
    server.faults().add(Fault::on(Verb::Create).stall().times(1));
    let path = format!("{MAPS}?timeout=50ms");
    let (code, _, status) = send(&server, "POST", &path, json!({"metadata": {"name": "a"}})).await;
    assert_eq!((code, &status["reason"]), (504, &json!("Timeout")));
    assert_eq!(get(&server, &format!("{MAPS}/a")).await.0, 404);
    server.stop().await;
}

#[tokio::test]
async fn after_a_compaction_every_version_seen_is_too_old() {
    let server = start().await;
    for name in ["a", "b", "c"] {
        create(&server, name).await;
    }
    let (_, page) = get(&server, &format!("{MAPS}?limit=1")).await;
    let version = page["metadata"]["resourceVersion"].as_str().unwrap();
    let token = page["metadata"]["continue"].as_str().unwrap();
    let mut client = Client::of(&server, "h2").await;
    let mut open = Watching::open(&server, &mut client, &format!("resourceVersion={version}"), "").await;

    server.compact().await.unwrap();

    let (code, status) = get(&server, &format!("{MAPS}?limit=1&continue={token}")).await;
    assert_eq!((code, &status["reason"]), (410, &json!("Expired")));
    let replacement = status["metadata"]["continue"].as_str().unwrap();
    let (code, rest) = get(&server, &format!("{MAPS}?continue={replacement}")).await;
    assert_eq!((code, rest["items"].as_array().unwrap().len()), (200, 2));
    let exact = format!("{MAPS}?resourceVersion={version}&resourceVersionMatch=Exact");
    assert_eq!(get(&server, &exact).await.0, 410);
    let late = Watching::open(&server, &mut client, &format!("resourceVersion={version}"), "").await;
    let (events, _, end) = late.end().await;
    assert_eq!((&events[0]["type"], &events[0]["object"]["code"]), (&json!("ERROR"), &json!(410)));
    assert_eq!(end, End::Clean);

    create(&server, "d").await;
    open.read(1).await; // an open watch continues
    let (_, list) = get(&server, MAPS).await;
    let version = list["metadata"]["resourceVersion"].as_str().unwrap();
    let mut next = Watching::open(&server, &mut client, &format!("resourceVersion={version}"), "").await;
    create(&server, "e").await;
    next.read(1).await;
    server.stop().await;
}

#[tokio::test]
async fn a_rule_with_one_time_affects_one_of_many_racing_requests() {
    let server = Arc::new(start().await);
    let rule = server.faults().add(Fault::on(Verb::List).answer(503).times(5));
    let racers = (0..20).map(|_| {
        let server = server.clone();
        tokio::spawn(async move { get(&server, MAPS).await.0 })
    });
    let mut failed = 0;
    for racer in racers.collect::<Vec<_>>() {
        failed += usize::from(racer.await.unwrap() == 503);
    }
    assert_eq!((failed, rule.hits()), (5, 5));
    rule.happened(5).await;
    Arc::into_inner(server).unwrap().stop().await;
}

const ENDPOINT: &str = "/debug/watchkeeper/faults";

#[tokio::test]
async fn the_endpoint_is_disabled_by_default() {
    let server = start().await;
    for (method, path) in
        [("GET", ENDPOINT), ("POST", ENDPOINT), ("DELETE", ENDPOINT), ("POST", "/debug/watchkeeper/compact")]
    {
        let (code, _, body) = send(&server, method, path, json!({"stall": true})).await;
        assert_eq!((code, body), (404, json!("404 page not found\n")));
    }
    assert!(server.faults().list().is_empty());
    server.stop().await;
}

#[tokio::test]
async fn the_endpoint_adds_lists_and_removes_rules_and_compacts() {
    let server = ApiServer::builder().fault_endpoint(true).start().await.unwrap();
    let rule = json!({"verb": "list", "resource": "configmaps", "answer": 429, "times": 1});
    let (code, _, added) = send(&server, "POST", ENDPOINT, rule).await;
    assert_eq!((code, &added["id"], &added["hits"]), (201, &json!(1), &json!(0)));
    let (code, headers, _) = send(&server, "GET", MAPS, Value::Null).await;
    assert_eq!((code, headers.contains_key("retry-after")), (429, true));
    send(&server, "POST", ENDPOINT, json!({"verb": "get", "delayMilliseconds": 1})).await;
    let (_, listed) = get(&server, ENDPOINT).await;
    assert_eq!(listed["faults"][0]["hits"], 1);
    assert_eq!(listed["faults"][1]["delayMilliseconds"], 1);

    assert_eq!(send(&server, "DELETE", &format!("{ENDPOINT}/1"), Value::Null).await.0, 200);
    assert_eq!(send(&server, "DELETE", &format!("{ENDPOINT}/1"), Value::Null).await.0, 404);
    assert_eq!(server.faults().list().len(), 1);
    assert_eq!(send(&server, "DELETE", ENDPOINT, Value::Null).await.0, 200);
    assert!(server.faults().list().is_empty());

    let mut client = Client::of(&server, "h2").await;
    let watch = Watching::open(&server, &mut client, "", "").await;
    let (_, _, ended) = send(&server, "POST", "/debug/watchkeeper/watches", json!({"cut": "clean"})).await;
    assert_eq!((ended, watch.end().await.2), (json!({"watches": 1}), End::Clean));

    let version = create(&server, "a").await;
    let (code, _, oldest) = send(&server, "POST", "/debug/watchkeeper/compact", Value::Null).await;
    assert_eq!(code, 200);
    assert!(oldest["resourceVersion"].as_str().unwrap().parse::<u64>().unwrap() > version.parse().unwrap());
    let exact = format!("{MAPS}?resourceVersion={version}&resourceVersionMatch=Exact");
    assert_eq!(get(&server, &exact).await.0, 410);
    server.stop().await;
}

#[tokio::test]
async fn the_endpoint_refuses_anonymous_requests_and_invalid_faults() {
    let server = ApiServer::builder().fault_endpoint(true).start().await.unwrap();
    let mut client = Client::of(&server, "http/1.1").await;
    let mut stranger = request(&server, "GET", ENDPOINT, &Value::Null);
    stranger.headers_mut().remove("authorization");
    assert_eq!(client.try_send(stranger).await.unwrap().status(), 401);
    let (code, _, status) = send(&server, "POST", ENDPOINT, json!({"stall": true, "tims": 1})).await;
    assert_eq!((code, &status["reason"]), (400, &json!("BadRequest")));
    assert_eq!(status["message"], "invalid fault: field \"tims\" is unknown");
    assert_eq!(send(&server, "PUT", ENDPOINT, Value::Null).await.0, 405);
    assert_eq!(get(&server, "/debug/watchkeeper/bogus").await.0, 404);
    server.stop().await;
}
